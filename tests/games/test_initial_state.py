"""Every shipped game starts from recorded weights: names, order and sums of its parameters, and the generator's state.

`RECORD_INITIAL_STATES=1 pytest tests/games/test_initial_state.py` records them anew; do so only for a change that is
meant to change what a seed gives.
"""

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import pytest
import torch
from quick_checks import signalling_games

from ecsuite.games.config.experiment import load_experiment
from ecsuite.games.plays.population import Population
from ecsuite.games.worlds.feature_files import synthetic_features, write_features
from ecsuite.games.worlds.world import make_world

RECORDED = Path(__file__).with_name("initial_states.json")


def initial_state(name: str, features: Path, own: dict[str, str]) -> dict[str, Any]:
    """Names, shapes and sums of a game's state in its order, and a digest of the generator's state after building."""
    write_features(features, synthetic_features(0))
    needs_file = [f"world.features={features}"] if name in ("mu_cub", "yao") else []
    needs_file += [f"world.objects={own[name]}"] if name in own else []
    experiment = load_experiment(name, needs_file)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(experiment.training.seed)
        players = Population.from_experiment(experiment, make_world(experiment))
        generator = hashlib.sha256(torch.get_rng_state().numpy().tobytes()).hexdigest()
    tensors = {
        key: [list(tensor.shape), round(tensor.double().sum().item(), 6)]
        for key, tensor in players.state_dict().items()
    }
    trained = [key for key, _ in players.named_parameters()]
    return {"tensors": tensors, "trained": trained, "generator": generator}


@pytest.mark.sample(4)
@pytest.mark.parametrize("name", signalling_games())
def test_the_initial_state_is_the_recorded_one(
    name: str, tmp_path: Path, object_table: str, image_folder: str
) -> None:
    own = {"objects": object_table, "images": image_folder}
    state = initial_state(name, tmp_path / "features.npz", own)
    recorded = json.loads(RECORDED.read_text()) if RECORDED.exists() else {}
    if os.environ.get("RECORD_INITIAL_STATES"):
        RECORDED.write_text(json.dumps({**recorded, name: state}, indent=1) + "\n")
        return
    expected = recorded[name]
    assert list(state["tensors"]) == list(expected["tensors"])
    assert state["trained"] == expected["trained"]
    assert state["tensors"] == {
        key: [shape, pytest.approx(total, abs=1e-4)] for key, (shape, total) in expected["tensors"].items()
    }
    assert state["generator"] == expected["generator"]
