"""Chance levels of games: the best answer that reads no message, against levels that are computed otherwise."""

import numpy as np
import pytest
import torch

from ecsuite.games.config.experiment import load_experiment
from ecsuite.games.players.pair import make_pair
from ecsuite.games.tasks.chance import Candidates, best_one, by_frequency, place_of_one, ranked
from ecsuite.games.worlds.world import make_world
from ecsuite.runtime.randomness import initial_weights

MANY = ("training.batch_size=512", "training.num_examples=4096", "evaluation.num_valid=4096")


def game_of(name, *settings):
    """A game and its world."""
    experiment = load_experiment(name, [*MANY, *settings])
    world = make_world(experiment)
    return make_pair(experiment, world), world


def test_places_and_frequencies_by_hand():
    kinds = np.array([[0, 1], [1, 0], [2, 0]])
    labels = np.array([[False, True], [True, False], [True, False]])
    seen = Candidates(kinds, labels, np.ones_like(labels))
    assert place_of_one([seen])[0](seen)["accuracy"].tolist() == [0, 1, 1]
    assert ranked(best_one, by_frequency)([seen])[0](seen)["accuracy"].tolist() == [1, 1, 1]
    unknown = Candidates(kinds + 3, labels, np.ones_like(labels))
    assert ranked(best_one, by_frequency)([seen])[0](unknown)["accuracy"].tolist() == [0.5, 0.5, 0.5]


def test_a_receiver_that_knows_nothing_is_at_chance_where_all_is_equally_likely():
    with initial_weights(1):
        game, world = game_of("disc_tiny", "task.num_distractors=3")
    with torch.no_grad():
        measures = [game.eval().play(world.batch("valid", n), "greedy", None).measures for n in range(8)]
    accuracy = np.mean([float(each["accuracy"]) for each in measures])
    assert accuracy == pytest.approx(game.task.chance()["accuracy"], abs=0.05)
