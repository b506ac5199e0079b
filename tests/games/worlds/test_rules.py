"""Rules: how many there are, what they are called, who obeys them, and which are held out."""

from math import comb

import numpy as np
import pytest

from ecsuite.games.config.experiment import load_experiment
from ecsuite.games.worlds.rules import conjunctions, pairs_broken, split_rules
from ecsuite.games.worlds.world import FREE, describe, make_world
from ecsuite.runtime.errors import ConfigError

SHAPE = (5, 6, 3, 3)


@pytest.mark.parametrize("length", [1, 2, 3, 4, 5])
def test_thing_has_a_rule_for_each_choice_of_attributes_and_values(length):
    rules = conjunctions([10] * 5, length)
    assert rules.shape == (comb(5, length) * 10**length, 5)
    assert len(np.unique(rules @ 11 ** np.arange(5))) == len(rules)
    assert ((rules != FREE).sum(1) == length).all()
    assert rules.min() >= FREE and rules.max() == 9


@pytest.mark.parametrize(("length", "number"), [(1, 17), (2, 105), (3, 279), (4, 270)])
def test_shape_has_as_many_rules_as_the_paper_says(length, number):
    rules = conjunctions(SHAPE, length)
    assert len(np.unique(rules, axis=0)) == len(rules) == number
    assert (rules < SHAPE).all() and ((rules != FREE).sum(1) == length).all()


def test_rules_by_hand():
    assert conjunctions((2, 3), 1).tolist() == [[0, -1], [1, -1], [-1, 0], [-1, 1], [-1, 2]]
    assert conjunctions((2, 3), 2).tolist() == [[0, 0], [0, 1], [0, 2], [1, 0], [1, 1], [1, 2]]


def test_each_rule_has_the_names_of_its_pairs():
    table = conjunctions((2, 3), 2)
    rules = describe(table, [["colour=red", "colour=blue"], ["size=s", "size=m", "size=l"]])
    assert (rules.meanings == table).all()
    assert rules.concept_names == ("colour=red", "colour=blue", "size=s", "size=m", "size=l")
    names = [[rules.concept_names[concept] for concept in phrase] for phrase in rules.concepts]
    assert names[0] == ["colour=red", "size=s"] and names[5] == ["colour=blue", "size=l"]
    single = describe(conjunctions((2, 3), 1), [["a", "b"], ["c", "d", "e"]])
    assert [phrase.tolist() for phrase in single.concepts] == [[0], [1], [2], [3], [4]]


def test_pairs_broken_equal_a_count_one_by_one():
    rng = np.random.default_rng(0)
    rules, labels = conjunctions(SHAPE, 2)[::9], rng.integers(SHAPE, size=(40, 4))
    expected = [
        [sum(value not in (FREE, has) for value, has in zip(rule, label, strict=True)) for label in labels]
        for rule in rules
    ]
    assert pairs_broken(labels, rules).tolist() == expected
    assert pairs_broken(labels[:0], rules).shape == (len(rules), 0)


@pytest.mark.parametrize("held_out", [0.1, 0.25, 0.5])
def test_held_out_rules_are_others_than_those_of_training(held_out):
    splits = split_rules(105, 2, held_out, seed=3).members
    assert len(splits["valid"]) == round(held_out * 105)
    assert not set(splits["train"]) & set(splits["valid"])
    assert sorted([*splits["train"], *splits["valid"]]) == list(range(105))
    assert (splits["train"] == splits["seen"]).all() and (splits["valid"] == splits["test"]).all()


@pytest.mark.parametrize(("length", "held_out"), [(1, 0.5), (2, 0.0), (2, 0.001)])
def test_where_no_rules_are_held_out_all_splits_have_them_all(length, held_out):
    for split in split_rules(105, length, held_out, seed=3).members.values():
        assert split.tolist() == list(range(105))


def test_rules_must_be_left_for_training():
    with pytest.raises(
        ConfigError, match=r"^world.held_out: 0.9 of 4 rules leave none for training: lower it$"
    ):
        split_rules(4, 2, 0.9, seed=1)


@pytest.mark.parametrize("game", ["shape_gs", "thing_gs"])
def test_hard_distractors_are_refused_where_a_task_draws_none(game):
    settings = ["world.distractors=hard", "task.kind=reconstruction"]
    with pytest.raises(
        ConfigError, match=r"^world\.distractors: the task draws no distractors: expected random$"
    ):
        make_world(load_experiment(game, settings))


@pytest.mark.parametrize(("length", "notes"), [(1, []), (2, ["10 of 100 rules are held out from training"])])
def test_it_is_told_how_many_rules_are_held_out(length, notes):
    """Also where `held_out` is that of a game whose world was another one."""
    settings = ["world.kind=thing", "task.kind=discrimination", f"world.rule_length={length}"]
    assert list(make_world(load_experiment("compo_vs_generalization", settings)).notes) == notes
