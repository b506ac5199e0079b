"""The page of every game is the one that the configs give."""

import pytest
from doc_pages import ROOT
from games_page import FILE, HEAD, game_text

from ecsuite.eval.metrics import METRICS, find_metric
from ecsuite.games.config.experiment import named_configs

SECTIONS = {section.split("`")[1]: section for section in FILE.read_text().split("\n## ")[1:]}


def test_the_page_has_every_game():
    """A game has about twenty lines, one without senders and receivers fewer."""
    assert list(SECTIONS) == list(named_configs()) and FILE.read_text().startswith(HEAD)
    assert all(6 <= len(section.splitlines()) <= 30 for section in SECTIONS.values())


def test_the_table_of_the_readme_counts_games_and_metrics():
    of_runs = sum(find_metric(name).shared.needs_agents for name in METRICS.parts)
    cells = (
        f"| {len(named_configs())}, in YAML |",
        f"| {len(METRICS.parts) - of_runs} of a corpus, {of_runs} of its",
    )
    (row,) = (
        line for line in (ROOT / "README.md").read_text().splitlines() if line.startswith("| **ecsuite**")
    )
    assert all(cell in row for cell in cells)


@pytest.mark.sample(3)
@pytest.mark.parametrize("name", SECTIONS)
def test_a_game_is_as_on_the_page(name):
    assert f"## {SECTIONS[name].strip()}" == game_text(name).strip(), "run `python tests/games_page.py`"
