"""The record table of benchmarks: a row for each value of each run; studies of plays of the user's own."""

import csv
import json
import shutil
from pathlib import Path

import pytest

NANO = "--preset nano --device cpu --workers 1"
SMALL = "--num-attributes 2 --num-values 3 --word-length 2 --workers 1"
ICY = "icy icy_study.yaml --workers 1 --protocol"
COMMANDS = {
    "exact": f"{ICY} exact",
    "end-to-end": f"{ICY} end-to-end --seeds 1 --receiver fc1l --max-steps 5 --grammar concat",
    "metrics": f"icy --protocol metrics --grammar perm --seeds 2 {SMALL}",
    "translate": f"translate perm --pairs inputs/pairs.tsv {NANO}",
}
COLUMNS = "source system game seed status why unit score value signature version".split()


def recorded(ecsuite, command, file="rows.csv"):
    code, _, err = ecsuite(*command.split(), "--out", file)
    assert code == 0, err
    with open(file) as text:
        return list(csv.DictReader(text))


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", COMMANDS)
def test_a_file_of_csv_has_the_record_table(ecsuite, small_files, name):
    rows = recorded(ecsuite, COMMANDS[name])
    assert rows and all(row.keys() >= set(COLUMNS) for row in rows)
    assert all(row["signature"] for row in rows)


@pytest.mark.slow
def test_values_are_those_of_the_json(ecsuite, small_files):
    rows = recorded(ecsuite, COMMANDS["exact"])
    _, out, _ = ecsuite(*COMMANDS["exact"].split(), "--json")
    (row,) = json.loads(out)["rows"]
    (cell,) = row["cells"]
    assert [float(each["value"]) for each in rows] == [run["ratio"] for run in cell["runs"]]
    assert [int(each["seed"]) for each in rows] == row["seeds"]
    found = {tuple(each[key] for key in ("source", "grammar", "score", "status")) for each in rows}
    assert found == {("fc1l", "perm", "ratio", "done")}


STUDY = """
name: naming
base: disc_tiny
set: {play: "./naming_game.py:NamingGame", training.num_examples: 500, training.num_epochs: 1}
vary: {play.num_agents: [2, 3]}
seeds: 1
score: [SCORE]
"""


@pytest.fixture
def game(ecsuite):
    """The example beside the study."""
    shutil.copy(Path(__file__).parents[3] / "examples" / "naming_game.py", "naming_game.py")


@pytest.mark.slow
def test_a_study_of_a_play_has_its_figures_and_scores(ecsuite, game):
    Path("study.yaml").write_text(STUDY.replace("SCORE", "conflict_count"))
    code, out, _ = ecsuite("sweep", "study.yaml", "--on", "local:1", "--json")
    rows = json.loads(out)["runs"]
    assert code == 0 and [row["settings"] for row in rows] == [{"play.num_agents": 2}, {"play.num_agents": 3}]
    assert all(0 < row["training"]["measures"]["accuracy"] <= 1 for row in rows)
    assert [row["scores"][0]["value"] for row in rows] == [0, 0]


def test_metrics_of_senders_and_receivers_are_refused_before_anything_is_played(ecsuite, game):
    Path("study.yaml").write_text(STUDY.replace("SCORE", "rsa"))
    code, out, err = ecsuite("sweep", "study.yaml", "--on", "local:1")
    assert (code, out) == (2, "") and not Path("runs").exists()
    play = "play ./naming_game.py:NamingGame"
    assert err == f"study.yaml: score: rsa asks senders and receivers, and {play} has none\n"
