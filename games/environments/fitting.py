"""Validation of environments: their description, and the values that they return."""

import numpy as np

from ecsuite.games.environments.environment import Environment, Floats, Integers, Moment
from ecsuite.runtime.errors import ConfigError
from ecsuite.runtime.given_values import require_different


def require_described(environment: Environment) -> None:
    """Raise `ConfigError` if agents, max_steps or attribute_names are missing, or attribute names are not unique."""
    needed = ("agents", "max_steps", "attribute_names")
    if missing := [name for name in needed if not hasattr(environment, name)]:
        raise ConfigError(f"environment {type(environment).__name__}: expected {', '.join(missing)}")
    what = f"environment {type(environment).__name__}: attribute_names"
    require_different(what, environment.attribute_names)


def stepped(environment: Environment, moment: Moment, actions: Integers) -> tuple[Moment, Floats]:
    """Step an environment; `ConfigError` if its values do not match its description."""
    given, shape = environment.step(moment, actions), (len(actions), len(environment.agents))
    is_pair = isinstance(given, tuple) and len(given) == 2
    if not is_pair or np.shape(given[1]) != shape:
        got = f"rewards of shape {np.shape(given[1])}" if is_pair else type(given).__name__
        name = type(environment).__name__
        raise ConfigError(
            f"environment {name}: expected a Moment and rewards of shape {shape} from step, got {got}"
        )
    require_fitting(environment, given[0], len(actions), "step")
    return given


def require_fitting(environment: Environment, moment: Moment, batch: int, method: str) -> None:
    """Raise `ConfigError` if the shapes of a moment do not match the environment's description."""
    name, specs = type(environment).__name__, environment.agents
    most = max(spec.num_heard for spec in specs)
    if not isinstance(moment, Moment):
        raise ConfigError(f"environment {name}: expected a Moment from {method}, got {type(moment).__name__}")
    if len(moment.observations) != len(specs):
        raise ConfigError(
            f"environment {name}: expected observations of {len(specs)} agents, got {len(moment.observations)}"
        )
    shapes = {
        f"observations of {spec.name}": (seen, (batch, spec.num_features))
        for spec, seen in zip(specs, moment.observations, strict=True)
    } | {
        "heard": (moment.heard[..., :most], (batch, len(specs), most)),
        **{
            name: (flags, (batch, len(specs)))
            for name in ("active", "speaking", "acting")
            if (flags := getattr(moment, name)) is not None
        },
        "done": (moment.done, (batch,)),
        "meanings": (moment.meanings, (batch, len(specs), len(environment.attribute_names))),
    }
    for what, (given, shape) in shapes.items():
        if np.shape(given) != shape:
            raise ConfigError(
                f"environment {name}: expected {what} of shape {shape} from {method}, got {np.shape(given)}"
            )
