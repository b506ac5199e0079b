"""A training that cannot fit is refused before anything is made or written."""

from pathlib import Path

import pytest

from ecsuite.files import disk_space
from ecsuite.games.plays import signalling as needed_resources

QUICK = ("--set", "training.num_examples=64", "--set", "training.batch_size=32", "--epochs", "1", "--quiet")


def test_batches_that_do_not_fit_into_the_memory(ecsuite, monkeypatch):
    monkeypatch.setattr(needed_resources, "free_memory", lambda: 10_000_000)
    code, _, err = ecsuite("train-game", "disc_tiny", *QUICK, "--batch-size", "1000000")
    assert code == 2 and "and 9.5 MiB are free: choose a smaller training.batch_size" in err


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("society.senders", "disc_tiny: needs at least "),
        ("channel.vocab_size", "disc_tiny: agents of such sizes fit into no memory: choose "),
        ("sender.hidden_size", "disc_tiny: agents of such sizes fit into no memory: choose "),
        ("evaluation.num_valid", "evaluation.num_valid: measures of 9,223,372,036,854,775,807 rounds need at least"),
        ("training.num_examples", "--set: training.num_examples: expected int <= 281474976710656, got"),
    ],
)  # fmt: skip
def test_the_largest_numbers_are_refused_in_a_line(ecsuite, setting, message):
    code, out, err = ecsuite("train-game", "disc_tiny", "--quiet", "--set", f"{setting}={2**63 - 1}")
    assert (code, out, err.count("\n")) == (2, "", 1) and err.startswith(message)
    assert not Path("runs/disc_tiny/config.yaml").exists()


def test_a_full_disk(ecsuite, monkeypatch):
    monkeypatch.setattr(disk_space, "free_space", lambda folder: 1000)
    code, _, err = ecsuite("train-game", "disc_tiny", *QUICK)
    assert code == 2 and not Path("runs/disc_tiny/config.yaml").exists()
    assert err.startswith("runs/disc_tiny: needs ") and "1.0 KiB are free: make room" in err


def test_room_for_one_checkpoint_only_is_told(ecsuite, monkeypatch):
    arguments = [each for each in QUICK if each != "--quiet"]
    monkeypatch.setattr(needed_resources, "free_space", lambda folder: 1000)
    code, _, err = ecsuite("train-game", "disc_tiny", *arguments)
    assert code == 0 and "3 checkpoints of " in err and "the training may stop when it is full" in err
