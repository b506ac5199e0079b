"""A course: one language to learn, and the batches that teach it, all of it a function of the seed."""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ecsuite.games.worlds import random_words
from ecsuite.grammars.geometry import Geometry
from ecsuite.grammars.icy import language, majority_accuracy

BLOCK = 64
"""Batches that are drawn at once."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Run:
    """One language to learn."""

    grammar: str
    seed: int
    cap: int | None = None
    """Most updates; None for no end but the target."""


class Course:
    """The batches of a run. Batches of one seed have the same meanings in all languages.

    Args:
        run: What to learn.
        geometry: Of the language.
        batch_size: Meanings in a batch, drawn uniformly and independently.
        held_out: Share of meanings never to train on; which ones is the seed's choice, the same for all languages.
    """

    def __init__(self, run: Run, geometry: Geometry, *, batch_size: int, held_out: float) -> None:
        made = language(run.grammar, geometry, run.seed)
        self.seed, self.batch_size = run.seed, batch_size
        self.signature = made.signature
        self.floor = majority_accuracy(made.messages)
        self.messages = torch.from_numpy(made.messages.astype(np.int64))  # (num_meanings, message_length)
        self.meanings = torch.from_numpy(made.meanings)  # (num_meanings, num_attributes)
        order = np.arange(len(made.messages))
        if held_out:
            order = np.random.default_rng([run.seed, *b"held-out"]).permutation(order)
        num_held_out = round(held_out * len(order))
        self.train = np.sort(order[num_held_out:])
        self.held_out = torch.from_numpy(np.sort(order[:num_held_out]))
        self._block: tuple[int, Tensor] = (-1, torch.zeros(0))

    def batch(self, number: int) -> Tensor:
        """Which meanings batch `number` has, (batch,)."""
        block, place = divmod(number, BLOCK)
        if block != self._block[0]:
            self._block = (block, torch.from_numpy(self._draw(block)))
        return self._block[1][place]

    def _draw(self, block: int) -> NDArray[np.int64]:
        """The meanings of a block of batches, (BLOCK, batch)."""
        places = np.arange(block * BLOCK, (block + 1) * BLOCK) * self.batch_size
        indices = (places[:, None] + np.arange(self.batch_size)).ravel()
        words = random_words(self.seed, "icy", indices, 1)[:, 0] % np.uint64(len(self.train))
        drawn: NDArray[np.int64] = self.train[words.astype(np.int64)].reshape(BLOCK, self.batch_size)
        return drawn
