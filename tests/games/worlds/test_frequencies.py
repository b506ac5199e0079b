"""Frequencies of meanings: those of targets alone, in training, evaluation and corpus."""

import pytest

from ecsuite.games.config.experiment import load_experiment
from ecsuite.games.worlds.candidates import Given, PowerLaw
from ecsuite.games.worlds.world import make_world
from ecsuite.runtime.errors import ConfigError


def make(*overrides):
    return make_world(load_experiment("disc_tiny", ["world.num_values=3", *overrides]))


def test_frequencies_that_do_not_fit_are_refused():
    with pytest.raises(
        ConfigError, match=r"weights: expected a list of 9 numbers, one for each object, got 2"
    ):
        make("world.frequencies={kind: given, weights: [1, 2]}")
    with pytest.raises(ConfigError, match=r"weights: expected `?float`? > 0"):
        make("world.frequencies={kind: given, weights: [1, -2]}")
    with pytest.raises(ConfigError, match=r"frequencies: expected at most 4,194,304 objects, got 4,782,969"):
        make("world.frequencies=power_law", "world.num_attributes=14")


def test_extreme_numbers_are_probabilities():
    for found in (
        Given(Given.Options(weights=(1e308, 1e308, 1e-308))).probabilities(3),
        PowerLaw(PowerLaw.Options(exponent=1e300)).probabilities(3),
    ):
        assert found.sum() == pytest.approx(1) and (found >= 0).all()
