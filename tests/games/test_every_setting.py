"""Every shipped signalling game, in small sizes: the same settings give the same run, to the last byte."""

from collections.abc import Mapping
from typing import Any

import pytest
from quick_checks import signalling_games

from ecsuite.games.config.experiment import load_experiment, override
from ecsuite.games.worlds.feature_files import synthetic_features, write_features

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


@pytest.mark.slow
@pytest.mark.parametrize("name", signalling_games())
def test_the_same_settings_give_the_same_run(name, run, contents, tmp_path, object_table, image_folder):
    features = tmp_path / "features.npz"
    write_features(str(features), synthetic_features(0, 12, 20, 5, 4))
    files = {"objects": f"objects={object_table}", "images": f"objects={image_folder}"}
    files |= dict.fromkeys(("mu_cub", "yao"), f"features={features}")
    experiment = load_experiment(name, [f"world.{files[name]}"] if name in files else [])
    known, sizes = flat(experiment.to_tree()), REDUCED | REDUCED_OF.get(name, {})
    experiment = override(experiment, [f"{path}={value}" for path, value in sizes.items() if path in known])
    for folder in ("one", "two"):
        run(experiment, tmp_path / folder)
    assert contents(tmp_path / "one") == contents(tmp_path / "two")
