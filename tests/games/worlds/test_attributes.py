"""Worlds of attribute values: pure functions of (seed, split, index), frequencies, rare and held-out values, sizes."""

import numpy as np
import pytest
from scipy.stats import chisquare

from ecsuite.games.config.experiment import load_experiment
from ecsuite.games.worlds.candidates import Given, PowerLaw, drawn, others_by_frequency
from ecsuite.games.worlds.world import make_world
from ecsuite.runtime.randomness import random_words


def make(*overrides, game="disc_tiny"):
    return make_world(load_experiment(game, overrides))


def examples(world, number, split="train"):
    """Numbers of the candidates of rounds, and the places of their targets."""
    return world.candidates(split, 0, np.arange(number))


def test_any_part_of_the_examples_is_the_same():
    world, indices = make(), np.arange(100)
    whole = world.candidates("train", 0, indices)
    for rows in (indices[40:60], indices[::-7], np.array([3, 3])):
        found = world.candidates("train", 0, rows)
        assert all((part == each[rows]).all() for part, each in zip(found, whole, strict=True))


def test_sets_and_targets_are_uniform():
    """56 sets of 3 of the 8 objects, and each member of a set as often the target."""
    world = make("world.num_attributes=3", "world.num_values=2", "task.num_distractors=2")
    candidates, places = examples(world, 56 * 500)
    targets = np.take_along_axis(candidates, places, 1)[:, 0]
    masks, counts = np.unique((1 << candidates).sum(1), return_counts=True)
    of_first_set = np.unique(targets[(1 << candidates).sum(1) == masks[0]], return_counts=True)[1]
    assert len(masks) == 56
    for found in (counts, np.bincount(places[:, 0]), np.bincount(targets), of_first_set):
        assert chisquare(found).pvalue > 1e-4


@pytest.mark.parametrize("held_out", [0.25, 0.5])
def test_held_out_objects_are_never_trained_on(held_out):
    more = (f"world.held_out={held_out}", "training.batch_size=500", "evaluation.num_valid=500")
    world, of_split = make(*more), make(*more, "world.candidates=split")
    objects, targets = {}, {}
    for split in world.splits:
        batch = world.batch(split, 0)
        objects[split] = set(world.objects.numbers(batch.objects).tolist())
        targets[split] = set(world.objects.numbers(batch.objects[batch.shown[:, 0]]).tolist())
    assert len(targets["valid"]) == held_out * 16 and targets["valid"] == targets["test"]
    assert objects["train"] == objects["seen"] and len(objects["train"]) == (1 - held_out) * 16
    assert not objects["train"] & targets["valid"] and len(objects["all"]) == len(objects["valid"]) == 16
    assert {*of_split.objects.numbers(of_split.batch("valid", 0).objects)} == targets["valid"]
    assert len(world.distinct_meanings(100)) == 16  # the corpus is about all of them


def test_rare_values_are_known_beside_few_others():
    """Two attributes, as in Auersperger & Pecina 2022: 00, 01 and 10 are trained on, and no other object with a 0."""
    rare = ("world.num_values=5", "world.rare_combinations=1", "world.held_out=0.25")
    world = make(*rare, "training.batch_size=500")
    members = {split: world.objects.values(each).tolist() for split, each in world.subsets.members.items()}
    of = {split: {*map(tuple, rows)} for split, rows in members.items()}
    with_0 = {(0, other) for other in range(5)} | {(other, 0) for other in range(5)}
    known = {(0, 0), (0, 1), (1, 0)}
    assert of["rare"] == with_0 - known
    assert of["train"] & with_0 == known and len(of["train"]) == 3 + 12
    assert len(of["valid"]) == 4 and not of["valid"] & (of["train"] | with_0)
    assert world.extra_evaluations() == {"seen objects": (world, "seen"), "rare values": (world, "rare")}
    rare = world.batch("rare", 0)
    targets = world.objects.numbers(rare.objects[rare.shown[:, 0]])
    assert {*targets} <= {*world.subsets.members["rare"]}
    assert len({*world.objects.numbers(rare.objects)}) == 25
    columns = [world.describe(batch).columns["split"] for batch in world.corpus_batches(25)]
    shares = np.unique(np.concatenate(columns), return_counts=True)[1]
    assert shares.tolist() == [4, 6, 15]  # held out, rare, train


@pytest.mark.parametrize("weights", [None, [9, 1, 1, 1, 1, 1, 1, 1, 8]])
def test_targets_have_the_frequencies_and_distractors_are_any_others(weights):
    kind = f"given,weights={weights}" if weights else "power_law,exponent=0.5"
    candidates, places = examples(make("world.num_values=3", f"world.frequencies={kind}"), 6000)
    is_target = np.arange(candidates.shape[1]) == places
    targets, others = candidates[is_target], candidates[~is_target].reshape(6000, -1)
    expected = np.array(weights) if weights else np.arange(1, 10) ** -0.5
    assert chisquare(np.bincount(targets), 6000 * expected / expected.sum()).pvalue > 1e-3
    assert (np.diff(np.sort(candidates)) > 0).all()  # distinct
    of_first = np.bincount(others[targets == 0].ravel(), minlength=9)
    assert of_first[0] == 0 and chisquare(of_first[1:]).pvalue > 1e-3
    assert chisquare(np.bincount(places.ravel())).pvalue > 1e-3


def test_draws_without_replacement_are_by_the_frequencies_of_what_is_left():
    frequencies = np.array([6.0, 3.0, 1.0])
    words = random_words(1, "test", np.arange(20000), 3)
    targets = drawn(frequencies, words[:, 0])
    chosen = np.column_stack([targets, others_by_frequency(frequencies, targets, words[:, 1:])])
    orders, counts = np.unique(chosen, axis=0, return_counts=True)
    expected = [frequencies[a] / 10 * frequencies[b] / (10 - frequencies[a]) for a, b, _ in orders]
    assert len(orders) == 6 and chisquare(counts, 20000 * np.array(expected)).pvalue > 1e-3


def test_extreme_numbers_are_probabilities():
    for kind, options in ((Given, {"weights": (1e308, 1e308, 1e-308)}), (PowerLaw, {"exponent": 1e300})):
        found = kind(kind.Options(**options)).probabilities(3)
        assert found.sum() == pytest.approx(1) and (found >= 0).all()


def test_few_objects_that_are_held_out_have_distractors_of_training():
    """Rounds of training and of evaluation need as many objects as they have candidates."""
    assert len(make("world.held_out=0.125").batch("valid", 0).labels[0]) == 4
    assert len(make("world.held_out=0.125", "task.num_distractors=1").subsets.members["valid"]) == 2
