"""The page of scores is that of the present traits."""

from scores_page import FILE, page


def test_the_page_is_current():
    assert FILE.read_text() == page(), "run `python tests/scores_page.py`"
