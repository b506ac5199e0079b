"""`training.precision=auto` is bf16 for large games on CPUs that multiply it natively, and fp32 for small ones."""

import pytest
import torch

from ecsuite.games.config.experiment import load_experiment
from ecsuite.games.plays.notes import choose_game_precision
from ecsuite.runtime import devices
from ecsuite.runtime.errors import ConfigError

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


@pytest.mark.parametrize(
    ("game", "refused"), [("speaker_listener", ["bf16"]), ("naming", ["bf16", "tf32"]), ("disc_tiny", [])]
)
def test_plays_that_do_not_compute_in_a_precision_refuse_it(game, refused):
    cuda = torch.device("cuda")
    for asked in ("bf16", "tf32"):
        experiment = load_experiment(game, [f"training.precision={asked}"])
        if asked in refused:
            with pytest.raises(
                ConfigError, match=rf"play \w+ does not support {asked}: expected one of auto, "
            ):
                choose_game_precision(experiment, cuda)
        else:
            assert choose_game_precision(experiment, cuda) == asked
    if refused:
        assert choose_game_precision(load_experiment(game, []), cuda) == "fp32"
