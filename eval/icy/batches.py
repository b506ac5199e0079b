"""A course: one language to learn, and the batches that teach it, all of it a function of the seed."""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ecsuite.grammars.geometry import Geometry
from ecsuite.grammars.icy import language, majority_accuracy
from ecsuite.randomness import random_words

BLOCK = 64
"""Batches that are drawn at once."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Run:
    """One language to learn."""

    grammar: str
    seed: int
    cap: int | None = None
    """Most updates; None for no end but the target."""


class LanguageDataset:
    """The batches of a run. Batches of one seed have the same meanings in all languages.

    Args:
        run: What to learn.
        geometry: Of the language.
        batch_size: Meanings in a batch, drawn uniformly and independently of each other.
        held_out: Share of meanings never to train on; which ones is the seed's choice, the same for all languages.
    """

    def __init__(self, run: Run, geometry: Geometry, *, batch_size: int, held_out: float) -> None:
        made = language(run.grammar, geometry, run.seed)
        self.seed, self.batch_size, self.geometry = run.seed, batch_size, geometry
        self.floor = majority_accuracy(made.messages)
        self.messages = made.messages  # (num_meanings, message_length)
        order = np.arange(len(made.messages))
        if held_out:
            order = np.random.default_rng([run.seed, *b"held-out"]).permutation(order)
        num_held_out = round(held_out * len(order))
        self.train = np.sort(order[num_held_out:])
        self.held_out = np.sort(order[:num_held_out])

    def block(self, number: int) -> tuple[Tensor, Tensor]:
        """The batches number * BLOCK and on: meanings (BLOCK, attributes, batch), messages (BLOCK, length, batch)."""
        places = np.arange(number * BLOCK, (number + 1) * BLOCK) * self.batch_size
        indices = (places[:, None] + np.arange(self.batch_size)).ravel()
        words = random_words(self.seed, "icy", indices, 1)[:, 0] % np.uint64(len(self.train))
        return self.examples(self.train[words.astype(np.int64)].reshape(BLOCK, self.batch_size))

    def examples(self, chosen: NDArray[np.int64]) -> tuple[Tensor, Tensor]:
        """Meanings (batches, attributes, batch) and messages (batches, length, batch) of indices (batches, batch)."""
        weights = self.geometry.num_values ** np.arange(self.geometry.num_attributes)[::-1]
        meanings = chosen[:, None] // weights[:, None] % self.geometry.num_values
        messages = self.messages[chosen].transpose(0, 2, 1).astype(np.int64)
        return torch.from_numpy(meanings), torch.from_numpy(messages)
