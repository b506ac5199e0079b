"""The page of every game is the one that the configs give."""

import pytest
from games_page import FILE, HEAD, game_text

from ecsuite.games.experiment import named_configs

SECTIONS = {section.split("`")[1]: section for section in FILE.read_text().split("\n## ")[1:]}


def test_the_page_has_every_game():
    """A game has about twenty lines, one without senders and receivers fewer."""
    assert list(SECTIONS) == list(named_configs()) and FILE.read_text().startswith(HEAD)
    assert all(6 <= len(section.splitlines()) <= 30 for section in SECTIONS.values())


@pytest.mark.sample(6)
@pytest.mark.parametrize("name", SECTIONS)
def test_a_game_is_as_on_the_page(name):
    assert f"## {SECTIONS[name].strip()}" == game_text(name).strip(), "run `python tests/games_page.py`"
