import re

import pytest
from doc_outputs import with_outputs
from doc_pages import ROOT

PAGES = ("docs/start.md",)


def shape(text):
    """The text without its figures, and without spaces, whose number depends on them."""
    return re.sub(r"[\d.,%…-]+|\s+", "", text)


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("page", PAGES)
def test_outputs_are_printed_today(page):
    assert shape(with_outputs(ROOT / page)) == shape((ROOT / page).read_text())
