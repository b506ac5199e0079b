"""Chance levels of games: the best answer that reads no message, against levels that are computed otherwise."""

from math import comb
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from ecsuite.games.chance import (
    Asked,
    Candidates,
    any_answers,
    chance_levels,
    frequent_one,
    frequent_ones,
    place_of_one,
)
from ecsuite.games.experiment import load_experiment
from ecsuite.games.players.pair import make_pair
from ecsuite.games.world_making import make_world

MANY = ("training.batch_size=512", "training.num_examples=4096", "evaluation.num_valid=4096")


def game_of(name, *settings):
    """A game and its world."""
    experiment = load_experiment(name, [*MANY, *settings])
    world = make_world(experiment)
    return make_pair(experiment, world), world


def test_where_all_is_equally_likely_it_is_a_guess():
    game, _ = game_of("disc_tiny", "task.num_distractors=3")
    assert game.task.chance() == {"accuracy": 0.25}
    game, _ = game_of("recon_large", "world.num_attributes=2", "world.num_values=3")
    assert game.task.chance() == pytest.approx({"accuracy": 1 / 9, "attribute_accuracy": 1 / 3}, rel=0.05)
    game, _ = game_of("disc_small", "task=autoencoding")
    assert game.task.chance() == pytest.approx({"accuracy": 1 / 256}, rel=0.2)


@pytest.mark.parametrize(
    "world",
    [
        ("world.num_attributes=2", "world.num_values=8", "world.frequencies=power_law,exponent=2"),
        ("world=unequal_attributes", "world.num_values=[4,4]", "world.exponents=[3,3]"),
    ],
)
def test_objects_of_other_frequencies_are_named_by_a_constant_answer(world):
    game, made = game_of("recon_large", *world)
    objects = made.objects.all_values()
    single = [
        np.bincount(objects[:, place], weights=made.probabilities).max() for place in range(objects.shape[1])
    ]
    expected = {"accuracy": made.probabilities.max(), "attribute_accuracy": np.mean(single)}
    assert game.task.chance() == pytest.approx(expected, abs=0.03)


def test_the_most_frequent_candidate_is_found_without_a_message():
    game, world = game_of("disc_small", "world.frequencies=power_law")
    batches = [world.batch("valid", number) for number in range(8)]
    ranks = [(each.values @ (4 ** np.arange(3, -1, -1))).reshape(each.labels.shape) for each in batches]
    lowest = np.concatenate([rank.argmin(1) for rank in ranks])
    expected = (lowest == np.concatenate([each.labels.argmax(1) for each in batches])).mean()
    assert expected > 0.6 and game.task.chance()["accuracy"] == pytest.approx(expected, abs=0.03)


def test_a_candidate_that_is_not_there_or_was_rare_is_not_chosen():
    """Kind 2 was the target once of once, kind 0 nine times of ten; kind 3 was always the target and is away."""
    kinds = np.array([[0, 1]] * 10 + [[1, 2]] + [[3, 1]] * 5)
    labels = np.array([[True, False]] * 9 + [[False, True]] * 2 + [[True, False]] * 5)
    answer = frequent_one([Candidates(kinds=kinds, labels=labels, present=np.ones_like(labels))])
    asked = Candidates(
        kinds=np.array([[0, 2], [3, 0]]),
        labels=np.array([[True, False], [False, True]]),
        present=np.array([[True, True], [False, True]]),
    )
    assert answer(asked)["accuracy"].tolist() == [1.0, 1.0]


def test_luck_in_two_rounds_is_no_level():
    """An answer that is right in all of them is taken only if there are enough."""

    def level(number):
        batch = SimpleNamespace(cut=lambda most: None)
        sizes = SimpleNamespace(batch_size=1, evaluation_batch_size=number)
        world = SimpleNamespace(sizes=sizes, num_train=1, num_valid=number, batch=lambda *_: batch)
        family = [
            lambda _, share=share: lambda _: {"accuracy": np.full(number, share)} for share in (0.25, 1.0)
        ]
        return chance_levels(world, lambda _: None, family)["accuracy"]

    assert (level(2), level(100)) == (0.25, 1.0)


def test_what_never_was_right_is_no_answer_and_half_of_the_rounds_are_not_most():
    guess = any_answers([Asked(np.array([[0], [1]]))])
    assert guess(Asked(np.array([[1], [5]])))["accuracy"].tolist() == [0.5, 0]
    labels, present = np.array([[True, False]]), np.ones((1, 2), bool)
    constant = frequent_ones([Candidates(np.array([[0, 0]]), labels, present)])
    assert constant(Candidates(np.array([[0, 0]]), ~present, present))["set_accuracy"].tolist() == [1]


def test_an_unbalanced_column_of_a_table(tmp_path):
    """Of 100 objects of ten shapes and ten sizes 95 are red."""
    rows = [f"{'red' if number % 20 else 'blue'},s{number % 10},n{number // 10}\n" for number in range(100)]
    (tmp_path / "objects.csv").write_text("color,shape,size\n" + "".join(rows))
    game, _ = game_of("recon_large", "world=objects", f"world.objects={tmp_path}/objects.csv")
    expected = {"accuracy": 0.01, "attribute_accuracy": (0.95 + 0.1 + 0.1) / 3}
    assert game.task.chance() == pytest.approx(expected, abs=0.01)


@pytest.mark.parametrize("num_targets", [1, 2, 3])
def test_candidates_of_a_concept(num_targets):
    sizes = (f"task.num_targets={num_targets}", "task.num_distractors=2")
    game, _ = game_of("thing_gs", *sizes, "world.num_attributes=3", "world.num_values=5")
    total = num_targets + 2
    assert game.task.chance() == pytest.approx(
        {"accuracy": max(num_targets, 2) / total, "set_accuracy": 1 / comb(total, num_targets)}
    )


def test_what_is_learnt_from_training_rules_does_not_lower_it_on_others():
    game, _ = game_of("mu_shapeworld_setref", "training.batch_size=128", "training.num_examples=512")
    assert game.task.chance()["accuracy"] == 0.5


@pytest.mark.parametrize("world", ["thing", "shape", "shapeworld"])
def test_a_target_has_no_place(world):
    """Sets are drawn with the targets first; a receiver that scores all candidates alike answers with the first."""
    game, made = game_of(
        "disc_tiny", f"world={world}", "task.num_distractors=3", "training.batch_size=128", *TAUGHT[world]
    )
    places = np.concatenate([made.batch("valid", number).labels.argmax(1) for number in range(8)])
    assert np.bincount(places, minlength=4).min() > 0.15 * len(places)
    batch = made.batch("valid", 0)
    assert (batch.candidate_indices()[batch.labels] == batch.shown[:, 0]).all()
    assert game.task.chance() == {"accuracy": 0.25}


TAUGHT = {"thing": (), "shape": ("world.images_per_batch=16",), "shapeworld": ("world.images_per_label=2",)}


def test_places_and_frequencies_by_hand():
    kinds = np.array([[0, 1], [1, 0], [2, 0]])
    labels = np.array([[False, True], [True, False], [True, False]])
    seen = Candidates(kinds, labels, np.ones_like(labels))
    assert place_of_one([seen])(seen)["accuracy"].tolist() == [0, 1, 1]
    assert frequent_one([seen])(seen)["accuracy"].tolist() == [1, 1, 1]
    unknown = Candidates(kinds + 3, labels, np.ones_like(labels))
    assert frequent_one([seen])(unknown)["accuracy"].tolist() == [0.5, 0.5, 0.5]


def test_a_receiver_that_knows_nothing_is_at_chance_where_all_is_equally_likely():
    game, world = game_of("disc_tiny", "task.num_distractors=3")
    with torch.no_grad():
        measures = [game.eval().play(world.batch("valid", n), "greedy", None).measures for n in range(8)]
    accuracy = np.mean([float(each["accuracy"]) for each in measures])
    assert accuracy == pytest.approx(game.task.chance()["accuracy"], abs=0.05)
