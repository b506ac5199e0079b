"""Worlds and tasks are independent choices: every pair that makes sense is played, every other one is refused."""

import pytest

from ecsuite.games.config.experiment import load_experiment
from ecsuite.games.players.pair import make_pair
from ecsuite.games.worlds.feature_files import synthetic_features, write_features
from ecsuite.games.worlds.world import make_world
from ecsuite.runtime.errors import ConfigError

SMALL = ("sender.hidden_size=8", "receiver.hidden_size=8", "training.batch_size=4")
TASK = {
    "discrimination": ("task.num_distractors=3",),
    "in_batch": ("task.kind=in_batch",),
    "reconstruction": ("task.kind=reconstruction",),
    "autoencoding": ("task.kind=autoencoding",),
    "concept": ("task.kind=concept", "task.num_targets=2", "task.num_distractors=3"),
}


def load(*overrides):
    return load_experiment("disc_tiny", [*SMALL, *overrides])


MISTAKES = {
    ("world.kind=think",): r"--set: unknown world 'think'; did you mean 'thing'\? choices: thing, letter_strings, ",
    ("task.kind=concepts",): r"--set: unknown task 'concepts'; did you mean 'concept'\? choices: discrimination, in_b",
    ("task.kind=concept",): r"task concept: world attributes has no rules; worlds with rules: text, thing, shape, s",
    ("world.kind=features",): r"--set: world.features: expected an npz file of feature vectors, such as --features ve",
    ("world.kind=thing", "task.kind=concept", "task.variant=reference"):
        r"task.variant: expected set_reference in world \w+, got reference$",
    ("world.kind=shape", "task.kind=concept", "task.variant=concept"):
        r"task.variant: expected set_reference in world \w+, got concept$",
    ("world.kind=thing", "task.kind=concept", "world.rule_length=3"): r"world.rule_length: expected at most 2 attribu",
    ("world.kind=thing", "task.num_distractors=null"): r"task.num_distractors: expected a number \(only world text ",
}  # fmt: skip


@pytest.mark.parametrize("overrides", MISTAKES)
def test_worlds_and_tasks_that_do_not_fit(overrides):
    with pytest.raises(ConfigError, match=f"^{MISTAKES[overrides]}"):
        experiment = load(*overrides)
        make_pair(experiment, make_world(experiment))


def test_features_without_attributes_cannot_be_reconstructed(tmp_path):
    made = synthetic_features(1, 8, 24, 5, 4)
    write_features(tmp_path / "bare.npz", {"features": made["features"]})
    experiment = load("world.kind=features", f"world.features={tmp_path}/bare.npz", *TASK["reconstruction"])
    message = r"^task: reconstruction needs objects with attribute values, but this world"
    with pytest.raises(ConfigError, match=message):
        make_pair(experiment, make_world(experiment))
