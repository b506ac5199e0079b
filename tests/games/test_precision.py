"""`training.precision=auto` is bf16 for large games on CPUs that multiply it natively, and fp32 for small ones."""

import pytest
import torch

from ecsuite.games.config.experiment import load_experiment
from ecsuite.games.plays.notes import choose_game_precision
from ecsuite.runtime.errors import ConfigError

SMALL, LARGE = ["digits", "objects_game", "summation", "disc_tiny"], ["disc_small", "disc_large", "shape_gs"]


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
