import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

SMALL = """
published: table1
seeds: [1]
rows:
  - {name: thing_gs, base: thing_gs}
  - {name: thing_qt, base: thing_qt}
"""

SETTINGS = (
    "training.num_examples=128", "training.num_epochs=1", "evaluation.num_valid=64", "evaluation.corpus_size=150",
    "world.num_values=4", "task.num_targets=4", "task.num_distractors=4", "training.checkpoint_every=10",
)  # fmt: skip
QUICK = [f"--set={setting}" for setting in SETTINGS]
PYTHON = [sys.executable, "-c", "from ecsuite.cli import main; main()"]


@pytest.fixture(autouse=True)
def small_study(ecsuite):
    """A small study in the folder, and its signals as they were afterwards."""
    Path("small.yaml").write_text(SMALL)
    before = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, before)


def test_a_study_is_trained_printed_written_and_drawn(ecsuite, printed):
    arguments = ["cbm", "small.yaml", *QUICK, "--workers", "1"]
    code, out, err = ecsuite(*arguments, "--out", "deep/rows.json", "--plot", "deep/figure.png")
    assert (code, err) == (0, f"6 jobs: 0 stored in {Path('runs/cbm')}, 6 to compute with 1 process\n")
    lines = out.splitlines()
    assert [line.split()[0] for line in lines if line.startswith("thing")] == ["thing_gs", "thing_qt"]
    assert sum(line.startswith("  the paper") for line in lines) == 2
    assert sum(line.startswith(("holds: ", "DOES NOT HOLD: ")) for line in lines) == 3
    assert Path("deep/figure.png").read_bytes().startswith(b"\x89PNG")
    data = json.loads(Path("deep/rows.json").read_text())
    assert data["study"] == {"name": "small", "about": "", "published": "table1", "seeds": [1]}
    assert [row["config"]["channel"]["kind"] for row in data["rows"]] == ["gumbel", "quantized"]
    assert data["rows"][1]["published"]["cbm"] == 0.73
    (run,) = data["rows"][0]["runs"]
    assert Path(run["folder"]).is_dir() and run["signatures"]["cbm"] == "cbm|count:tokens|eos:strip|n:150|v:3"
    with pytest.MonkeyPatch.context() as patch:  # what is kept is not trained again
        patch.setattr("ecsuite.games.training.train.train", None)
        code, out, err = ecsuite(*arguments, "--row", "thing_qt", "--json")
    assert (code, err) == (0, "")
    (row,) = json.loads(out)["rows"]
    assert row == data["rows"][1]
    shutil.rmtree(run["folder"])
    out = printed(*arguments)
    assert out.splitlines()[0] == lines[0]
    assert "1 of 2 run folders are missing; their figures are stored in runs/cbm." in " ".join(out.split())
    assert ecsuite(*arguments, "--out", "rows.json")[0] == ecsuite(*arguments, "--out", "rows.csv")[0] == 0
    first, second = json.loads(Path("rows.json").read_text())["rows"]
    assert first["runs"] == [{**run, "folder": None}] and second == data["rows"][1]
    assert {line.partition(",")[0] for line in Path("rows.csv").read_text().splitlines()[1:]} == {
        '"thing_gs', Path(second["runs"][0]["folder"]).name
    }  # fmt: skip


MISTAKES = {
    "cbm paper/cbm_tabel1": "unknown study 'cbm_tabel1'; did you mean 'cbm_table1'?",
    "cbm paper/icy_table3": "unknown study 'icy_table3'", "icy paper/cbm_table1": "unknown study 'cbm_table1'",
    "cbm small.yaml --row thing_qq": "unknown row 'thing_qq'; did you mean 'thing_qt'?",
    "cbm small.yaml --seeds x": "--seeds x: expected a number (10), a range (123-132) or a list",
    "cbm small.yaml --set channel.colour=1": "small.yaml: rows[0]: --set: unknown key 'channel.colour'",
    "cbm small.yaml --set channel.word_size=8": "small.yaml: rows[0]: --set: channel.word_size: channel gumbel",
    "cbm small.yaml --set training.seed=2": "--set training.seed=2: a study has several seeds; use --seeds",
    "cbm small.yaml --plot a.eps": "a.eps: expected the name of a picture, ending in .svg, .pdf, .png",
    "cbm small.yaml --device gpu": "unknown device 'gpu'",
    "cbm small.yaml --out .": ".: expected a file name, got a folder",
}  # fmt: skip


NO_CONCEPTS = {
    "{base: naming}": "a: expected a game of a sender and a receiver, whose messages are matched with concepts, got",
    "{base: points.csv, set: {world.numeric: features}}": "score: cbm has no value for a (world objects): the corpus",
    "{base: points.csv, set: {world.objects: b.csv}}": "points.csv, set world.objects='b.csv': expected one of these",
}


@pytest.mark.parametrize("row", NO_CONCEPTS)
def test_a_game_without_concepts_is_refused_before_it_is_trained(refused, row):
    Path("points.csv").write_text("x,y\n" + "".join(f"{place}.5,{-place}.25\n" for place in range(30)))
    Path("own.yaml").write_text(f"seeds: [1]\nrows:\n  - {{name: a, {row[1:]}\n")
    assert NO_CONCEPTS[row] in refused("cbm", "own.yaml")
    assert not Path("runs").exists()


@pytest.mark.parametrize("arguments", MISTAKES, ids=list(MISTAKES))
def test_mistake(refused, arguments):
    assert refused(*arguments.split()).startswith(MISTAKES[arguments])
    assert not Path("runs").exists()


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL], ids=["asked", "killed"])
def test_a_study_that_was_stopped_goes_on_from_the_checkpoints_of_its_workers(ecsuite, tmp_path, number):
    long = [*QUICK, "--set", "training.num_examples=200000", "--seeds", "1"]
    child = subprocess.Popen([*PYTHON, "cbm", "small.yaml", *long, "--workers", "2"], stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60

    def begun():
        return {file.parent for file in tmp_path.glob("runs/cbm/*/checkpoint-*")}

    while len(begun()) < 2 and time.monotonic() < deadline:
        assert child.poll() is None
        time.sleep(0.05)
    os.kill(child.pid, number)
    child.communicate(timeout=30)  # the pipe ends when the last worker has left
    assert child.returncode == {signal.SIGTERM: 75, signal.SIGKILL: -signal.SIGKILL}[number]
    newest = {str(max(folder.glob("checkpoint-*"))) for folder in tmp_path.glob("runs/cbm/thing*")}
    assert len(newest) == 2
    time.sleep(0.5)
    assert {str(max(folder.glob("checkpoint-*"))) for folder in tmp_path.glob("runs/cbm/thing*")} == newest
    assert not list(tmp_path.glob("runs/cbm/*/corpus.jsonl"))
