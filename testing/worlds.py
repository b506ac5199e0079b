"""Checks of worlds: those of every part of a game, and what holds of its batches."""

from collections.abc import Sequence
from dataclasses import fields

import torch

from ecsuite.games.training.checks import fault_of_batch, fault_of_features
from ecsuite.games.worlds.world import Batch
from ecsuite.testing import games
from ecsuite.testing.check import Check, bound, require
from ecsuite.testing.trial import Trial, same


def checks(kind: str, name: str, settings: Sequence[str]) -> list[Check]:
    """The checks of a world. See `ecsuite.testing.checks`."""
    trial = Trial.of(kind, name, settings)

    return bound((*games.ALL, *WORLDS), lambda: trial)


def batches_are_pure(trial: Trial) -> None:
    """A batch depends on the seed, the split and its number alone."""
    first, second = trial.world(), trial.world()
    for split in first.splits:
        last = second.batch(split, 1)
        require(
            _equal(first.batch(split, 0), second.batch(split, 0)), f"{split}: batch 0 is not always the same"
        )
        require(_equal(first.batch(split, 1), last), f"{split}: batch 1 depends on what was drawn before")


def batches_differ(trial: Trial) -> None:
    """Two batches of training are not the same."""
    world = trial.world()
    require(not _equal(world.batch("train", 0), world.batch("train", 1)), "batches 0 and 1 are equal")


def indices_and_labels_fit(trial: Trial) -> None:
    """Every round shows objects of the batch, and has a target among its candidates."""
    world = trial.world()
    for split in world.splits:
        fault = fault_of_batch(world.batch(split, 0))
        require(fault is None, f"{split}: {fault}")


def features_have_the_shape(trial: Trial) -> None:
    """Objects as input of perceptions have the shape that the world names."""
    world = trial.world()
    for dtype in (torch.float32, torch.bfloat16):
        fault = fault_of_features(world, world.batch("train", 0), dtype)
        require(fault is None, str(fault))


def meanings_are_described(trial: Trial) -> None:
    """Every round of the corpus has a meaning."""
    world = trial.world()
    for batch in world.corpus_batches(8):
        description = world.describe(batch)
        require(len(description.meanings) == len(batch), "not as many meanings as rounds")
        if description.concepts is not None:
            largest = description.concepts.values.max(initial=-1)
            require(largest < len(description.concept_names), "a concept has no name")


def _equal(first: Batch, second: Batch) -> bool:
    """Whether two batches are the same."""
    return all(same(getattr(first, each.name), getattr(second, each.name)) for each in fields(Batch))


WORLDS = (
    batches_are_pure,
    batches_differ,
    indices_and_labels_fit,
    features_have_the_shape,
    meanings_are_described,
)
