"""Every shipped signalling game begins with the recorded weights, and its settings give the same run to the byte."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import torch

from ecsuite.games.config.experiment import load_experiment, override
from ecsuite.games.plays.population import Population
from ecsuite.games.worlds.feature_files import synthetic_features, write_features
from ecsuite.games.worlds.world import make_world
from quick_checks import signalling_games

RECORDED = Path(__file__).with_name("initial_states.json")
REDUCED = {
    "world.num_attributes": 5, "world.num_values": 3, "world.images_per_batch": 8, "world.images_per_label": 2,
    "task.num_targets": 2, "task.num_distractors": 2, "channel.vocab_size": 7, "channel.max_len": 2,
    "sender.hidden_size": 8, "sender.embedding_size": 4, "sender.perception.size": 6,
    "receiver.hidden_size": 8, "receiver.embedding_size": 4, "receiver.perception.size": 6,
    "training.num_examples": 6, "training.batch_size": 3, "training.num_epochs": 2, "training.precision": "fp32",
    "training.evaluate_every": 2, "training.checkpoint_every": 2, "evaluation.num_valid": 3,
    "evaluation.corpus_size": 4,
}  # fmt: skip
"""Small sizes, so that a run of 4 steps takes a moment."""
MORE_ROUNDS = {"training.num_examples": 12, "training.batch_size": 6}
"""Of games in which each round of a batch has one target, so that more of them need more images."""
REDUCED_OF = {
    "fixed_language": {"world.num_attributes": 2},  # one for each symbol
    "objects_game": {"world.num_values": [3, 2, 3, 2]},
    "image_factors": MORE_ROUNDS,
    "self_supervised": MORE_ROUNDS,
}
"""Other small sizes of an experiment."""


def flat(tree: Mapping[str, Any], path: str = "") -> dict[str, Any]:
    """Values of a tree by their dotted path."""
    found = {}
    for key, value in tree.items():
        found |= flat(value, f"{path}{key}.") if isinstance(value, dict) else {f"{path}{key}": value}
    return found


@pytest.fixture
def load(tmp_path, object_table, image_folder):
    """Loads a game by its name, with a file where it needs one."""
    features = tmp_path / "features.npz"
    write_features(str(features), synthetic_features(0))
    files = {"objects": f"objects={object_table}", "images": f"objects={image_folder}"}
    files |= dict.fromkeys(("mu_cub", "yao"), f"features={features}")
    return lambda name: load_experiment(name, [f"world.{files[name]}"] if name in files else [])


@pytest.mark.slow
@pytest.mark.parametrize("name", signalling_games())
def test_the_same_settings_give_the_same_run(name, load, run, contents, tmp_path):
    experiment = load(name)
    known, sizes = flat(experiment.to_tree()), REDUCED | REDUCED_OF.get(name, {})
    experiment = override(experiment, [f"{path}={value}" for path, value in sizes.items() if path in known])
    for folder in ("one", "two"):
        run(experiment, tmp_path / folder)
    assert contents(tmp_path / "one") == contents(tmp_path / "two")


@pytest.mark.sample(4)
@pytest.mark.parametrize("name", signalling_games())
def test_initial_weights_are_the_recorded_ones(name, load):
    """`RECORD_INITIAL_STATES=1` records them anew, for a change that is meant to change what a seed gives."""
    experiment = load(name)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(experiment.training.seed)
        players = Population.from_experiment(experiment, make_world(experiment))
    state = players.state_dict().items()
    found = {key: [list(each.shape), round(each.double().sum().item(), 6)] for key, each in state}
    recorded = json.loads(RECORDED.read_text())
    if os.environ.get("RECORD_INITIAL_STATES"):
        written = {**recorded, name: {**recorded[name], "tensors": found}}
        RECORDED.write_text(json.dumps(written, indent=1) + "\n")
    expected = recorded[name]["tensors"]
    assert list(found) == list(expected)
    assert found == {key: [shape, pytest.approx(total, abs=1e-4)] for key, (shape, total) in expected.items()}
