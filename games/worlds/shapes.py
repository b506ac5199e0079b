"""The SHAPE world (Carmeli et al. 2024, appendix B): images of one object each, in sets defined by a rule."""

from dataclasses import dataclass
from itertools import accumulate
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ecsuite.games.worlds.candidates import each_once
from ecsuite.games.worlds.rendered import RenderedWorld
from ecsuite.games.worlds.rules import ConjunctionWorld, pairs_broken
from ecsuite.games.worlds.scenes import SHAPE_CONCEPTS, shape_scenes
from ecsuite.games.worlds.splits import CandidatePool, HeldOutValue
from ecsuite.games.worlds.world import FREE, Batch, Integers, RoundSpec, RunSizes
from ecsuite.parts.config import Count, Share
from ecsuite.runtime.errors import ConfigError

NUM_VALUES: tuple[int, ...] = (5, 6, 3, 3)
"""Shapes, colours, columns, rows: 17 concepts and 270 full labels."""
ENDS = tuple(accumulate(NUM_VALUES))
"""Where the concepts of each of these end in `SHAPE_CONCEPTS`."""


class ShapesWorld(RenderedWorld, ConjunctionWorld):
    """Images of one coloured shape at one of nine positions, with any number of images per label.

    Images are expensive to encode, so the rounds of a batch share `images_per_batch` images: `images_per_batch //
    num_targets` rules are drawn, different ones as far as possible, and for each rule `num_targets` images that satisfy
    it. The rounds use these rules in turn. A round's targets and distractors are drawn without replacement from all
    images of the batch that satisfy or violate its rule; for held-out rules see `candidates`. Hard distractors violate
    as few pairs as the images allow. Where there are too few targets or distractors, images are repeated, as equally
    often as possible. Images are drawn again where all of them satisfy the rule of a round.

    Raises:
        ConfigError: If there are too few images for two rules, or a split has fewer than two.
    """

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options:
        """Options of the world."""

        rule_length: Count = 1
        """Number of pairs of attribute and value that a rule joins by `and`."""
        distractors: Literal["random", "hard"] = "random"
        """Hard distractors violate exactly one pair of the rule, where such objects exist."""
        held_out: Share = 0.1
        """Share of the rules that are held out from training; rules of one pair are never held out."""
        held_out_value: HeldOutValue = None
        """Hold out the rules that fix these values, shape=circle,color=red, or a list of such combinations, in place of
        a share."""
        images_per_batch: Count = 320
        """Number of images that the rounds of a batch share; each image is encoded once per batch."""
        candidates: CandidatePool = "all"
        """What distractors of rounds about held-out rules are drawn from. all: images of all rules. split: images that
        held-out rules are true of."""

    default_perceptions = ("conv_grid", "conv_grid")

    def __init__(self, options: Options, *, rounds: RoundSpec, sizes: RunSizes) -> None:
        names = [SHAPE_CONCEPTS[end - number : end] for end, number in zip(ENDS, NUM_VALUES, strict=True)]
        super().__init__(options, rounds, sizes, names)
        self.images_per_batch = options.images_per_batch
        for size in (sizes.batch_size, sizes.evaluation_batch_size):
            if (num_rules := self._num_rules(size)) < 2:
                raise ConfigError(
                    f"world.images_per_batch and training.batch_size: {options.images_per_batch} images and {size} "
                    f"rounds make {num_rules} rules of {self.num_targets} targets a batch, expected at least 2"
                )
        fewest = 2 if options.candidates == "split" else 1
        if len(self.rules_of_split["train"]) < 2 or len(self.rules_of_split["valid"]) < fewest:
            # With one rule there are no distractors.
            key = "held_out" if options.held_out_value is None else "held_out_value"
            raise ConfigError(
                f"world.{key}: {getattr(options, key)} of {len(self.table)} rules makes "
                f"{len(self.rules_of_split['train'])} for training and {len(self.rules_of_split['valid'])} for "
                f"evaluation, expected at least 2 and {fewest}"
            )

    def draw(self, split: str, number: int, size: int) -> Batch:
        """See `World`."""
        rng = np.random.default_rng([self.seed, *split.encode(), number])
        is_playable = False
        while not is_playable:
            rules, labels = self._labels(split, size, rng)
            of_rule = pairs_broken(labels, self.table[rules])
            first_distractor = len(rules) * self.num_targets % len(labels)
            is_playable = of_rule[:, first_distractor:].max(1).min() > 0
        turns = np.arange(size) % len(rules)
        num_broken = of_rule[turns]  # (batch, num_images)
        draws = rng.random(num_broken.shape)
        order, is_target = draws.argsort(1), num_broken == 0
        targets = _first(order, is_target, self.num_targets)
        if self.is_hard:
            order = (num_broken + draws).argsort(1)
        is_distractor = ~is_target & (np.arange(len(labels)) >= first_distractor)
        distractors = _first(order, is_distractor, self.num_distractors)
        used, places = each_once(targets, distractors)
        candidates = np.concatenate(places, axis=1)
        # Each batch has its own range of indices, so that batches of a split share no image.
        scenes = shape_scenes(self.seed, split, number * len(labels) + used, labels[used])
        return Batch(
            objects=self.objects_of(scenes),
            shown=candidates if self.rounds.sender_sees_all else candidates[:, : self.num_targets],
            num_positive=self.num_targets,
            candidates=candidates,
            labels=self.targets_first(size),
            values=labels[used],
            rules=rules[turns],
        )

    def _num_rules(self, size: int) -> int:
        """Number of rules in a batch of `size` rounds."""
        return min(self.images_per_batch // self.num_targets, size)

    def _labels(self, split: str, size: int, rng: np.random.Generator) -> tuple[Integers, Integers]:
        """The rules of a batch, and the labels of its images, (num_images, 4).

        The first images satisfy these rules. Where the rules are held out and distractors are of all rules, there are
        half as many rules, and images of others, from which alone distractors are drawn.
        """
        allowed, number = self.rules_of_split[split], self._num_rules(size)
        is_divided = self.num_distractors and self.subsets.pool(split) is not self.subsets.members.get(split)
        rules = np.resize(rng.permutation(allowed), number // 2 if is_divided else number)
        shown = rules
        if is_divided:
            others = np.resize(rng.permutation(len(self.table)), number - len(rules))
            shown = np.concatenate([rules, others])
        wanted = np.repeat(self.table[shown], self.num_targets, axis=0)
        labels = np.where(wanted == FREE, rng.integers(NUM_VALUES, size=wanted.shape), wanted)
        return rules, labels


def _first(order: Integers, is_in: NDArray[np.bool_], number: int) -> Integers:
    """The first `number` places in an order, (batch, num_images), that are in; where fewer are, these are repeated."""
    is_taken = np.take_along_axis(is_in, order, axis=1)
    num_taken = is_taken.sum(1)
    before = np.cumsum(num_taken) - num_taken
    first: Integers = order[is_taken][before[:, None] + np.arange(number) % num_taken[:, None]]
    return first
