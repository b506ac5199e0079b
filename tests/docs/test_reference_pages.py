import pytest
from doc_pages import ROOT
from reference_pages import PAGES, game_text, write_pages

import ecsuite as ec
from ecsuite.commands.catalogue import COMMANDS
from ecsuite.eval.metrics import METRIC_OF, METRICS, find_metric
from ecsuite.games.config.experiment import named_configs


def test_pages_name_everything_once(tmp_path):
    write_pages(tmp_path)
    text = {name: (tmp_path / f"{name}.md").read_text() for name in PAGES}
    assert [name for name in COMMANDS if text["commands"].count(f"\n### `{name}`\n") != 1] == []
    assert [name for name in METRIC_OF if text["scores"].count(f"\n| `{name}`") < 1] == []
    assert all(f"`ec.{name}`" in text["api"] for name in ec.__all__ if name.islower() and name[0] != "_")
    rows = text["settings"].splitlines()
    assert any(row.startswith("| `temperature` | `1.0` | number, above 0 | Softmax") for row in rows)
    assert any(row.startswith("| `distractors` | `random` | `random`, `hard` |") for row in rows)
    games = [section.split("`")[1] for section in text["games"].split("\n## ")[1:]]
    assert games == list(named_configs())


@pytest.mark.sample(3)
@pytest.mark.parametrize("name", named_configs())
def test_a_game_has_about_twenty_lines(name):
    assert 6 <= len(game_text(name).splitlines()) <= 30


def test_the_table_of_the_readme_counts_games_and_metrics():
    of_runs = sum(find_metric(name).shared.needs_agents for name in METRICS.parts)
    cells = (
        f"| {len(named_configs())}, in YAML |", f"| {len(METRICS.parts) - of_runs} of a corpus, {of_runs} of its",
    )  # fmt: skip
    (row,) = (
        line for line in (ROOT / "README.md").read_text().splitlines() if line.startswith("| **ecsuite**")
    )
    assert all(cell in row for cell in cells)
