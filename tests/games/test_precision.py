"""`training.precision=auto` is bf16 for large games on CPUs that multiply it natively, and fp32 for small ones."""

import pytest
import torch

from ecsuite.games.experiment import load_experiment
from ecsuite.games.precision import choose_game_precision
from ecsuite.runtime import devices

SMALL, LARGE = ["digits", "objects_game", "summation", "disc_tiny"], ["disc_small", "disc_large", "shape_gs"]


@pytest.fixture(params=[True, False])
def has_bf16(request, monkeypatch):
    monkeypatch.setattr(devices, "_cpu_has", lambda feature: request.param and feature == "avx512_bf16")
    return request.param


@pytest.mark.parametrize("game", [*SMALL, *LARGE])
def test_auto_depends_on_the_size_of_a_game_and_the_processor(game, has_bf16):
    chosen = choose_game_precision(load_experiment(game, []), torch.device("cpu"))
    assert chosen == ("bf16" if has_bf16 and game in LARGE else "fp32")


@pytest.mark.parametrize("asked", ["bf16", "fp32"])
def test_what_is_asked_for_is_taken(asked, has_bf16):
    for game in ("disc_tiny", "disc_small"):
        experiment = load_experiment(game, [f"training.precision={asked}"])
        assert choose_game_precision(experiment, torch.device("cpu")) == asked
