"""Checks of parts without those that train games, which take a second each; `pytest -m slow` runs all of them."""

from ecsuite.parts.config import read_yaml, shipped_configs
from ecsuite.testing.games import societies_train, training_repeats, training_resumes


def statements(*functions):
    return {function.__doc__.rstrip(".") for function in functions}


TRAIN = statements(societies_train, training_repeats, training_resumes)
TRAIN_MORE = statements(societies_train, training_repeats)
"""Of those that train, all but the one that notices most: a run that is stopped goes on to the same bytes."""


def without(left_out, checks):
    return [check for check in checks if str(check) not in left_out]


def signalling_games():
    shipped = shipped_configs()
    return [name for name in shipped if "play" not in read_yaml(name, "game", shipped)]
