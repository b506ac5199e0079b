"""The THING world (Carmeli et al. 2024, appendix B): objects of attribute values, in sets defined by a rule."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ecsuite.games.worlds.objects import Product
from ecsuite.games.worlds.rules import ConjunctionWorld
from ecsuite.games.worlds.splits import HeldOutValue
from ecsuite.games.worlds.world import FREE, Batch, Integers, RoundSpec, RunSizes, one_hot
from ecsuite.parts.config import Count, Levels, Share
from ecsuite.runtime.randomness import distinct_draws, random_words


class ThingWorld(ConjunctionWorld):
    """All combinations of `num_attributes` attributes of `num_values` values: 100 000 objects in the paper.

    Targets are drawn without replacement from the objects that satisfy the rule. Where these are fewer than targets
    (in the paper's size, a rule of four pairs has ten objects, one of five has one), all of them are repeated as
    equally often as possible. Distractors are drawn with replacement from all objects that violate the rule or, if
    they are hard, from those that violate exactly one of its pairs.

    Raises:
        ConfigError: If a rule fixes more attributes than there are, or 63-bit indices can't number all objects.
    """

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options:
        """Options of the world."""

        num_attributes: Count = 4
        """Number of attributes of an object."""
        num_values: Levels = 4
        """Number of values of each attribute."""
        rule_length: Count = 1
        """Number of pairs of attribute and value that a rule joins by `and`."""
        distractors: Literal["random", "hard"] = "random"
        """Hard distractors violate exactly one pair of the rule, where such objects exist."""
        held_out: Share = 0.1
        """Share of the rules that are held out from training; rules of one pair are never held out."""
        held_out_value: HeldOutValue = None
        """Hold out the rules that fix these values, attribute0=1,attribute2=3, or a list of such combinations, in
        place of a share."""

    def __init__(self, options: Options, *, rounds: RoundSpec, sizes: RunSizes) -> None:
        objects = Product((options.num_values,) * options.num_attributes)
        super().__init__(options, rounds, sizes, objects.names)
        self.num_attributes, self.values_per_attribute = options.num_attributes, options.num_values
        self.length = options.rule_length
        self.fixed = Product((options.num_values,) * self.length)
        """The combinations of values of the attributes that a rule fixes."""
        self.free = Product((options.num_values,) * (options.num_attributes - self.length))
        """Those of the other attributes."""
        self.object_shape = (options.num_attributes * options.num_values,)

    def draw(self, split: str, number: int, size: int) -> Batch:
        """See `World`."""
        num_distractors = self.num_distractors
        indices = np.arange(number * size, (number + 1) * size)
        words = random_words(self.seed, split, indices, 1 + 2 * self.num_targets + 4 * num_distractors)
        allowed = self.rules_of_split[split]
        rules = allowed[(words[:, 0] % np.uint64(len(allowed))).astype(np.int64)]
        fixed = (
            np.flatnonzero(self.table[rules].ravel() != FREE).reshape(size, self.length) % self.num_attributes
        )
        free = np.flatnonzero(self.table[rules].ravel() == FREE).reshape(size, -1) % self.num_attributes
        wanted = np.take_along_axis(self.table[rules], fixed, axis=1)  # (batch, length)

        targets = self._targets(words[:, 1 : 1 + 2 * self.num_targets])
        broken, rest = self._distractors(words[:, 1 + 2 * self.num_targets :], wanted)
        num_shown, num_both = self.num_targets, self.num_targets + num_distractors
        objects = np.empty((size, num_both, self.num_attributes), dtype=np.int64)
        values = np.broadcast_to(wanted[:, None], (size, num_shown, self.length))
        _place(objects[:, :num_shown], fixed, values)
        _place(objects[:, :num_shown], free, self.free.values(targets))
        _place(objects[:, num_shown:], fixed, broken)
        _place(objects[:, num_shown:], free, self.free.values(rest))
        places = np.arange(size * num_both).reshape(size, num_both)
        flat = objects.reshape(size * num_both, self.num_attributes)
        return Batch(
            objects=flat,
            shown=places if self.rounds.sender_sees_all else places[:, :num_shown],
            num_positive=num_shown,
            candidates=None,
            labels=self.targets_first(size),
            values=flat,
            rules=rules,
        )

    def features(self, objects: Tensor, dtype: torch.dtype) -> Tensor:
        """One-hot attribute values, concatenated. See `World`."""
        return one_hot(objects, self.values_per_attribute, dtype)

    def _targets(self, words: NDArray[np.uint64]) -> Integers:
        """The combination of free values of each target by its number, (batch, num_targets)."""
        num_matching = self.free.number
        if num_matching >= self.num_targets:
            return distinct_draws(words[:, : self.num_targets], num_matching)
        first = (words[:, :1] % np.uint64(num_matching)).astype(np.int64)
        repeated: Integers = (first + np.arange(self.num_targets)) % num_matching
        return repeated

    def _distractors(self, words: NDArray[np.uint64], wanted: Integers) -> tuple[Integers, Integers]:
        """Values of the fixed attributes, (batch, num_distractors, length), and the combination of free ones."""
        first, second, third, fourth = np.split(words, 4, axis=1)
        rest = (fourth % np.uint64(self.free.number)).astype(np.int64)
        if self.is_hard:
            place = (first % np.uint64(self.length)).astype(np.int64)[..., None]
            shift = 1 + (second % np.uint64(self.values_per_attribute - 1)).astype(np.int64)[..., None]
            values = np.repeat(wanted[:, None], first.shape[1], axis=1)
            moved = (np.take_along_axis(values, place, axis=2) + shift) % self.values_per_attribute
            np.put_along_axis(values, place, moved, axis=2)
            return values, rest
        # Shifting the rule's number by 1 to n - 1 gives every other with equal probability, never the rule's own.
        shift = 1 + (third % np.uint64(self.fixed.number - 1)).astype(np.int64)
        numbers = (self.fixed.numbers(wanted)[:, None] + shift) % self.fixed.number
        return self.fixed.values(numbers), rest


def _place(objects: Integers, attributes: Integers, values: Integers) -> None:
    """Write values (batch, n, k) into attributes (batch, k) of objects (batch, n, num_attributes)."""
    np.put_along_axis(objects, np.broadcast_to(attributes[:, None], values.shape), values, axis=2)
