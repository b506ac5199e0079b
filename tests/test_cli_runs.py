import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ecsuite.eval.views.console import Reporter

QUICK = ["--epochs", "1", "--set", "training.num_examples=256", "--set", "evaluation.num_valid=64"]
PYTHON = [sys.executable, "-c", "from ecsuite.cli import main; main()"]


@pytest.mark.slow
def test_train_then_score(ecsuite, succeeded, as_json):
    lines = succeeded("train-game", "disc_tiny", *QUICK).splitlines()
    assert lines[0] == "all epochs done, step 2 of 2"
    assert lines[-1] == "Corpus in runs/disc_tiny; next: ecsuite score runs/disc_tiny"
    assert [line.split()[0] for line in lines[1:-1]] == ["loss", "accuracy", "length"]
    for corpus in ("runs/disc_tiny/corpus.jsonl", "runs/disc_tiny"):
        out = succeeded("score", corpus, "--metrics", "cbm,elcc")
        assert "cbm" in out and "Unique Lines" in out
    scores = as_json("score", corpus, "--metrics", "cbm", "--out", "deep/scores.json")
    assert scores == json.loads(Path("deep/scores.json").read_text())
    assert [score["name"] for score in scores["scores"]] == ["cbm"]
    assert {"value", "ci95", "reason", "details", "signature"} <= set(scores["scores"][0])
    out = succeeded("train-game", "disc_tiny", *QUICK)
    assert out.startswith("already finished: all epochs done, step 2 of 2\n")
    code, out, err = ecsuite("train-game", "disc_tiny", *QUICK, "--seed", "2")
    told = "runs/disc_tiny holds another run (training.seed is 1 in the folder, 2 requested): "
    assert (code, out, err) == (2, "", f"{told}choose another folder with --out\n")
    out = succeeded("train-game", "disc_tiny", *QUICK, "--seed", "2", "--out", "second", "--json")
    result = json.loads(out)
    assert (result["folder"], result["stopped"], result["step"]) == ("second", "epochs", 2)
    assert result["was_done"] is False and set(result["measures"]) == {"loss", "accuracy", "length"}


def test_damaged_state_exits_with_3(ecsuite, succeeded):
    succeeded("train-game", "disc_tiny", *QUICK)
    for file in Path("runs/disc_tiny").glob("checkpoint-*"):
        file.write_bytes(b"")
    code, out, err = ecsuite("train-game", "disc_tiny", *QUICK, "--resume")
    assert (code, out) == (3, "") and "checkpoint-000000002.safetensors is damaged: " in err
    told = "runs/disc_tiny: none of its 1 checkpoints can be read; nothing was changed"
    assert err.splitlines()[-1] == told


def test_a_loss_that_is_not_finite_exits_with_1(ecsuite):
    command = ["train-game", "disc_tiny", *QUICK, "--set", "optimizer.lr=1e30"]
    code, out, err = ecsuite(*command, "--json")
    told = json.loads(out)
    assert (code, told["stopped"], told["measures"]) == (1, "diverged", {})
    assert err.startswith(f"step {told['step']}: ") and "try a smaller optimizer.lr" in err
    code, out, err = ecsuite(*command)
    assert (code, out) == (2, "") and err.startswith("runs/disc_tiny holds this run, which diverged at step ")
    code, out, err = ecsuite("train-game", "disc_tiny", *QUICK, "--set", "optimizer.lr=1e-3")
    assert code == 0 and out.startswith("all epochs done, step 2 of 2\n")
    assert err.startswith(f"runs/disc_tiny: the run that diverged at step {told['step']} is replaced\n")


def test_a_score_comes_with_pictures(ecsuite, printed, succeeded, small_files):
    names = [f"{name}.{end}" for name in ("translation", "heatmap", "accuracy") for end in ("svg", "png")]
    out = printed("score", "finished/corpus.jsonl", "--metrics", "cbm", "--plot", "deep/pictures")
    drawn = [f"deep/pictures/{name}" for name in names]
    assert out.splitlines()[-1] == f"Pictures: {', '.join(drawn)}"
    assert all(Path(file).stat().st_size for file in drawn)
    code, out, err = ecsuite("score", "finished", "--metrics", "cbm", "--plot", "here", "--json")
    assert code == 0 and [score["name"] for score in json.loads(out)["scores"]] == ["cbm"]
    assert err == f"Pictures: {', '.join(f'here/{name}' for name in names)}\n"
    Path("plain.jsonl").write_text("[1, 2]\n[3]\n[1]\n")
    out = printed("score", "plain.jsonl", "--metrics", "cbm", "--plot", "here")
    assert out.splitlines()[-1] == "nothing to draw: the corpus has no concepts and is not in a run folder"
    succeeded("score", "finished", "--metrics", "cbm,topsim", "--plot", "one.svg")
    assert "<dc:title>finished: scores of the language" in Path("one.svg").read_text()
    succeeded("score", "finished", "plain.jsonl", "--metrics", "has", "--plot", "two.svg")
    assert "<dc:title>finished and plain" in Path("two.svg").read_text()


def test_rounds_are_shown(printed):
    out = printed("show", "thing_qt", "--set", "world.rule_length=2", "--plot", "deep/sheet.svg")
    lines = out.splitlines()
    assert lines[-1] == "Picture: deep/sheet.svg"
    assert lines[2].startswith("round 1: attribute") and lines[2].count(" and attribute") == 1
    assert Path("deep/sheet.svg").read_text().startswith("<?xml")
    small = [f"--set={key}" for key in ("task.num_targets=2", "world.images_per_batch=9")]
    assert printed("show", "shape_qt", *small).endswith("\nPicture: shape_qt.png\n")
    assert Path("shape_qt.png").stat().st_size


def test_feature_files_are_made_up_and_trained_on(printed, succeeded):
    sizes = ("--num-classes", "12", "--images-per-class", "20")
    out = printed("data", "features", "deep/birds.npz", *sizes)
    assert out == "240 rows of 12 classes, 64 features each, in deep/birds.npz\n"
    sizes = "sender.hidden_size=8 receiver.hidden_size=8 training.num_examples=64 evaluation.num_valid=32"
    settings = [f"--set={size}" for size in (*sizes.split(), "evaluation.corpus_size=20")]
    out = succeeded("train-game", "mu_cub", "--features", "deep/birds.npz", "--epochs", "1", *settings)
    assert out.splitlines()[0] == "all epochs done, step 2 of 2"


@pytest.mark.slow
@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 75), (signal.SIGINT, 130)])
def test_signals_end_a_process_well_and_resume_goes_on_to_the_same_bytes(ecsuite, tmp_path, number, code):
    settings = [
        "disc_tiny", "--epochs", "3", "--set", "training.num_examples=2048", "--set", "training.checkpoint_every=4",
        "--device", "cpu",
    ]  # fmt: skip
    child = subprocess.Popen(
        [*PYTHON, "train-game", *settings, "--out", tmp_path / "run", "--json"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    while not list((tmp_path / "run").glob("checkpoint-*")) and child.poll() is None:
        time.sleep(0.02)
    child.send_signal(number)
    out, err = child.communicate(timeout=60)
    assert child.returncode == code, err
    result = json.loads(out)
    assert result["stopped"] == ("preempted" if code == 75 else "interrupt") and 0 < result["step"] < 48
    assert (tmp_path / "run" / "corpus.jsonl").exists() == (code == 130)
    assert ecsuite("train-game", *settings, "--out", "run", "--resume")[0] == 0
    assert ecsuite("train-game", *settings, "--out", "whole")[0] == 0
    for name in ("corpus.jsonl", "meanings.jsonl", "checkpoint-000000048.safetensors"):
        assert Path("run", name).read_bytes() == Path("whole", name).read_bytes()


STOPPED = [
    (signal.SIGINT, 130, "stopped by Ctrl-C with a checkpoint and a corpus of the agents so far"),
    (signal.SIGTERM, 75, "stopped by a signal with a checkpoint and no corpus"),
]


@pytest.mark.parametrize(("number", "code", "why"), STOPPED)
def test_a_stopped_training_exits_with_its_reason(ecsuite, succeeded, monkeypatch, number, code, why):
    def send_signal(reporter, label, done, total):
        if done == 1:
            signal.raise_signal(number)

    monkeypatch.setattr(Reporter, "progress", send_signal)
    sizes = ("--epochs", "1", "--set", "training.num_examples=512", "--device", "cpu", "--out", "run")
    got, out, err = ecsuite("train-game", "disc_tiny", *sizes)
    assert got == code and err.splitlines()[-1] == f"{why}; --resume continues it in run"
    assert "step 2 of 4" in out and "next: ecsuite score" not in out and "--resume" not in out  # told once
    assert Path("run/corpus.jsonl").exists() == (code == 130)
    succeeded("train-game", "disc_tiny", *sizes, "--resume")
