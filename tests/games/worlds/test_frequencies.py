"""Frequencies of meanings: those of targets alone, in training, evaluation and corpus."""

import numpy as np
import pytest
from scipy.stats import chisquare

from ecsuite.games.config.experiment import load_experiment
from ecsuite.games.worlds.candidates import Given, PowerLaw
from ecsuite.games.worlds.world import make_world
from ecsuite.runtime.errors import ConfigError


def make(*overrides):
    return make_world(load_experiment("disc_tiny", ["world.num_values=3", *overrides]))


def examples(world, split, indices):
    """The values of the candidates of rounds, and the places of their targets."""
    numbers, places = world.candidates(split, 0, indices)
    return world.objects.values(numbers), places


def targets_and_others(world, split, number):
    """Objects by number: the targets, (number,), and the other candidates, (number, num_distractors)."""
    candidates, targets = examples(world, split, np.arange(number))
    numbers = candidates @ np.array([3, 1])
    is_target = np.arange(numbers.shape[1]) == targets
    return numbers[is_target], numbers[~is_target].reshape(number, -1)


@pytest.mark.parametrize(
    "frequencies", ["power_law,exponent=0.5", "{kind: given, weights: [9, 1, 1, 1, 1, 1, 1, 1, 8]}"]
)
def test_targets_have_the_frequencies_and_distractors_are_any_others(frequencies):
    world = make(f"world.frequencies={frequencies}")
    expected = np.arange(1, 10) ** -0.5 if "power" in frequencies else np.array([9, 1, 1, 1, 1, 1, 1, 1, 8])
    targets, others = targets_and_others(world, "train", 6000)
    assert chisquare(np.bincount(targets), 6000 * expected / expected.sum()).pvalue > 1e-3
    rounds = np.sort(np.column_stack([targets, others]), axis=1)
    assert (np.diff(rounds) > 0).all()  # distinct
    of_first = np.bincount(others[targets == 0].ravel(), minlength=9)
    assert of_first[0] == 0 and chisquare(of_first[1:]).pvalue > 1e-3
    places = examples(world, "train", np.arange(6000))[1].ravel()
    assert chisquare(np.bincount(places)).pvalue > 1e-3


def test_a_corpus_has_the_frequencies():
    world = make("world.frequencies=power_law", "task.kind=reconstruction")
    batches = list(world.corpus_batches(700))
    assert sum(map(len, batches)) == 700
    counts = np.bincount(np.concatenate([world.describe(batch).meanings for batch in batches]) @ [3, 1])
    expected = 700 / np.arange(1, 10) / (1 / np.arange(1, 10)).sum()
    assert chisquare(counts, expected).pvalue > 1e-3


def test_held_out_objects_keep_their_frequencies():
    world = make("world.frequencies=power_law", "world.held_out=0.5", "task.num_distractors=2")
    splits = [set(targets_and_others(world, split, 2000)[0]) for split in ("train", "valid")]
    assert splits[0] | splits[1] == set(range(9)) and not splits[0] & splits[1]
    described = [world.describe(batch) for batch in world.corpus_batches(500)]
    assert {*np.concatenate([each.columns["split"] for each in described])} == {"train", "held_out"}


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
