"""The training batches of one language; a deterministic function of the seed."""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ecsuite.grammars.geometry import Geometry
from ecsuite.grammars.icy import language, majority_accuracy
from ecsuite.runtime.randomness import random_words

BLOCK = 64
"""Number of batches that are drawn at once."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Run:
    """One training run: a language, and its limit of updates."""

    grammar: str
    seed: int
    cap: int | None = None
    """Maximum number of updates; None: the run ends only at the target."""


class LanguageDataset:
    """The batches of a run. Batches of one seed have the same meanings in all languages.

    Args:
        run: Grammar and seed of the language.
        geometry: Sizes of the language.
        batch_size: Number of meanings in a batch, drawn uniformly and independently.
        held_out: Fraction of meanings held out from training; the seed selects them, the same for all grammars.
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
        """Batches from number * BLOCK: meanings (BLOCK, attributes, batch), messages (BLOCK, length, batch)."""
        return self.examples(self.draw(number))

    def draw(self, number: int) -> NDArray[np.int64]:
        """The numbers of the meanings of these batches, (BLOCK, batch)."""
        places = np.arange(number * BLOCK, (number + 1) * BLOCK) * self.batch_size
        indices = (places[:, None] + np.arange(self.batch_size)).ravel()
        words = random_words(self.seed, "icy", indices, 1)[:, 0] % np.uint64(len(self.train))
        return self.train[words.astype(np.int64)].reshape(BLOCK, self.batch_size)

    def examples(self, chosen: NDArray[np.int64]) -> tuple[Tensor, Tensor]:
        """Meanings (batches, attributes, batch), messages (batches, length, batch) of ids (batches, batch)."""
        weights = self.geometry.num_values ** np.arange(self.geometry.num_attributes)[::-1]
        meanings = chosen[:, None] // weights[:, None] % self.geometry.num_values
        messages = self.messages[chosen].transpose(0, 2, 1).astype(np.int64)
        return torch.from_numpy(meanings), torch.from_numpy(messages)
