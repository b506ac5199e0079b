"""The digits of scikit-learn: pixels from 0 to 1, meanings by class, and classes that can be held out."""

import numpy as np
import torch

from ecsuite.games.config.experiment import load_experiment
from ecsuite.games.players.pair import make_pair
from ecsuite.games.worlds.world import make_world


def test_digits_are_pixels_and_their_classes_are_meanings():
    world = make_world(load_experiment("digits", ["world.held_out=0"]))
    batches = list(world.corpus_batches(10))
    images = np.concatenate([batch.objects for batch in batches])
    assert images.shape == (1797, 64) and images.min() == 0 and images.max() == 1
    described = [world.describe(batch) for batch in batches]
    counts = np.bincount(np.concatenate([each.meanings for each in described]).ravel())
    assert len(counts) == 10 and counts.min() > 170
    assert described[0].concept_names[3] == "digit=3"


def test_a_digit_can_be_held_out_and_named():
    settings = [
        "world.held_out=0",
        "world.held_out_value=digit=3",
        "task=reconstruction",
        "training.batch_size=32",
    ]
    experiment = load_experiment("digits", settings)
    world = make_world(experiment)
    assert {3} == set(world.batch("valid", 0).values.ravel())
    assert 3 not in world.batch("train", 0).values
    game = make_pair(experiment, world)
    played = game.play(world.batch("train", 0), "train", torch.Generator().manual_seed(1))
    assert played.measures["accuracy"] <= 1 and 0 <= game.task.chance()["accuracy"] <= 0.1
