"""A control: agents that were trained on a world play rounds about objects of noise (Bouchacourt & Baroni 2018).

Agents that understand each other about noise speak of single pixels or features, and not of what objects have in common
(arXiv 1808.10696, section 4; with augmentation, Dessì et al. 2021, arXiv 2106.04258).
"""

from collections.abc import Mapping
from copy import copy
from dataclasses import replace

import numpy as np

from ecsuite.games.config.sections import Experiment
from ecsuite.games.worlds.world import Batch, World
from ecsuite.runtime.errors import ConfigError

NOISE = "noise objects"
"""The name of the evaluation."""


def evaluations_of(world: World, experiment: Experiment) -> Mapping[str, tuple[World, str]]:
    """The evaluations of trained agents beside the one on validation rounds, by name: a world, and the split of it.

    Raises:
        ConfigError: If the experiment asks for objects of noise in a world of attribute values.
    """
    found = world.extra_evaluations()
    if experiment.evaluation.noise_objects:
        found[NOISE] = (with_noise_objects(world), "valid")
    return found


def with_noise_objects(world: World) -> World:
    """The world with objects of noise in the place of its own: bytes or numbers from 0 to 1, all equally likely."""
    require_seen(world)
    noisy = copy(world)

    def batch(split: str, number: int) -> Batch:
        drawn = world.batch(split, number)
        rng = np.random.default_rng([world.seed, *b"noise objects", *split.encode(), number])
        if drawn.objects.dtype == np.uint8:
            return replace(drawn, objects=rng.integers(256, size=drawn.objects.shape, dtype=np.uint8))
        return replace(drawn, objects=rng.random(drawn.objects.shape, dtype=np.float32))

    noisy.batch = batch  # type: ignore[method-assign]
    return noisy


def require_seen(world: World) -> None:
    """Raise `ConfigError` if the objects of a world are neither images nor vectors of numbers."""
    if world.shows_values:
        raise ConfigError(
            "evaluation.noise_objects: the objects of this world are attribute values: expected images or features"
        )
