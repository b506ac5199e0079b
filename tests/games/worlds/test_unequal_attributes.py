"""Objects whose attributes differ: values by their frequencies, distinct candidates, each object once in the corpus."""

import pytest

from ecsuite.games.config.experiment import load_experiment
from ecsuite.games.worlds.world import make_world
from ecsuite.runtime.errors import ConfigError


def make(*overrides):
    return make_world(load_experiment("objects_game", overrides))


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["world.num_values=[]"], "world.num_values: expected a number for each attribute"),
        (["world.num_values=[4, 1]"], "world.num_values: expected int >= 2, got 1"),
        (["world.exponents=[1, 0]"], "world.exponents: expected a list of 4 numbers, one for each attribute, got 2"),
        (["world.num_values=[300, 300]"], "world.num_values: expected at most 65,536 objects, got 90,000"),
        (["world.num_values=[2, 2]", "task.num_distractors=4"], "5 distinct candidates need 5 objects"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused(overrides, message):
    with pytest.raises(ConfigError, match=message):
        make(*overrides)
