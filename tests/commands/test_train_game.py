import signal

import pytest

from ecsuite.eval.views.console import Reporter

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
