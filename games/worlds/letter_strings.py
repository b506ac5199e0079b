"""Strings of two letters, a^m b^n: whether both letters are equally many is asked in EGG's game of summation."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from ecsuite.games.worlds.splits import CandidatePool, HeldOutValue
from ecsuite.games.worlds.unequal_attributes import UnequalAttributesWorld, few_combinations
from ecsuite.games.worlds.world import RoundSpec, RunSizes
from ecsuite.parts.config import Levels, Natural, Share
from ecsuite.runtime.errors import ConfigError

NUM_LETTERS = 2


class LetterStringsWorld(UnequalAttributesWorld):
    """All strings a^m b^n with m and n from 1 to a maximum; the attributes of a string are m and n.

    An agent sees a string letter by letter: each letter is one-hot, and after the last one there are zeros. The
    perception `recurrent` reads it in this order. The corpus has each string once.

    Raises:
        ConfigError: If no string, or every one, would have equally many letters of both kinds.
    """

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options:
        """Options of the world."""

        max_count: Levels = 10
        """Most letters of a kind: a string has up to twice as many."""
        share_equal: Share = 0.5
        """Share of the targets with equally many letters of both kinds; within both groups all are equally likely."""
        held_out_value: HeldOutValue = None
        """Hold out these strings, a=3,b=3, or a list of such combinations, from training; evaluations are then about
        them."""
        candidates: CandidatePool = "all"
        """What candidates of held-out rounds are drawn from: all strings, or split, held-out ones alone."""
        shared_values: Natural | None = None
        """Counts that each distractor has in common with the target, and no more; null: any distractors."""

    def __init__(self, options: Options, *, rounds: RoundSpec, sizes: RunSizes) -> None:
        if not 0 < options.share_equal < 1:
            raise ConfigError(
                f"world.share_equal: expected a number between 0 and 1, got {options.share_equal}"
            )
        super(UnequalAttributesWorld, self).__init__(rounds, sizes)
        counts = range(1, options.max_count + 1)
        names = [[f"{letter}={count}" for count in counts] for letter in "ab"]
        objects = few_combinations((options.max_count,) * NUM_LETTERS, names)
        first, second = objects.all_values().T
        is_equal = first == second
        probabilities = np.where(
            is_equal,
            options.share_equal / is_equal.sum(),
            (1 - options.share_equal) / (~is_equal).sum(),
        )
        self.take_by_frequency(objects, probabilities, options)
        self.longest = NUM_LETTERS * options.max_count
        self.object_shape = (self.longest * NUM_LETTERS,)

    def features(self, objects: Tensor, dtype: torch.dtype) -> Tensor:
        """Counts less 1, (num_objects, 2), to the letters, one-hot and one after the other. See `World`."""
        first, second = (objects + 1).unbind(-1)
        places = torch.arange(self.longest, device=objects.device)
        is_first = places < first[:, None]
        is_second = (places < (first + second)[:, None]) & ~is_first
        return torch.stack([is_first, is_second], dim=-1).flatten(1).to(dtype)
