"""Evaluations and corpora say each meaning once, and find what they find batch by batch."""

import pytest
import torch

from ecsuite.games.config.experiment import load_experiment
from ecsuite.games.players import agent
from ecsuite.games.plays import evaluation
from ecsuite.games.plays.signalling import Signalling

SMALL = ("training.batch_size=32", "training.precision=fp32", "evaluation.num_valid=50")
"""Evaluations have two batches."""


@pytest.fixture
def play():
    """Makes a play with changes."""

    def play(*settings):
        experiment = load_experiment("disc_tiny", [*SMALL, *settings])
        return Signalling(None, experiment=experiment, device=torch.device("cpu"))

    return play


@pytest.fixture
def asked(monkeypatch):
    """How many meanings senders were asked about at once from now on."""
    numbers, call_sender = [], agent.call_sender
    monkeypatch.setattr(
        agent,
        "call_sender",
        lambda network, meanings, builder: numbers.append(len(meanings)) or call_sender(network, meanings, builder),
    )  # fmt: skip
    return numbers


def test_in_many_rounds_meanings_are_said_again_in_further_ones(play, asked, monkeypatch):
    made = play("evaluation.batch_size=8")
    figures = made.evaluate()
    monkeypatch.setattr(evaluation, "MOST_VALUES", 1)
    asked.clear()
    assert made.evaluate() == figures and asked == [8] * 6 + [2]
