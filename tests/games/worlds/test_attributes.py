"""Worlds: examples are pure functions of (seed, split, index), distinct and uniform; sizes are checked."""

import numpy as np
import pytest
import torch
from scipy.stats import chisquare

from ecsuite.config import ConfigError
from ecsuite.games.experiment import load_experiment
from ecsuite.games.factory import make_world
from ecsuite.games.worlds.attributes import AttributeValueWorld, FileWorld, one_hot, one_hot_array
from ecsuite.randomness import epoch_order


def make(*overrides):
    return AttributeValueWorld(load_experiment("disc_tiny", overrides))


def numbers(world, candidates):
    """Attribute values to the number of the object."""
    return candidates @ (world.num_values ** np.arange(world.num_attributes - 1, -1, -1))


def test_any_split_into_batches_gives_the_same_examples():
    world, indices = make(), np.arange(100)
    whole = world.examples("train", indices)
    for rows in (indices[40:60], indices[::-7], np.array([99]), np.array([3, 3])):
        part = world.examples("train", rows)
        assert (part.candidates == whole.candidates[rows]).all() and (
            part.targets == whole.targets[rows]
        ).all()
        assert (part.meanings == whole.meanings[rows]).all()
    empty = world.examples("train", np.array([], dtype=np.int64))
    assert empty.candidates.shape == (0, 4, 2)


def test_splits_and_seeds_differ_and_the_same_seed_agrees():
    indices = np.arange(50)
    train = make().examples("train", indices).candidates
    assert (make().examples("train", indices).candidates == train).all()
    assert (make().examples("valid", indices).candidates != train).any((1, 2)).mean() > 0.9
    assert (make("training.seed=2").examples("train", indices).candidates != train).any((1, 2)).mean() > 0.9


def test_examples_of_a_seed_never_change():
    """Saved runs depend on these very numbers."""
    examples = make().examples("train", np.array([0, 1, 8191]))
    assert numbers(make(), examples.candidates).tolist() == [[0, 5, 6, 15], [8, 3, 11, 10], [10, 13, 14, 0]]
    assert examples.targets.tolist() == [1, 1, 3]


@pytest.mark.parametrize("num_distractors", [1, 3, 15])
def test_candidates_of_an_example_are_distinct(num_distractors):
    world = make(f"game.num_distractors={num_distractors}")
    drawn = np.sort(numbers(world, world.examples("train", np.arange(2000)).candidates), axis=1)
    assert drawn.min() >= 0 and drawn.max() <= 15
    assert (np.diff(drawn, axis=1) > 0).all()


def test_sets_and_targets_are_uniform():
    """56 sets of 3 of the 8 objects, and each member of a set as often the target."""
    world = make("world.num_attributes=3", "world.num_values=2", "game.num_distractors=2")
    examples = world.examples("train", np.arange(56 * 500))
    drawn = numbers(world, examples.candidates)
    masks, counts = np.unique((1 << drawn).sum(1), return_counts=True)
    assert len(masks) == 56
    assert chisquare(counts).pvalue > 1e-4
    assert chisquare(np.bincount(examples.targets)).pvalue > 1e-4
    assert chisquare(np.bincount(numbers(world, examples.meanings))).pvalue > 1e-4
    meant_of_first_set = numbers(world, examples.meanings)[(1 << drawn).sum(1) == masks[0]]
    assert chisquare(np.unique(meant_of_first_set, return_counts=True)[1]).pvalue > 1e-4


def test_a_reconstruction_has_the_target_alone():
    world = make("game.task=reconstruction")
    examples = world.examples("train", np.arange(5))
    assert examples.candidates.shape == (5, 1, 2) and (examples.targets == 0).all()


def test_distinct_meanings_are_distinct_in_order_and_at_most_the_whole_space():
    world = make("world.num_attributes=3")
    some = world.distinct_meanings(20)
    assert some.shape == (20, 3)
    assert (np.diff(numbers(world, some)) > 0).all()
    assert (world.distinct_meanings(20) == some).all()
    for number in (64, 65, 10_000):
        assert numbers(world, world.distinct_meanings(number)).tolist() == list(range(64))
    other = make("world.num_attributes=3", "training.seed=2").distinct_meanings(20)
    assert (other != some).any()


def test_the_largest_shipped_world():
    world = AttributeValueWorld(load_experiment("disc_large"))
    assert world.num_objects == 8**12
    examples = world.examples("train", np.arange(10_000))
    assert examples.candidates.shape == (10_000, 6, 12)
    assert chisquare(np.bincount(examples.candidates[:, 0, 0])).pvalue > 1e-4
    assert chisquare(np.bincount(examples.candidates[:, 5, 11])).pvalue > 1e-4
    meanings = world.distinct_meanings(10_000)
    assert len(np.unique(meanings, axis=0)) == 10_000


def test_too_few_objects_and_too_many():
    with pytest.raises(
        ConfigError,
        match=r"17 distinct candidates need as many objects, but 2 attributes of 4 values "
        r"make 16: lower game.num_distractors",
    ):
        make("game.num_distractors=16")
    with pytest.raises(ConfigError, match=r"63 attributes of 2 values make more than 2\^63 objects: lower"):
        make("world.num_attributes=63", "world.num_values=2")
    assert make("world.num_attributes=62", "world.num_values=2").examples(
        "train", np.arange(3)
    ).targets.shape == (3,)


def test_one_hot_is_one_for_each_attribute():
    features = one_hot(torch.tensor([[2, 0], [1, 1]]), 3, torch.float32)
    assert features.tolist() == [[0, 0, 1, 1, 0, 0], [0, 1, 0, 0, 1, 0]]


def test_one_hot_of_an_array_is_that_of_a_tensor():
    objects = np.random.default_rng(0).integers(5, size=(20, 3))
    features = one_hot_array(objects, 5)
    assert features.dtype == np.float32
    assert (features == one_hot(torch.from_numpy(objects), 5, torch.float32).numpy()).all()


def same(one, other):
    return (one.candidates == other.candidates).all() and (one.targets == other.targets).all()


def test_batches_of_an_epoch_are_all_its_examples_in_an_order_of_its_own():
    world = make("training.num_examples=50", "training.batch_size=16", "evaluation.num_valid=20")
    orders = []
    for epoch in range(2):
        batches = [world.batch("train", 4 * epoch + number) for number in range(4)]
        assert [len(batch.targets) for batch in batches] == [16, 16, 16, 2]
        orders.append(epoch_order(world.seed, epoch, 50))
        assert sorted(orders[-1].tolist()) == list(range(50))
        whole = world.examples("train", orders[-1])
        assert (np.concatenate([batch.candidates for batch in batches]) == whole.candidates).all()
    assert (orders[0] != orders[1]).any()
    assert same(
        world.batch("train", 2), make("training.num_examples=50", "training.batch_size=16").batch("train", 2)
    )


def test_batches_of_the_validation_are_in_order_and_the_last_is_short():
    world = make("training.batch_size=16", "evaluation.num_valid=20")
    batches = [world.batch("valid", number) for number in (0, 1)]
    assert same(batches[0], world.examples("valid", np.arange(16)))
    assert same(batches[1], world.examples("valid", np.arange(16, 20)))


def test_files_make_a_world(tmp_path):
    train, valid = tmp_path / "train.txt", tmp_path / "valid.txt"
    train.write_text("0 1 . 2 3 . 1\n1 1 . 2 3 . 0\n")
    valid.write_text("3 3 . 0 0 . 0\n0 0 . 3 3 . 1\n2 3 . 0 0 . 0\n")
    experiment = load_experiment(
        "disc_tiny",
        [f"world.train_data={train}", f"world.valid_data={valid}", "game.num_distractors=1"],
    )
    world = make_world(experiment)
    assert isinstance(world, FileWorld) and (world.num_train, world.num_valid) == (2, 3)
    examples = world.examples("train", np.array([1, 0]))
    assert examples.meanings.tolist() == [[1, 1], [2, 3]]
    # Validation targets first, each once, then the training file's.
    assert world.distinct_meanings(10).tolist() == [[3, 3], [2, 3], [1, 1]]
    assert world.distinct_meanings(2).tolist() == [[3, 3], [2, 3]]
    with pytest.raises(
        ConfigError, match=r"has 2 objects of 2 attributes per line, expected 4 of 2: set game.num_dist"
    ):
        make_world(load_experiment("disc_tiny", [f"world.train_data={train}", f"world.valid_data={valid}"]))
