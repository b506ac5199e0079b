"""The SHAPE world (Carmeli et al. 2024, appendix B): images of one object each, in sets defined by a rule."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecsuite.config import ConfigError, Experiment
from ecsuite.games.worlds.rounds import Integers, Rounds, SetWorld
from ecsuite.games.worlds.rules import FREE, conjunctions, describe, pairs_broken, split_rules
from ecsuite.games.worlds.scenes import SHAPE_CONCEPTS, shape_images

NUM_VALUES: tuple[int, ...] = (5, 6, 3, 3)
"""Shapes, colours, columns, rows: 17 concepts and 270 full labels."""


class ShapesWorld(SetWorld):
    """Images of one coloured shape at one of nine positions, with any number of images per label.

    Images are expensive to encode, so the rounds of a batch share a pool: `pool // num_targets` rules are drawn,
    different ones as far as possible, and for each rule `num_targets` images that satisfy it. The rounds use these
    rules in turn. A round's targets and distractors are drawn without replacement from all images of the pool that
    satisfy or violate its rule. Hard distractors violate as few pairs as the pool allows. Where the pool has too few
    targets or distractors, images are repeated, as equally often as possible.

    Args:
        experiment: Sets sizes and seed.

    Raises:
        ConfigError: If the pool is too small for two rules, or a split has fewer than two.
    """

    corpus_split = "valid"

    def __init__(self, experiment: Experiment) -> None:
        world, game = experiment.world, experiment.game
        self.num_targets, self.num_distractors = game.num_targets, game.num_distractors
        self.is_hard, self.sender_sees_all = world.distractors == "hard", game.sender_sees == "all"
        self.seed, self.batch_size = experiment.training.seed, experiment.training.batch_size
        self.num_train, self.num_valid = experiment.training.num_examples, experiment.evaluation.num_valid
        self.object_shape = (64, 64, 3)
        self.num_slots = min(world.pool // self.num_targets, self.batch_size)
        if self.num_slots < 2:
            raise ConfigError(
                f"world.pool and training.batch_size: {world.pool} images and {self.batch_size} rounds make "
                f"{self.num_slots} rules of {self.num_targets} targets a batch, expected at least 2"
            )
        self.table = conjunctions(NUM_VALUES, world.rule_length)
        ends = np.cumsum(NUM_VALUES)
        names = [SHAPE_CONCEPTS[end - number : end] for end, number in zip(ends, NUM_VALUES, strict=True)]
        self.rules = describe(self.table, names)
        self.splits = split_rules(len(self.table), world.rule_length, world.held_out, self.seed)
        if min(map(len, self.splits.values())) < 2:  # with one rule there are no distractors
            raise ConfigError(
                f"world.held_out: {world.held_out} of {len(self.table)} rules makes {len(self.splits['train'])} for "
                f"training and {len(self.splits['valid'])} for evaluation, expected at least 2 of each"
            )

    def batch(self, split: str, number: int) -> Rounds:
        """See `SetWorld`."""
        rng = np.random.default_rng([self.seed, *split.encode(), number])
        rules = np.resize(rng.permutation(self.splits[split]), self.num_slots)
        wanted = np.repeat(self.table[rules], self.num_targets, axis=0)
        labels = np.where(wanted == FREE, rng.integers(NUM_VALUES, size=wanted.shape), wanted)  # (pool, 4)
        of_round = rules[np.arange(self.batch_size) % self.num_slots]
        num_broken = pairs_broken(labels, self.table[of_round])  # (batch, pool)
        draws = rng.random(num_broken.shape)
        targets = _lowest_cost(np.where(num_broken == 0, draws, np.inf), self.num_targets)
        cost = num_broken + draws if self.is_hard else draws
        distractors = _lowest_cost(np.where(num_broken > 0, cost, np.inf), self.num_distractors)
        candidates = np.concatenate([targets, distractors], axis=1)
        num_both = self.num_targets + self.num_distractors
        used, places = np.unique(candidates, return_inverse=True)
        candidates = places.reshape(candidates.shape)
        # Each batch has its own range of indices, as long as the pool, so that batches of a split share no image.
        images = shape_images(self.seed, split, number * len(labels) + used, labels[used])
        return Rounds(
            objects=images,
            shown=candidates if self.sender_sees_all else candidates[:, : self.num_targets],
            num_positive=self.num_targets,
            candidates=candidates,
            labels=np.broadcast_to(np.arange(num_both) < self.num_targets, (self.batch_size, num_both)),
            rules=of_round,
        )

    def features(self, objects: NDArray[Any]) -> NDArray[np.uint8]:
        """The images as they are. See `SetWorld`."""
        return objects

    def probes(self) -> dict[str, tuple[SetWorld, str]]:
        """Training rules on new images, if validation uses held-out rules. See `SetWorld`."""
        return {"seen rules": (self, "seen")} if len(self.splits["valid"]) < len(self.table) else {}


def _lowest_cost(costs: NDArray[np.float64], number: int) -> Integers:
    """Indices of the `number` lowest costs per row, (batch, number); where fewer are finite, these are repeated."""
    order = np.argsort(costs, axis=1)
    num_finite = np.isfinite(costs).sum(1, keepdims=True)
    if not num_finite.all():
        raise ConfigError("world.pool: all images satisfy one rule, so there are no distractors: raise it")
    return np.take_along_axis(order, np.arange(number) % num_finite, axis=1)
