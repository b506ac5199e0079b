"""`ecsuite train-game`: what it prints while it trains, and what it is told."""

import json
import signal

import pytest

from ecsuite.eval.views.console import Reporter
from ecsuite.formats import read_corpus

QUICK = (
    "disc_tiny",
    "--epochs",
    "1",
    "--set",
    "training.num_examples=256",
    "--device",
    "cpu",
    "--out",
    "run",
)


def test_it_says_what_is_trained_before_the_first_step(ecsuite, tmp_path):
    code, _, err = ecsuite("train-game", *QUICK)
    what, sizes, where = err.splitlines()
    assert code == 0
    assert what == (
        "disc_tiny: discrimination among 4 objects; objects of 2 attributes of 4 values; channel gumbel (5 symbols, "
        "up to 3 per message)"
    )
    assert sizes.startswith("sender gru of 64 units, receiver gru of 64 units: 33,270 parameters; ")
    assert where == "2 steps of 128 rounds; written to run"
    assert "\x1b" not in err and "\r" not in err  # no terminal


@pytest.mark.parametrize(
    ("number", "code", "why"),
    [
        (signal.SIGINT, 130, "stopped by Ctrl-C with a checkpoint and a corpus of the agents so far"),
        (signal.SIGTERM, 75, "stopped by a signal with a checkpoint and no corpus"),
    ],
)
def test_what_follows_with_and_is_not_run_after_a_training_that_was_stopped(
    ecsuite, monkeypatch, tmp_path, number, code, why
):
    def send_signal(reporter, label, done, total):
        if done == 1:
            signal.raise_signal(number)

    monkeypatch.setattr(Reporter, "progress", send_signal)
    longer = (*QUICK, "--set", "training.num_examples=512")
    got, out, err = ecsuite("train-game", *longer)
    assert got == code and err.splitlines()[-1] == f"{why}; --resume continues it in run"
    assert "step 2 of 4" in out and "next: ecsuite score" not in out and "--resume" not in out  # told once
    assert (tmp_path / "run" / "corpus.jsonl").exists() == (code == 130)
    assert ecsuite("train-game", *longer, "--resume")[0] == 0


def test_quiet_prints_errors_only(ecsuite):
    assert ecsuite("train-game", *QUICK, "--quiet") == (0, "", "")
    code, out, err = ecsuite("train-game", *QUICK, "--quiet", "--json")
    assert (code, err) == (0, "") and json.loads(out)["was_done"]
    code, out, err = ecsuite("train-game", *QUICK, "-q", "--seed", "2")
    assert (code, out) == (2, "") and "holds another run" in err


def test_resume_without_a_run_says_that_it_begins(ecsuite):
    code, _, err = ecsuite("train-game", *QUICK, "--resume")
    assert code == 0 and err.splitlines()[0] == "run: no run to resume: starts from the beginning"
    code, out, err = ecsuite("train-game", *QUICK, "--resume")
    assert code == 0 and err == "" and out.startswith("already finished: ")


def test_options_of_training(ecsuite, tmp_path):
    options = ("--metrics", "topsim,zla", "--log", "csv", "--keep-best", "metrics.topsim", "--patience", "9")
    code, out, err = ecsuite("train-game", *QUICK, *options, "--set", "training.evaluate_every=1", "--json")
    found = json.loads(out)
    assert code == 0, err
    assert found["best_step"] in (1, 2) and "topsim" in found["metrics"]
    assert (tmp_path / "run" / "log.csv").read_text().count("\n") == 3
    metadata = read_corpus(tmp_path / "run").metadata
    assert metadata["training"]["best_step"] == found["best_step"]
    assert metadata["metrics"] == found["metrics"]
    code, _, err = ecsuite("show", "run", "--measure", "topsim", "--plot", "topsim.svg")
    assert code == 0, err


def test_agents_of_another_run(ecsuite):
    ecsuite("train-game", *QUICK)
    line = [*QUICK[:-1], "warm", "--init-from", "run", "--set", "training.freeze_receiver=true"]
    code, _, err = ecsuite("train-game", *line)
    assert code == 0 and "33,270 parameters, 16,838 of them trained" in err
    code, out, _ = ecsuite("evaluate", "run", "--receiver-from", "warm", "--json")
    own = json.loads(ecsuite("evaluate", "run", "--json")[1])
    assert code == 0 and json.loads(out)["evaluations"] == own["evaluations"]  # the receiver was frozen
    code, _, err = ecsuite("evaluate", "run", "--receiver-from", "nowhere")
    assert (code, err) == (2, "nowhere: expected a run folder with a checkpoint\n")
