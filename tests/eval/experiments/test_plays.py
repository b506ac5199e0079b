"""Studies of plays of the user's own: runs, scores and tables as of games."""

import json
import shutil
from pathlib import Path

import pytest

STUDY = """
name: naming
base: disc_tiny
set: {play: "./naming_game.py:NamingGame", training.num_examples: 500, training.num_epochs: 1}
vary: {play.num_agents: [2, 3]}
seeds: 1
score: [SCORE]
"""


@pytest.fixture(autouse=True)
def in_folder(ecsuite):
    """The example beside the study."""
    shutil.copy(Path(__file__).parents[3] / "examples" / "naming_game.py", "naming_game.py")


@pytest.mark.slow
def test_a_study_of_a_play_has_its_figures_and_scores(ecsuite):
    Path("study.yaml").write_text(STUDY.replace("SCORE", "conflict_count"))
    code, out, _ = ecsuite("sweep", "study.yaml", "--on", "local:1", "--json")
    rows = json.loads(out)["runs"]
    assert code == 0 and [row["settings"] for row in rows] == [{"play.num_agents": 2}, {"play.num_agents": 3}]
    assert all(0 < row["training"]["measures"]["accuracy"] <= 1 for row in rows)
    assert [row["scores"][0]["value"] for row in rows] == [0, 0]


def test_metrics_of_senders_and_receivers_are_refused_before_anything_is_played(ecsuite):
    Path("study.yaml").write_text(STUDY.replace("SCORE", "rsa"))
    code, out, err = ecsuite("sweep", "study.yaml", "--on", "local:1")
    assert (code, out) == (2, "") and not Path("runs").exists()
    play = "play ./naming_game.py:NamingGame"
    assert err == f"study.yaml: score: rsa asks senders and receivers, and {play} has none\n"
