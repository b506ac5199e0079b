"""Rules: how many there are, who obeys them, which are held out, and worlds that cannot be."""

import tracemalloc

import numpy as np
import pytest
from scipy.stats import chisquare

from ecsuite.games.config.experiment import load_experiment
from ecsuite.games.worlds import rules
from ecsuite.games.worlds.rules import conjunctions, split_rules
from ecsuite.games.worlds.world import FREE, make_world
from ecsuite.runtime.errors import ConfigError

SHAPE = (5, 6, 3, 3)
SIZES = {
    "thing": ("world.num_attributes=5", "world.num_values=10", "training.batch_size=50"),
    "shape": ("world.images_per_batch=320", "training.batch_size=64"),
}


def make(kind, *overrides):
    sets = (f"world.kind={kind}", "task.kind=concept", "task.num_targets=20", "task.num_distractors=20")
    return make_world(load_experiment("disc_tiny", [*sets, *SIZES[kind], *overrides]))


def test_rules_by_hand():
    assert conjunctions((2, 3), 1).tolist() == [[0, -1], [1, -1], [-1, 0], [-1, 1], [-1, 2]]
    assert conjunctions((2, 3), 2).tolist() == [[0, 0], [0, 1], [0, 2], [1, 0], [1, 1], [1, 2]]


@pytest.mark.parametrize(("length", "number"), [(1, 17), (2, 105), (3, 279), (4, 270)])
def test_shape_has_as_many_rules_as_the_paper_says(length, number):
    rules = conjunctions(SHAPE, length)
    assert len(np.unique(rules, axis=0)) == len(rules) == number
    assert (rules < SHAPE).all() and ((rules != FREE).sum(1) == length).all()


@pytest.mark.parametrize("held_out", [0.1, 0.5])
def test_held_out_rules_are_others_than_those_of_training(held_out):
    splits = split_rules(105, 2, held_out, seed=3).members
    assert len(splits["valid"]) == round(held_out * 105)
    assert sorted([*splits["train"], *splits["valid"]]) == list(range(105))
    assert (splits["train"] == splits["seen"]).all() and (splits["valid"] == splits["test"]).all()


@pytest.mark.parametrize("distractors", ["random", "hard"])
@pytest.mark.parametrize(("kind", "length"), [("thing", 1), ("thing", 3), ("thing", 5), ("shape", 2), ("shape", 4)])
def test_targets_obey_and_distractors_break_their_rule(kind, length, distractors, monkeypatch):
    """Of SHAPE the labels are compared, which the pictures would show."""
    monkeypatch.setattr(rules, "shape_scenes", lambda seed, split, indices, labels: labels)
    monkeypatch.setattr(rules.ShapesWorld, "objects_of", lambda world, scenes: scenes)
    world = make(kind, f"world.rule_length={length}", f"world.distractors={distractors}")
    for split in ("train", "valid", "test", "seen", "all"):
        rounds = world.batch(split, 2)
        rule, candidates = world.rules.meanings[rounds.rules][:, None], rounds.candidate_indices()
        num_broken = ((rounds.objects[candidates] != rule) & (rule != FREE)).sum(-1)
        assert ((num_broken == 0) == rounds.labels).all() and (rounds.labels.sum(1) == 20).all()
        if distractors == "hard" and kind == "thing":
            assert (num_broken[~rounds.labels] == 1).all()
        assert (rounds.shown == candidates[:, :20]).all() and rounds.num_positive == 20


SMALL = ("world.num_attributes=2", "world.num_values=3", "task.num_targets=2", "task.num_distractors=2")


def test_rules_targets_and_distractors_are_uniform():
    world = make("thing", *SMALL, "training.batch_size=6000")
    rounds = world.batch("train", 0)
    assert chisquare(np.bincount(rounds.rules, minlength=6)).pvalue > 1e-4
    for rule in range(6):
        drawn = (rounds.objects @ [1, 3])[rounds.candidate_indices()[rounds.rules == rule]]
        for objects, number in ((drawn[:, :2], 3), (drawn[:, 2:], 6)):
            found, counts = np.unique(objects, return_counts=True)
            assert len(found) == number and chisquare(counts).pvalue > 1e-4


def test_a_table_of_rules_that_is_too_large_is_refused_before_memory_is_taken():
    """10^8 rules of 8 pairs: a table of them would need 6 GB."""
    tracemalloc.start()
    try:
        with pytest.raises(ConfigError, match=r"^world.rule_length: expected at most 1,000,000 rules, but 8"):
            make("thing", "world.num_attributes=8", "world.rule_length=8")
        assert tracemalloc.get_traced_memory()[1] < 2**24
    finally:
        tracemalloc.stop()
