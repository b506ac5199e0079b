"""A metric that can't score a game is refused before the first run."""

import pytest

from ecsuite.eval.experiments.study import require_scorable
from ecsuite.games.config.experiment import load_experiment
from ecsuite.runtime.errors import ConfigError


def test_generalisation_needs_held_out_objects():
    with pytest.raises(ConfigError, match=r"^study.yaml: score: generalisation .* set world.held_out=0.3"):
        require_scorable([load_experiment("disc_tiny")], ["topsim", "generalisation"], "study.yaml")
    held_out = load_experiment("disc_tiny", changes={"world.held_out": 0.3})
    require_scorable([load_experiment("disc_tiny"), held_out], ["generalisation", "rsa"], "study.yaml")
    by_value = load_experiment("disc_tiny", changes={"world.held_out_value": "attribute0=1,attribute1=2"})
    require_scorable([by_value], ["generalisation"], "study.yaml")
