"""The page of every game is the one that the configs give."""

from games_page import FILE, page

from ecsuite.games.experiment import named_configs


def test_the_page_of_games_is_current():
    """A game has about twenty lines."""
    assert FILE.read_text() == page(), "run `python tests/games_page.py`"
    sections = FILE.read_text().split("\n## ")[1:]
    assert [section.split("`")[1] for section in sections] == list(named_configs())
    assert all(10 <= len(section.splitlines()) <= 30 for section in sections)
