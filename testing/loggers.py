"""Checks of loggers: they take figures, go on after an interruption, and leave the run as it is."""

import random
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import torch

from ecsuite.games.config.experiment import load_experiment
from ecsuite.games.training.loggers import Logger, make_loggers
from ecsuite.testing.check import Check, bound, require
from ecsuite.testing.trial import scratch_folder

FIGURES = {"epoch": 0.5, "train.loss": 1.25, "valid.accuracy": 0.5}
Make = Callable[[], Logger]


def checks(kind: str, name: str, settings: Sequence[str]) -> list[Check]:
    """The checks of a logger. See `ecsuite.testing.checks`."""

    def make() -> Logger:
        (logger,) = make_loggers([name])
        return logger

    return bound(ALL, lambda: make)


def takes_the_figures_of_a_run(make: Make) -> None:
    """It can be started, given figures, and closed."""
    with scratch_folder() as folder:
        _run(make(), folder, 0, [1, 2])


def figures_may_come_and_go(make: Make) -> None:
    """A figure may be new at a later evaluation, or missing."""
    with scratch_folder() as folder:
        logger = make()
        logger.start(_config(), folder, 0)
        logger.log(1, {"train.loss": 1.0})
        logger.log(2, {"valid.loss": 2.0, "metrics.topsim": 0.5})
        logger.close()


def goes_on_after_an_interruption(make: Make) -> None:
    """It can be started again in the same folder, at the step of an earlier checkpoint."""
    with scratch_folder() as folder:
        _run(make(), folder, 0, [1, 2, 3])
        _run(make(), folder, 2, [3, 4])


def leaves_the_figures_and_the_generators(make: Make) -> None:
    """It changes neither the figures nor a global random generator."""
    before = _generators()
    with scratch_folder() as folder:
        given = dict(FIGURES)
        logger = make()
        logger.start(_config(), folder, 0)
        logger.log(1, given)
        logger.close()
    require(given == FIGURES, "it changed the figures")
    require(_generators() == before, "it drew from a global random generator")


def closes_without_figures(make: Make) -> None:
    """It can be closed before any figure came, as after an error."""
    with scratch_folder() as folder:
        _run(make(), folder, 0, [])


def _run(logger: Logger, folder: Path, step: int, steps: Sequence[int]) -> None:
    logger.start(_config(), folder, step)
    for each in steps:
        logger.log(each, dict(FIGURES))
    logger.close()


def _config() -> dict[str, object]:
    return load_experiment("disc_tiny").to_tree()


def _generators() -> tuple[object, ...]:
    return random.getstate(), str(np.random.get_state()), torch.get_rng_state().tolist()


ALL = (
    takes_the_figures_of_a_run,
    figures_may_come_and_go,
    goes_on_after_an_interruption,
    closes_without_figures,
    leaves_the_figures_and_the_generators,
)
