"""Views of runs: the accuracy says which objects it is about, wherever it is printed."""

import csv
import json

import pytest
from typer.testing import CliRunner

from ecsuite.cli import app
from ecsuite.eval.results.results import Results
from ecsuite.eval.views.runs import failed_runs_table, figure_titles

HELD_OUT, SEEN = "accuracy, held-out objects", "accuracy, seen objects"


def run(*arguments):
    done = CliRunner().invoke(app, list(map(str, arguments)))
    assert done.exit_code == 0, done.output
    return done.stdout


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """Run folders with and without held-out objects, and the last lines of their trainings."""
    folder = tmp_path_factory.mktemp("runs")
    sizes = ["--epochs", 1, "--set", "training.num_examples=256", "--set", "evaluation.corpus_size=20"]
    texts = {
        share: run(
            "train-game", "disc_tiny", *sizes, "--set", f"world.held_out={share}", "--out", folder / share
        )
        for share in ("0.3", "0.0")
    }
    return folder, texts


def test_held_out_objects_are_named(trained, tmp_path):
    folder, texts = trained
    path = folder / "0.3"
    assert HELD_OUT in texts["0.3"] and SEEN in texts["0.3"]
    rows = list(csv.reader(run("evaluate", path, "--as", "csv").splitlines()))
    assert {row[0] for row in rows[1:]} == {"held-out objects", "seen objects"}
    assert f"; {HELD_OUT}: " in run("score", path, "--metrics", "posdis").splitlines()[0]
    assert f"; {HELD_OUT}: " in run("score", path, "--metrics", "posdis", "--all").splitlines()[0]
    assert run("show", path).count(f"{HELD_OUT}: ") == 2, "in the heading, and of the learning curve"
    run("report", path, "--out", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert f'<th scope="col" class="number">{HELD_OUT} ' in page and f"<dt>{HELD_OUT}</dt>" in page
    data = json.loads(run("score", path, "--metrics", "posdis", "--json"))
    assert "accuracy" in data["corpus"]["training"] and data["corpus"]["accuracy_of"] == "held-out objects"


def test_without_held_out_objects_accuracy_stands_alone(trained, tmp_path):
    folder, texts = trained
    path = folder / "0.0"
    run("report", path, "--out", tmp_path / "page.html")
    outputs = (
        texts["0.0"],
        run("score", path, "--metrics", "posdis"),
        run("show", path),
        (tmp_path / "page.html").read_text(),
    )
    assert all("accuracy" in text and "held-out" not in text for text in outputs)


def test_titles_of_runs_that_differ(trained):
    folder, _ = trained
    own, other = Results.read([folder / "0.3"]), Results.read([folder / "0.0"])
    assert figure_titles(own) == {"accuracy": HELD_OUT, "seen objects accuracy": SEEN}
    assert figure_titles(other) == {"accuracy": "accuracy"}
    assert figure_titles([*own, *other])["accuracy"] == "accuracy", "of other objects in each of them"
    assert failed_runs_table(own).columns[-2].heading == HELD_OUT
