"""Distractors that are like the target: how many values they share, and which objects are near."""

import numpy as np
import pytest

from ecsuite.games.config.experiment import load_experiment
from ecsuite.games.worlds.candidates import SimilarDistractors, with_target_at
from ecsuite.games.worlds.world import make_world
from ecsuite.runtime.errors import ConfigError


def similar(number, num_shared=None, values=None, vectors=None, rounds=1):
    """Distractors of each object in many rounds, (num_objects, rounds, number)."""
    total = len(values if vectors is None else vectors)
    words = np.random.default_rng(0).integers(2**63, size=(total * rounds, number)).astype(np.uint64)
    drawn = SimilarDistractors(number, num_shared, values, vectors).of(
        np.repeat(np.arange(total), rounds), words, np.arange(total)
    )
    return drawn.reshape(total, rounds, number)


def test_the_nearest_objects_are_those_of_a_line():
    line = np.array([[0.0], [1.0], [2.5], [4.5]])
    nearest = similar(2, vectors=line, rounds=50)
    assert [set(each.ravel().tolist()) for each in nearest] == [{1, 2}, {0, 2}, {1, 3}, {1, 2}]
    at_one_place = similar(2, vectors=np.zeros((4, 1)), rounds=300)
    for target, rounds in enumerate(at_one_place.tolist()):
        sets = {tuple(sorted(each)) for each in rounds}
        assert len(sets) == 3 and all(target not in each and len({*each}) == 2 for each in sets)
    placed = with_target_at(np.array([7, 8]), np.array([[1, 2], [3, 4]]), np.array([2, 0]))
    assert placed.tolist() == [[2, 1, 7], [8, 3, 4]]


def test_values_are_shared_where_objects_are_held_out():
    held_out = "world.held_out_value=attribute0=1,attribute2=3"
    world = make_world(
        load_experiment("disc_small", [held_out, "world.shared_values=3", "training.batch_size=256"])
    )
    for split in ("train", "valid"):
        batch = world.batch(split, 0)
        values = batch.values[batch.candidate_indices()]
        targets = values[batch.labels]
        assert ((values == targets[:, None]).sum(2)[~batch.labels] == 3).all()
        is_held_out = (values[..., 0] == 1) & (values[..., 2] == 3)
        assert is_held_out[batch.labels].all() == is_held_out.any() == (split == "valid")
        assert 0.2 < is_held_out[~batch.labels].mean() < 0.8 or split == "train"


@pytest.mark.parametrize(
    ("game", "settings"),
    [
        ("digits", ["world.shared_values=0", "world.held_out=0.2"]),
        ("objects_game", ["world.shared_values=2", "world.held_out_value=attribute0=1,attribute1=2"]),
        ("summation", ["task={kind: discrimination, num_distractors: 2}", "world.shared_values=1"]),
    ],
)
def test_every_world_of_single_objects_has_it(game, settings):
    world = make_world(load_experiment(game, settings))
    shared = int(settings[0][-1] if "shared" in settings[0] else settings[1][-1])
    for split in world.splits:
        batch = world.batch(split, 0)
        values = batch.values[batch.candidate_indices()]
        assert ((values == values[batch.labels][:, None]).sum(2)[~batch.labels] == shared).all()


def test_images_are_not_near_to_each_other_by_their_pixels(image_folder):
    settings = [f"world.objects={image_folder}", "world.distractors=nearest", "task.num_distractors=3"]
    with pytest.raises(ConfigError, match=r"world.distractors: .* have no features: expected random"):
        make_world(load_experiment("images", settings)).batch("train", 0)
