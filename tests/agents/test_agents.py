"""Parameter counts of senders and receivers, and the choice of device and precision."""

import pytest
import torch

from ecsuite.config import ConfigError, load_experiment
from ecsuite.devices import choose_device, choose_precision
from ecsuite.eval.icy.parameter_counts import parameter_count
from ecsuite.games.game import Game


def test_sizes_are_those_of_the_reference_model():
    """EGG's model for the same game has 228,870 and 847,584 parameters (its receiver has the candidate encoder)."""
    game = Game(load_experiment("disc_small"))
    assert parameter_count(game.sender) == 228_870
    assert parameter_count(game.receiver) + parameter_count(game.task) == 847_584


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
