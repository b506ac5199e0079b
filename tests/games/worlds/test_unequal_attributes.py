"""Objects whose attributes differ: values by their frequencies, distinct candidates, each object once in the corpus."""

import numpy as np
import pytest
from scipy.stats import chisquare

from ecsuite.games.config.experiment import load_experiment
from ecsuite.games.worlds.candidates import drawn, others_by_frequency
from ecsuite.games.worlds.world import make_world
from ecsuite.runtime.errors import ConfigError
from ecsuite.runtime.randomness import random_words


def make(*overrides):
    return make_world(load_experiment("objects_game", overrides))


def examples(world, split, indices):
    """The values of the candidates of rounds, and the places of their targets."""
    numbers, places = world.candidates(split, 0, indices)
    return world.objects.values(numbers), places


def test_values_have_their_frequencies_and_candidates_are_distinct():
    world = make("world.num_values=[4, 3, 2]", "world.exponents=[2, 0, 1]", "task.num_distractors=3")
    candidates, targets = examples(world, "train", np.arange(4000))
    first = candidates[np.arange(4000), targets[:, 0]]
    for place, (number, exponent) in enumerate([(4, 2), (3, 0), (2, 1)]):
        expected = np.arange(1, number + 1.0) ** -exponent
        counts = np.bincount(first[:, place], minlength=number)
        assert chisquare(counts, 4000 * expected / expected.sum()).pvalue > 1e-3
    numbers = np.sort(candidates @ np.array([6, 2, 1]), axis=1)
    assert (np.diff(numbers) > 0).all()
    assert chisquare(np.bincount(targets[:, 0])).pvalue > 1e-3


def test_draws_without_replacement_are_by_the_frequencies_of_what_is_left():
    frequencies = np.array([6.0, 3.0, 1.0])
    words = random_words(1, "test", np.arange(20000), 3)
    targets = drawn(frequencies, words[:, 0])
    chosen = np.column_stack([targets, others_by_frequency(frequencies, targets, words[:, 1:])])
    assert (np.sort(chosen, axis=1) == [0, 1, 2]).all()
    orders, counts = np.unique(chosen, axis=0, return_counts=True)
    expected = [frequencies[a] / 10 * frequencies[b] / (10 - frequencies[a]) for a, b, _ in orders]
    assert len(orders) == 6 and chisquare(counts, 20000 * np.array(expected)).pvalue > 1e-3


def test_the_corpus_has_each_object_once():
    world = make("world.num_values=[3, 2]", "world.exponents=[3, 0]")
    assert world.objects.values(world.distinct_meanings(100)).tolist() == [
        [0, 0],
        [0, 1],
        [1, 0],
        [1, 1],
        [2, 0],
        [2, 1],
    ]
    assert len(np.unique(world.distinct_meanings(4))) == 4
    assert world.num_values == (3, 2) and world.object_shape == (6,)
    assert world.value_names[1] == ["attribute1=0", "attribute1=1"]


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["world.num_values=[]"], "world.num_values: expected a number for each attribute"),
        (["world.num_values=[4, 1]"], "world.num_values: expected int >= 2, got 1"),
        (["world.exponents=[1, 0]"], "world.exponents: expected a list of 4 numbers, one for each attribute, got 2"),
        (["world.num_values=[300, 300]"], "world.num_values: expected at most 65,536 objects, got 90,000"),
        (["world.num_values=[2, 2]", "task.num_distractors=4"], "5 distinct candidates need 5 objects"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused(overrides, message):
    with pytest.raises(ConfigError, match=message):
        make(*overrides)
