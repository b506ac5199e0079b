"""Candidates that are the objects of the batch, and rounds with different numbers of them."""

import math

import numpy as np
import pytest
import torch

from ecsuite.games.config.experiment import load_experiment
from ecsuite.games.players.pair import make_pair
from ecsuite.games.worlds.candidates import distinct_others, each_once, with_target_at
from ecsuite.games.worlds.world import make_world
from ecsuite.runtime.errors import ConfigError

BATCH = ("training.batch_size=64", "evaluation.num_valid=100", "training.precision=fp32")
IN_BATCH = ("task.kind=in_batch", *BATCH)


def make(*settings, game="disc_tiny"):
    experiment = load_experiment(game, settings)
    torch.manual_seed(0)
    world = make_world(experiment)
    return make_pair(experiment, world), world


def test_a_target_changes_its_place_with_the_candidate_that_is_there():
    found = with_target_at(np.array([7, 8]), np.array([[1, 2], [3, 4]]), np.array([0, 2]))
    assert found.tolist() == [[7, 1, 2], [4, 3, 8]]


@pytest.mark.parametrize("target", [0, 2, 4])
def test_distractors_are_all_objects_but_the_target(target):
    words = np.random.default_rng(0).integers(2**64, size=(50, 2), dtype=np.uint64)
    found = distinct_others(np.full(50, target), words, 5)
    assert set(found.flat) == set(range(5)) - {target} and (found[:, 0] != found[:, 1]).all()


@pytest.mark.parametrize("kind", ["attributes", "thing", "objects"])
def test_the_candidates_of_every_round_are_the_objects_of_the_batch(kind, object_table):
    more = [f"world.objects={object_table}"] if kind == "objects" else []
    _, world = make(*IN_BATCH, f"world.kind={kind}", *more)
    batch = world.batch("train", 0)
    assert batch.labels.shape[0] == 64 and (batch.labels.sum(1) == 1).all()
    candidates = batch.objects[batch.candidates]
    shown = batch.objects[batch.shown[:, 0]]
    assert np.array_equal(candidates[batch.labels], shown)
    assert np.array_equal(np.unique(candidates[0], axis=0), np.unique(shown, axis=0))
    assert len(np.unique(candidates[0], axis=0)) == batch.labels.shape[1] <= 16


def test_the_loss_is_that_of_softmax_over_cosines():
    game, world = make(*IN_BATCH, "task.loss_temperature=0.5")
    batch = world.batch("train", 0)
    candidates, truth = game.round_parts(batch)
    states = torch.randn(1, 64, 64)
    scores = game.listener.scores(states, candidates, None)
    vectors = game.listener.perception(candidates.features)
    cosines = torch.nn.functional.cosine_similarity(states[0][:, None], vectors[None], dim=-1)
    assert torch.allclose(scores[0], cosines, atol=1e-6)
    expected = torch.nn.functional.cross_entropy(cosines / 0.5, truth.labels.int().argmax(1))
    assert torch.allclose(game.task(scores, truth).loss.mean(), expected, atol=1e-6)


def test_chance_is_of_the_different_objects_of_each_batch():
    game, world = make(*IN_BATCH, "evaluation.batch_size=60")
    numbers = [world.batch("valid", number).labels.shape for number in (0, 1)]
    expected = sum(rounds / candidates for rounds, candidates in numbers) / 100
    assert game.task.chance() == {"accuracy": pytest.approx(expected)} and expected > 1 / 17


def test_gradients_flow_and_messages_decide():
    game, world = make(*IN_BATCH)
    game.play(world.batch("train", 0), "train", torch.Generator().manual_seed(0)).objective.backward()
    assert all(parameter.grad is not None for parameter in game.parameters())


def test_rounds_have_different_numbers_of_candidates():
    game, world = make("task.fewest_distractors=1", "evaluation.mode=greedy", *BATCH)
    batch = world.batch("train", 3)
    numbers = np.bincount(batch.present.sum(1), minlength=5)
    assert numbers[:2].sum() == 0 and (numbers[2:] > 8).all() and batch.present[batch.labels].all()
    assert not np.array_equal(batch.present, world.batch("train", 4).present)
    candidates, truth = game.round_parts(batch)
    scores = game.listener.scores(torch.randn(1, 64, 64), candidates, None)[0]
    assert torch.equal(scores.isinf(), torch.from_numpy(~batch.present))
    loss = game.task(scores[None], truth).loss
    assert loss.isfinite().all()
    assert game.task.chance()["accuracy"] == pytest.approx((1 / 2 + 1 / 3 + 1 / 4) / 3, abs=0.02)
    played = game.play(batch, "train", torch.Generator().manual_seed(0))
    played.objective.backward()
    assert all(math.isfinite(float(parameter.grad.sum())) for parameter in game.parameters())


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("task.fewest_distractors=3", "expected less than num_distractors, 3, got 3"),
        ("task.sender_input=targets_and_distractors", "expected null if the sender sees the distractors"),
    ],
)
def test_numbers_that_cannot_be_had_are_refused(setting, message):
    with pytest.raises(ConfigError, match=f"task.fewest_distractors: {message}"):
        load_experiment("disc_tiny", ["task.fewest_distractors=1", setting])


@pytest.mark.parametrize("total", [3, 200, 10**6])
def test_objects_in_use_are_each_there_once(total):
    first, second = np.random.default_rng(0).integers(total, size=(2, 5, 4))
    used, places = each_once(first, second)
    assert used.tolist() == sorted({*first.ravel(), *second.ravel()})
    assert all((used[place] == numbers).all() for place, numbers in zip(places, (first, second), strict=True))
    used, (places,) = each_once(first[:0])
    assert used.shape == (0,) and places.shape == (0, 4)
