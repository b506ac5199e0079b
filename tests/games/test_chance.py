"""Chance levels of games: the best answer that reads no message, against levels that are computed otherwise."""

from math import comb

import numpy as np
import pytest
import torch

from ecsuite.games.config.experiment import load_experiment
from ecsuite.games.players.pair import make_pair
from ecsuite.games.tasks.chance import Candidates, best_one, best_ones, by_frequency, place_of_one, ranked, some_of
from ecsuite.games.worlds.world import make_world
from ecsuite.runtime.randomness import initial_weights

MANY = ("training.batch_size=512", "training.num_examples=4096", "evaluation.num_valid=4096")


def game_of(name, *settings):
    experiment = load_experiment(name, [*MANY, *settings])
    world = make_world(experiment)
    return make_pair(experiment, world), world


def test_where_all_is_equally_likely_it_is_a_guess_and_an_untrained_receiver_is_there():
    game, _ = game_of("recon_large", "world.num_attributes=2", "world.num_values=3")
    assert game.task.chance() == pytest.approx({"accuracy": 1 / 9, "attribute_accuracy": 1 / 3}, rel=0.05)
    with initial_weights(1):
        game, world = game_of("disc_tiny", "task.num_distractors=3")
    assert game.task.chance() == {"accuracy": 0.25}
    with torch.no_grad():
        measures = [game.eval().play(world.batch("valid", n), "greedy", None).measures for n in range(8)]
    assert np.mean([float(each["accuracy"]) for each in measures]) == pytest.approx(0.25, abs=0.05)


@pytest.mark.parametrize(
    "world",
    [
        ("world.num_attributes=2", "world.num_values=8", "world.frequencies=power_law,exponent=2"),
        ("world=unequal_attributes", "world.num_values=[4,4]", "world.exponents=[3,3]"),
    ],
)
def test_objects_of_other_frequencies_are_named_by_a_constant_answer(world):
    game, made = game_of("recon_large", *world)
    single = [np.bincount(each, weights=made.probabilities).max() for each in made.objects.all_values().T]
    expected = {"accuracy": made.probabilities.max(), "attribute_accuracy": np.mean(single)}
    assert game.task.chance() == pytest.approx(expected, abs=0.03)


def test_the_most_frequent_candidate_is_found_without_a_message():
    game, world = game_of("disc_small", "world.frequencies=power_law")
    batches = [world.batch("valid", number) for number in range(8)]
    ranks = [(each.values @ (4 ** np.arange(3, -1, -1))).reshape(each.labels.shape) for each in batches]
    found = [rank.argmin(1) == each.labels.argmax(1) for rank, each in zip(ranks, batches, strict=True)]
    expected = np.concatenate(found).mean()
    assert expected > 0.6 and game.task.chance()["accuracy"] == pytest.approx(expected, abs=0.03)


def test_what_candidates_share_or_have_alone_gives_targets_away():
    """Half of the candidates have the value of a rule; an object that shares three of four values is in the middle."""
    few = ("training.batch_size=128", "training.num_examples=512", "evaluation.num_valid=512")
    levels = game_of("thing_qt", *few)[0].task.chance()
    assert levels["accuracy"] > 0.999 and levels["set_accuracy"] > 0.95
    game, _ = game_of("disc_small", *few, "world.shared_values=3", "task.num_distractors=5")
    assert game.task.chance()["accuracy"] > 0.999


def test_places_and_frequencies_by_hand():
    kinds = np.array([[0, 1], [1, 0], [2, 0]])
    labels = np.array([[False, True], [True, False], [True, False]])
    seen = Candidates(kinds, labels, np.ones_like(labels))
    assert place_of_one([seen])[0](seen)["accuracy"].tolist() == [0, 1, 1]
    assert ranked(best_one, by_frequency)([seen])[0](seen)["accuracy"].tolist() == [1, 1, 1]
    unknown = Candidates(kinds + 3, labels, np.ones_like(labels))
    assert ranked(best_one, by_frequency)([seen])[0](unknown)["accuracy"].tolist() == [0.5, 0.5, 0.5]


@pytest.mark.parametrize("num_targets", [1, 2, 3])
def test_guesses_of_which_candidates_are_targets_by_hand(num_targets):
    """Of four of which two are taken: the first for sure, and one of two that are equal."""
    total = num_targets + 2
    seen = Candidates(np.zeros((1, total)), np.arange(total)[None] < num_targets, None)
    expected = {"accuracy": max(num_targets, 2) / total, "set_accuracy": 1 / comb(total, num_targets)}
    (guess,) = some_of(num_targets, 2)([])
    assert {name: float(value[0]) for name, value in guess(seen).items()} == pytest.approx(expected)
    labels = np.array([[True, True, False, False]])
    found = best_ones(np.array([[3.0, 2.0, 2.0, 1.0]]), Candidates(np.zeros((1, 4)), labels, labels | True))
    assert found["accuracy"].tolist() == [0.75] and found["set_accuracy"].tolist() == [0.5]
