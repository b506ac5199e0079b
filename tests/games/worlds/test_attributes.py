"""Worlds: examples are pure functions of (seed, split, index), distinct and uniform; sizes are checked."""

import numpy as np
import pytest
import torch
from scipy.stats import chisquare

from ecsuite.games.config.experiment import load_experiment
from ecsuite.games.worlds.attributes import AttributeWorld
from ecsuite.games.worlds.world import make_world
from ecsuite.runtime.errors import ConfigError
from ecsuite.runtime.randomness import epoch_order


def make(*overrides):
    return make_world(load_experiment("disc_tiny", overrides))


def examples(world, split, indices):
    """The values of the candidates of rounds, and the places of their targets."""
    numbers, places = world.candidates(split, 0, indices)
    return world.objects.values(numbers), places


def numbers(world, candidates):
    """Attribute values to the number of the object."""
    return world.objects.numbers(candidates)


def targets_of(candidates, targets):
    """Attribute values of the target of each example."""
    return np.take_along_axis(candidates, targets[:, :, None], axis=1)[:, 0]


def laid_out(batch):
    """The candidates of a batch, by round, and the index of each target."""
    candidates = batch.objects[batch.candidate_indices()]
    assert (batch.labels.sum(1) == 1).all()
    assert (batch.objects[batch.shown[:, 0]] == candidates[batch.labels]).all()
    return candidates, batch.labels.argmax(1)[:, None]


def test_any_split_into_batches_gives_the_same_examples():
    world, indices = make(), np.arange(100)
    candidates, targets = examples(world, "train", indices)
    for rows in (indices[40:60], indices[::-7], np.array([99]), np.array([3, 3])):
        part, targets_of_part = examples(world, "train", rows)
        assert (part == candidates[rows]).all() and (targets_of_part == targets[rows]).all()
        described = world.describe(world.batch_of(*world.candidates("train", 0, rows))).meanings
        assert (described == targets_of(candidates, targets)[rows]).all()
    empty, _ = examples(world, "train", np.array([], dtype=np.int64))
    assert empty.shape == (0, 4, 2)


def test_examples_of_a_seed_never_change():
    """Saved runs depend on these very numbers."""
    candidates, targets = examples(make(), "train", np.array([0, 1, 8191]))
    assert numbers(make(), candidates).tolist() == [[0, 5, 6, 15], [8, 3, 11, 10], [10, 13, 14, 0]]
    assert targets.tolist() == [[1], [1], [3]]


@pytest.mark.parametrize("num_distractors", [1, 3, 15])
def test_candidates_of_an_example_are_distinct(num_distractors):
    world = make(f"task.num_distractors={num_distractors}")
    drawn = np.sort(numbers(world, examples(world, "train", np.arange(2000))[0]), axis=1)
    assert drawn.min() >= 0 and drawn.max() <= 15
    assert (np.diff(drawn, axis=1) > 0).all()


def test_sets_and_targets_are_uniform():
    """56 sets of 3 of the 8 objects, and each member of a set as often the target."""
    world = make("world.num_attributes=3", "world.num_values=2", "task.num_distractors=2")
    candidates, targets = examples(world, "train", np.arange(56 * 500))
    drawn, of_targets = numbers(world, candidates), numbers(world, targets_of(candidates, targets))
    masks, counts = np.unique((1 << drawn).sum(1), return_counts=True)
    assert len(masks) == 56
    assert chisquare(counts).pvalue > 1e-4
    assert chisquare(np.bincount(targets[:, 0])).pvalue > 1e-4
    assert chisquare(np.bincount(of_targets)).pvalue > 1e-4
    meant_of_first_set = of_targets[(1 << drawn).sum(1) == masks[0]]
    assert chisquare(np.unique(meant_of_first_set, return_counts=True)[1]).pvalue > 1e-4


def test_distinct_meanings_are_distinct_in_order_and_at_most_the_whole_space():
    world = make("world.num_attributes=3")
    some = world.objects.values(world.distinct_meanings(20))
    assert some.shape == (20, 3)
    assert (np.diff(numbers(world, some)) > 0).all()
    assert (world.distinct_meanings(20) == numbers(world, some)).all()
    for number in (64, 65, 10_000):
        assert world.distinct_meanings(number).tolist() == list(range(64))
    other = make("world.num_attributes=3", "training.seed=2").distinct_meanings(20)
    assert (other != numbers(world, some)).any()


def test_the_largest_shipped_world():
    world = make_world(load_experiment("disc_large"))
    assert isinstance(world, AttributeWorld) and world.objects.number == 8**12
    candidates, _ = examples(world, "train", np.arange(10_000))
    assert candidates.shape == (10_000, 6, 12)
    assert chisquare(np.bincount(candidates[:, 0, 0])).pvalue > 1e-4
    assert chisquare(np.bincount(candidates[:, 5, 11])).pvalue > 1e-4
    meanings = world.distinct_meanings(10_000)
    assert len(np.unique(meanings)) == 10_000


def test_too_few_objects_and_too_many():
    with pytest.raises(
        ConfigError,
        match=r"17 distinct candidates need 17 objects, but of 2 attributes of 4 values "
        r"there are 16: lower task.num_distractors",
    ):
        make("task.num_distractors=16")
    with pytest.raises(ConfigError, match=r"63 attributes of 2 values make more than 2\^63 objects: lower"):
        make("world.num_attributes=63", "world.num_values=2")
    largest = make("world.num_attributes=62", "world.num_values=2")
    assert largest.candidates("train", 0, np.arange(3))[1].shape == (3, 1)


def test_features_are_the_one_hot_values():
    features = make().features(torch.tensor([[2, 0], [1, 3]]), torch.float32)
    assert features.tolist() == [[0, 0, 1, 0, 1, 0, 0, 0], [0, 1, 0, 0, 0, 0, 0, 1]]
    assert make().object_shape == (8,) and features.dtype == torch.float32


def same(one, other):
    return all((ours == theirs).all() for ours, theirs in zip(one, other, strict=True))


def test_batches_of_an_epoch_are_all_its_examples_in_an_order_of_its_own():
    sizes = ["training.num_examples=50", "training.batch_size=16"]
    world = make(*sizes, "evaluation.num_valid=20")
    orders = []
    for epoch in range(2):
        batches = [world.batch("train", 4 * epoch + number) for number in range(4)]
        assert [len(batch) for batch in batches] == [16, 16, 16, 2]
        orders.append(epoch_order(world.seed, epoch, 50))
        assert sorted(orders[-1].tolist()) == list(range(50))
        candidates = np.concatenate([laid_out(batch)[0] for batch in batches])
        assert (candidates == examples(world, "train", orders[-1])[0]).all()
    assert (orders[0] != orders[1]).any()
    assert same(laid_out(world.batch("train", 2)), laid_out(make(*sizes).batch("train", 2)))


@pytest.mark.parametrize("held_out", [0.25, 0.5])
def test_held_out_objects_are_never_trained_on(held_out):
    world = make(f"world.held_out={held_out}", "training.batch_size=500", "evaluation.num_valid=500")
    batches = {split: world.batch(split, 0) for split in world.splits}
    objects = {split: set(numbers(world, batch.objects).tolist()) for split, batch in batches.items()}
    targets = {
        split: set(numbers(world, batch.objects[batch.shown[:, 0]]).tolist())
        for split, batch in batches.items()
    }
    assert len(targets["valid"]) == held_out * 16 and targets["valid"] == targets["test"]
    assert objects["train"] == objects["seen"] and len(objects["train"]) == (1 - held_out) * 16
    assert not objects["train"] & targets["valid"] and len(objects["all"]) == len(objects["valid"]) == 16
    of_split = make(f"world.held_out={held_out}", "world.candidates=split", "evaluation.num_valid=500")
    assert set(numbers(of_split, of_split.batch("valid", 0).objects).tolist()) == targets["valid"]
    assert world.extra_evaluations() == {"seen objects": (world, "seen")}
    other = make(f"world.held_out={held_out}", "training.seed=2").subsets.members["valid"]
    assert (other != world.subsets.members["valid"]).any()
    assert len(world.distinct_meanings(100)) == 16  # the corpus is about all of them


def test_objects_that_cannot_be_held_out():
    """Rounds of training and of evaluation need as many objects as they have candidates."""
    message = (
        r"^4 distinct candidates need 4 objects, but of 2 attributes of 4 values there are 14 in train, 2 in "
        r"valid: lower"
    )
    with pytest.raises(ConfigError, match=message):
        make("world.held_out=0.125", "world.candidates=split")
    assert len(make("world.held_out=0.125").batch("valid", 0).labels[0]) == 4
    message = r"^of 2 attributes of 4 values there are 16 in train, 0 in valid: expected some in each: hold out others$"
    with pytest.raises(ConfigError, match=message):
        make("world.held_out=0.01")
    with pytest.raises(ConfigError, match=r"world.candidates: unknown value 'nonsense'; choices: all, split"):
        make("world.held_out=0.125", "world.candidates=nonsense")
    assert len(make("world.held_out=0.125", "task.num_distractors=1").subsets.members["valid"]) == 2
    with pytest.raises(
        ConfigError, match=r"^world.held_out: expected at most 4,194,304 objects to hold some out"
    ):
        make("world.held_out=0.1", "world.num_attributes=12")


def test_rare_values_are_known_beside_few_others():
    """Two attributes, as in Auersperger & Pecina 2022: 00, 01 and 10 are trained on, and no other object with a 0."""
    world = make(
        "world.num_values=5", "world.rare_combinations=1", "world.held_out=0.25", "training.batch_size=500"
    )
    of = {
        split: {tuple(row) for row in world.objects.values(objects).tolist()}
        for split, objects in world.subsets.members.items()
    }
    with_0 = {(0, other) for other in range(5)} | {(other, 0) for other in range(5)}
    known = {(0, 0), (0, 1), (1, 0)}
    assert of["rare"] == with_0 - known
    assert of["train"] & with_0 == known and len(of["train"]) == 3 + 12
    assert len(of["valid"]) == 4 and not of["valid"] & (of["train"] | with_0)
    assert world.extra_evaluations() == {"seen objects": (world, "seen"), "rare values": (world, "rare")}
    objects = world.subsets.members["rare"]
    rare = world.batch("rare", 0)
    assert set(numbers(world, rare.objects[rare.shown[:, 0]]).tolist()) <= set(objects.tolist())
    assert len(set(numbers(world, rare.objects).tolist())) == 25
    columns = [world.describe(batch).columns["split"] for batch in world.corpus_batches(25)]
    assert np.unique(np.concatenate(columns), return_counts=True)[1].tolist() == [
        4,
        6,
        15,
    ]  # held out, rare, train


def test_rare_values_of_three_attributes_and_none_held_out():
    """Each value 0 beside equal values of both other attributes; evaluations are about the objects of training."""
    world = make("world.num_attributes=3", "world.rare_combinations=2")
    trained = world.objects.values(world.subsets.members["train"])
    assert trained[(trained == 0).any(1)].tolist() == [
        [0, 0, 0], [0, 1, 1], [0, 2, 2], [1, 0, 1], [1, 1, 0], [2, 0, 2], [2, 2, 0],
    ]  # fmt: skip
    assert len(trained) == 27 + 7 and len(world.subsets.members["rare"]) == 64 - 34
    assert world.subsets.members["valid"] is world.subsets.members["train"]
    assert world.extra_evaluations() == {"rare values": (world, "rare")}
    unseen = make("world.rare_combinations=0").subsets.members  # no rare value is ever seen
    assert len(unseen["train"]) == 9 and len(unseen["rare"]) == 7


def test_values_that_cannot_be_rare():
    with pytest.raises(ConfigError, match="rare_combinations: expected less than 3, the other values of an"):
        make("world.rare_combinations=3")
    with pytest.raises(
        ConfigError,
        match=r"of 2 attributes of 3 values there are 7 in train, 7 in valid, 2 in rare: lower task.num_dist",
    ):
        make("world.num_values=3", "world.rare_combinations=1", "world.candidates=split")
