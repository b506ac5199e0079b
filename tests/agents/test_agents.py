"""Senders and receivers as wholes: their sizes, and that they learn through every step."""

import pytest
import torch

from ecsuite.agents import RECEIVERS, SENDERS
from ecsuite.agents.precision import choose_device, choose_precision
from ecsuite.config import ConfigError, load_experiment
from ecsuite.games.game import Game


def count(module):
    return sum(parameter.numel() for parameter in module.parameters())


def test_sizes_are_those_of_the_reference_model():
    """EGG's model for the same game has 228,870 and 847,584 parameters (its receiver has the candidate encoder)."""
    game = Game(load_experiment("disc_small"))
    assert count(game.sender) == 228_870
    assert count(game.receiver) + count(game.task) == 847_584


def test_registries_hold_the_three_cells():
    assert list(SENDERS) == list(RECEIVERS) == ["rnn", "gru", "lstm"]


def test_devices_and_precisions():
    cpu = choose_device("cpu")
    assert cpu.type == "cpu"
    assert choose_precision("fp32", cpu) == "fp32" and choose_precision("bf16", cpu) == "bf16"
    assert choose_precision("auto", cpu) in ("bf16", "fp32")
    with pytest.raises(ConfigError, match="unknown device 'gpu'; did you mean 'cpu'"):
        choose_device("gpu")
    if not torch.cuda.is_available():
        with pytest.raises(ConfigError, match="no CUDA device that torch can use; try --device auto"):
            choose_device("cuda")
