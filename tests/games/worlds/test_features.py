"""Games on feature files: which rows are targets of what, by split and variant, and what the rules say of them."""

import re

import numpy as np
import pytest

from ecsuite.games.config.experiment import load_experiment
from ecsuite.games.worlds.feature_files import synthetic_features, write_features
from ecsuite.games.worlds.features import FeatureWorld
from ecsuite.games.worlds.world import make_world
from ecsuite.runtime.errors import ConfigError


@pytest.fixture
def path(tmp_path):
    """A file whose first feature is the number of the row."""
    made = synthetic_features(1, 16, 24, 5, 6)
    made["features"][:, 0] = np.arange(len(made["features"]))
    write_features(tmp_path / "birds.npz", made)
    return str(tmp_path / "birds.npz")


def make(path, *overrides, task="concept"):
    informed = "task.sender_input=targets_and_distractors"
    sizes = {
        "concept": ["task.num_targets=5", "task.num_distractors=5", informed],
        "discrimination": ["task.num_distractors=15"],
    }
    base = ["world.kind=features", f"world.features={path}", f"task.kind={task}", "training.batch_size=64"]
    world = make_world(load_experiment("disc_tiny", [*base, *sizes[task], *overrides]))
    assert isinstance(world, FeatureWorld)
    return world


def rows(rounds, places):
    """The row of the file of each object."""
    return rounds.objects[:, 0].astype(np.int64)[places]


def test_rules_of_classes_are_their_commonest_attributes(tmp_path):
    attributes = np.zeros((96, 3), np.uint8)
    for attribute, number in enumerate((12, 6, 7)):  # of 12 images: all, half, more than half
        attributes[:number, attribute] = 1
    made = {
        "features": np.zeros((96, 2), np.float32),
        "class_id": np.repeat(np.arange(8), 12),
        "attributes": attributes,
        "attribute_names": np.array(["wing", "beak", "tail"]),
    }
    write_features(tmp_path / "birds.npz", made)
    rules = make(tmp_path / "birds.npz", "task.num_targets=2").rules
    assert rules.meanings.tolist() == [[1, 0, 1]] + [[0, 0, 0]] * 7
    assert rules.concept_names == ("wing", "beak", "tail")
    assert [rules.concepts[number].tolist() for number in range(8)] == [[0, 2]] + [[]] * 7


def test_rules_of_classes_without_attributes_are_their_names(tmp_path):
    made = {"features": np.zeros((96, 2)), "class_id": np.repeat([3, 4, 6, 7, 9, 11, 12, 20], 12)}
    write_features(tmp_path / "birds.npz", made)
    rules = make(tmp_path / "birds.npz", "task.num_targets=2").rules
    assert rules.meanings.tolist() == [[number] for number in range(8)]
    assert rules.concept_names[:3] == ("class=3", "class=4", "class=6")
    assert [rules.concepts[number].tolist() for number in range(8)] == [[number] for number in range(8)]


@pytest.mark.parametrize("task", ["concept", "discrimination"])
def test_distractors_of_what_is_not_trained_on_are_of_all_splits(path, task):
    world = make(path, task=task)
    assert world.untested_note() is None
    assert "not tested" in make(path, "world.candidates=split", task=task).untested_note()
    for split, others in {"train": {0}, "seen": {0}, "valid": {0, 1, 2}, "test": {0, 1, 2}}.items():
        batches = [world.batch(split, number) for number in range(4)]
        targets, distractors = (
            {
                int(of)
                for b in batches
                for of in world.file.split[rows(b, b.candidates)[b.labels == is_target]]
            }
            for is_target in (True, False)
        )
        assert targets == {{"train": 0, "seen": 0, "valid": 1, "test": 2}[split]} and distractors == others
        assert all(len(np.unique(row)) == len(row) for b in batches for row in b.candidates if task[0] == "d")


@pytest.mark.parametrize(
    ("override", "task", "message"),
    [
        (
            "task.num_targets=7",
            "concept",
            "class_id: expected at least 28 rows of each class in train (task.num_targets)",
        ),
        (
            "task.num_distractors=96",
            "discrimination",
            "features: expected at least 97 rows in valid (task.num_dist",
        ),
    ],
)
def test_files_that_are_too_small_are_refused(path, override, task, message):
    with pytest.raises(ConfigError, match="^" + re.escape(f"{path}: {message}")):
        make(path, override, "world.candidates=split", task=task)
