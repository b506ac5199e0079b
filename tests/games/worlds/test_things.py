"""THING: targets obey, distractors break, draws are uniform, and batches are pure functions of their place."""

import tracemalloc

import numpy as np
import pytest
from scipy.stats import chisquare

from ecsuite.games.config.experiment import load_experiment
from ecsuite.games.worlds.rules import ThingWorld
from ecsuite.games.worlds.world import FREE, make_world
from ecsuite.runtime.errors import ConfigError

SPLITS = ("train", "valid", "test", "seen", "all")


SIZES = ("world.kind=thing", "task.kind=concept", "world.num_attributes=5", "world.num_values=10",
         "task.num_targets=20", "task.num_distractors=20", "training.batch_size=50")  # fmt: skip


def make(*overrides):
    world = make_world(load_experiment("disc_tiny", [*SIZES, *overrides]))
    assert isinstance(world, ThingWorld)
    return world


def small(*overrides):
    return make(
        "world.num_attributes=2", "world.num_values=3", "task.num_targets=2", "task.num_distractors=2",
        "training.batch_size=6000", *overrides,
    )  # fmt: skip


def broken(world, rounds):
    """Pairs of its round's rule that each candidate breaks, (batch, num_candidates)."""
    rules = world.rules.meanings[rounds.rules][:, None]
    return ((rounds.objects[rounds.candidate_indices()] != rules) & (rules != FREE)).sum(-1)


def codes(world, objects):
    return objects @ world.values_per_attribute ** np.arange(world.num_attributes)


@pytest.mark.parametrize("distractors", ["random", "hard"])
@pytest.mark.parametrize("length", [1, 2, 3, 4, 5])
def test_targets_obey_and_distractors_break(length, distractors):
    world = make(f"world.rule_length={length}", f"world.distractors={distractors}")
    for split in SPLITS:
        rounds = world.batch(split, 3)
        assert rounds.candidate_indices().shape == rounds.labels.shape == (50, 40)
        assert (rounds.labels.sum(1) == 20).all()
        assert rounds.objects.min() >= 0 and rounds.objects.max() <= 9
        num_broken = broken(world, rounds)
        assert ((num_broken == 0) == rounds.labels).all()
        if distractors == "hard":
            assert (num_broken[~rounds.labels] == 1).all()
        assert (rounds.shown == rounds.candidate_indices()[:, :20]).all() and rounds.num_positive == 20


def test_batches_cut_one_stream():
    """Where rounds share no objects, they do not depend on the sizes of batches."""
    world = make("world.rule_length=2")
    whole = make("world.rule_length=2", "training.batch_size=100").batch("train", 3)
    parts = [world.batch("train", number) for number in (6, 7)]
    assert (np.concatenate([part.objects for part in parts]) == whole.objects).all()
    assert (np.concatenate([part.rules for part in parts]) == whole.rules).all()


def test_random_distractors_break_one_pair_or_more():
    num_broken = broken(make("world.rule_length=3"), make("world.rule_length=3").batch("train", 0))[:, 20:]
    assert set(num_broken.ravel()) == {1, 2, 3}


@pytest.mark.parametrize(("length", "num_distinct"), [(1, 20), (2, 20), (3, 20), (4, 10), (5, 1)])
def test_targets_are_distinct_where_there_are_enough_and_else_all_equally_often(length, num_distinct):
    world = make(f"world.rule_length={length}")
    rounds = world.batch("train", 0)
    for targets in codes(world, rounds.objects)[rounds.shown]:
        _, counts = np.unique(targets, return_counts=True)
        assert counts.tolist() == [20 // num_distinct] * num_distinct


def test_a_remainder_is_shared_out():
    """Three objects in places of eight: each twice or three times, and each as often among those of three."""
    world = small("task.num_targets=8")
    rounds = world.batch("train", 0)
    free = np.where(world.rules.meanings[rounds.rules] == FREE, 1, 0)
    values = (rounds.objects[rounds.shown] * free[:, None]).sum(-1)  # of the only free attribute
    counts = (values[..., None] == np.arange(3)).sum(1)
    assert set(counts.ravel()) == {2, 3}
    assert chisquare((counts == 2).sum(0)).pvalue > 1e-4


def test_rules_targets_and_distractors_are_uniform():
    world = small()
    rounds = world.batch("train", 0)
    assert chisquare(np.bincount(rounds.rules, minlength=6)).pvalue > 1e-4
    for rule in range(6):
        of_rule = codes(world, rounds.objects)[rounds.candidate_indices()[rounds.rules == rule]]
        obeying, counts = np.unique(of_rule[:, :2], return_counts=True)
        assert len(obeying) == 3 and chisquare(counts).pvalue > 1e-4
        breaking, counts = np.unique(of_rule[:, 2:], return_counts=True)
        assert len(breaking) == 6 and chisquare(counts).pvalue > 1e-4


@pytest.mark.parametrize(("distractors", "number"), [("random", 8), ("hard", 4)])
def test_distractors_of_two_pairs_are_uniform(distractors, number):
    world = small("world.rule_length=2", "world.held_out=0", f"world.distractors={distractors}")
    rounds = world.batch("train", 0)
    chosen = rounds.rules == 4
    drawn = codes(world, rounds.objects)[rounds.candidate_indices()[chosen, 2:]]
    _, counts = np.unique(drawn, return_counts=True)
    assert len(counts) == number and chisquare(counts).pvalue > 1e-4


def test_training_rules_are_evaluated_apart_if_others_are_held_out():
    world = make("world.rule_length=2", "world.held_out=0.2")
    assert world.extra_evaluations() == {"seen rules": (world, "seen")}
    assert len(world.rules_of_split["valid"]) == round(0.2 * len(world.table))
    assert make("world.held_out=0.2").extra_evaluations() == {}
    assert make("world.rule_length=2", "world.held_out=0").extra_evaluations() == {}


def test_worlds_that_cannot_be():
    with pytest.raises(ConfigError, match=r"^world.rule_length: expected at most 2 attributes, got 3$"):
        small("world.rule_length=3")
    with pytest.raises(
        ConfigError, match=r"^20 attributes of 10 values make more than 2\^63 objects: lower world.num"
    ):
        make("world.num_attributes=20")
    assert make("world.num_attributes=18").batch("train", 0).objects.shape == (2000, 18)


def test_a_table_of_rules_that_is_too_large_is_refused_before_memory_is_taken():
    """10^8 rules of 8 pairs: a table of them would need 6 GB."""
    tracemalloc.start()
    try:
        with pytest.raises(
            ConfigError, match=r"^world.rule_length: expected at most 1,000,000 rules, but 8 of 8"
        ):
            make("world.num_attributes=8", "world.rule_length=8")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 2**24
