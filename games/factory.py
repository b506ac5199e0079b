"""Build the world and the game of an experiment."""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

import torch

from ecsuite.config import ConfigError, Experiment, look_up
from ecsuite.games.game import Game, SenderReceiverGame
from ecsuite.games.set_game import SetGame
from ecsuite.games.tasks import TASKS
from ecsuite.games.worlds.attributes import AttributeValueWorld, FileWorld, World
from ecsuite.games.worlds.rounds import SetWorld

SET_WORLDS: Mapping[str, str] = {
    "thing": "ecsuite.games.worlds.things:ThingWorld",
    "shape": "ecsuite.games.worlds.shapes:ShapesWorld",
    "shapeworld": "ecsuite.games.worlds.shapeworld:ShapeWorld",
    "features": "ecsuite.games.worlds.features:FeatureWorld",
}
"""Worlds whose rounds are about sets of objects, as `module:class`; imported on first use."""

WORLDS: Mapping[str, str] = {
    "attributes": "objects with attribute values, drawn or read from text files; one target per round",
    "thing": "sets of objects with attribute values that obey a rule (Carmeli et al. 2024)",
    "shape": "sets of images of one coloured shape at one of nine positions (Carmeli et al. 2024)",
    "shapeworld": "sets of images that obey one of 312 logical concepts (Mu & Goodman 2021)",
    "features": "sets of objects from your file of feature vectors (Mu & Goodman 2021; Yao et al. 2022)",
}
"""One-line description of each world by its name."""

TASKS_BY_WORLD: Mapping[str, tuple[str, ...]] = {
    "attributes": ("discrimination", "reconstruction"),
    "thing": ("concept",),
    "shape": ("concept",),
    "shapeworld": ("concept",),
    "features": ("concept", "discrimination"),
}
"""The tasks of each world."""


def make_world(experiment: Experiment) -> World | SetWorld:
    """The world that an experiment names.

    Raises:
        ConfigError: If the name is unknown, or the world does not support the game's task or variant.
    """
    kind, task = experiment.world.kind, experiment.game.task
    look_up("world", kind, WORLDS)
    look_up("task", task, TASKS)
    if task not in TASKS_BY_WORLD[kind]:
        raise ConfigError(
            f"game.task: expected {' or '.join(TASKS_BY_WORLD[kind])} in world {kind}, got {task}"
        )
    if kind in ("thing", "shape") and experiment.game.variant != "setref":
        raise ConfigError(f"game.variant: expected setref in world {kind}, got {experiment.game.variant}")
    if kind == "attributes":
        drawn = experiment.world.train_data is None
        return AttributeValueWorld(experiment) if drawn else FileWorld(experiment)
    module, name = SET_WORLDS[kind].split(":")
    make_set_world: Callable[[Experiment], Any] = getattr(import_module(module), name)
    world: SetWorld = make_set_world(experiment)
    return world


def make_game(experiment: Experiment, world: World | SetWorld, dtype: torch.dtype) -> SenderReceiverGame:
    """The game that an experiment names, for its world."""
    if isinstance(world, World):
        return Game(experiment, dtype)
    return SetGame(experiment, world, dtype)
