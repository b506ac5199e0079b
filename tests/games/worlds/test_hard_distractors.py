"""Distractors that are like the target: how many values they share, and which objects are near."""

import numpy as np
import pytest

from ecsuite.games.experiment import load_experiment
from ecsuite.games.world_making import make_world
from ecsuite.games.worlds.candidates import with_target_at
from ecsuite.games.worlds.hard_distractors import SharingDistractors, nearest_objects
from ecsuite.runtime.errors import ConfigError


def test_distractors_share_as_many_values_and_are_all_different():
    world = make_world(load_experiment("disc_small", ["world.shared_values=2", "training.batch_size=512"]))
    batch = world.batch("train", 0)
    rounds = batch.values.reshape(512, 6, 4)
    targets = rounds[batch.labels]
    shared = (rounds == targets[:, None]).sum(2)
    assert (shared[~batch.labels] == 2).all() and (shared[batch.labels] == 4).all()
    assert all(len(np.unique(each, axis=0)) == 6 for each in rounds)
    assert len(np.unique(targets, axis=0)) > 200  # of 256 objects
    assert abs(batch.labels.mean(0) - 1 / 6).max() < 0.06  # targets are at any place


def test_every_object_that_shares_them_is_drawn_equally_often():
    sharing = SharingDistractors(1, 1, 2, 3)  # 2 attributes of 3 values: 4 objects share one
    words = np.random.default_rng(0).integers(2**63, size=(4000, 1)).astype(np.uint64)
    found = sharing.of(np.tile([2, 0], (4000, 1)), words)[:, 0]
    objects, counts = np.unique(found, axis=0, return_counts=True)
    assert objects.tolist() == [[0, 0], [1, 0], [2, 1], [2, 2]] and counts.min() > 900


def test_the_nearest_objects_are_those_of_a_line():
    line = np.array([[0.0], [1.0], [2.5], [4.5]])
    assert nearest_objects(line, 2).tolist() == [[1, 2], [0, 2], [1, 3], [2, 1]]
    assert sorted(nearest_objects(np.zeros((4, 1)), 2).shape) == [2, 4]  # all at one place
    placed = with_target_at(np.array([7, 8]), np.array([[1, 2], [3, 4]]), np.array([2, 0]))
    assert placed.tolist() == [[2, 1, 7], [8, 3, 4]]


def test_the_nearest_objects_of_a_table_differ_in_one_value(object_table):
    settings = [f"world.objects={object_table}", "world.distractors=nearest", "task.num_distractors=3"]
    world = make_world(load_experiment("objects", settings))
    batch = world.batch("train", 0)
    rounds = batch.values.reshape(-1, 4, 2)
    same = (rounds == rounds[batch.labels][:, None]).sum(2)
    assert (same[~batch.labels] == 1).all()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (["world.shared_values=2"], "less than the 2 attributes of an object, got 2"),
        (["world.shared_values=1", "task.num_distractors=9"], "6 objects share 1 values .* 9 distractors"),
        (["world.shared_values=1", "task.kind=in_batch"], "the task draws no distractors, expected null"),
        (["world.shared_values=1", "world.held_out=0.3"], "expected no held_out beside it"),
    ],
)
def test_what_cannot_be_drawn_is_refused(settings, message):
    with pytest.raises(ConfigError, match=rf"world.shared_values: .*{message}|{message}"):
        make_world(load_experiment("disc_tiny", settings))


def test_images_are_not_near_to_each_other_by_their_pixels(image_folder):
    settings = [f"world.objects={image_folder}", "world.distractors=nearest", "task.num_distractors=3"]
    with pytest.raises(ConfigError, match=r"world.distractors: .* have no features, expected random"):
        make_world(load_experiment("images", settings)).batch("train", 0)
