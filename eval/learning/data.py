"""From a corpus or a text to the windows of symbols that the model reads."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ecsuite.corpus import Ragged

IGNORED = -100
"""The target of a place that is not scored."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Windows:
    """Stretches of a stream of symbols, each with the symbols to predict."""

    symbols: Tensor
    """Integers, (num_windows, length + 1): each symbol but the last is read, each but the first predicted."""
    num_context: int = 0
    """So many predictions of each window but the first are not scored: the window before has scored them."""
    ignored: int | None = None
    """A symbol that is never predicted."""

    def __len__(self) -> int:
        return len(self.symbols)

    @property
    def num_tokens(self) -> int:
        """Symbols that are read in a pass."""
        return len(self.symbols) * (self.symbols.shape[1] - 1)

    def to(self, device: torch.device) -> "Windows":
        """The same on a device."""
        return Windows(symbols=self.symbols.to(device), num_context=self.num_context, ignored=self.ignored)

    def take(self, index: Tensor) -> tuple[Tensor, Tensor]:
        """What is read and what is predicted in some windows, both (len(index), length)."""
        rows = self.symbols[index].long()
        targets = rows[:, 1:].clone()
        if self.num_context:
            targets[index != 0, : self.num_context] = IGNORED
        if self.ignored is not None:
            targets[targets == self.ignored] = IGNORED
        return rows[:, :-1], targets

    def shuffled(self, batch: int, num_epochs: int, generator: torch.Generator) -> Iterator[Tensor]:
        """Places of all windows in a new random order each epoch, `batch` at a time, the rest by itself."""
        for _ in range(num_epochs):
            yield from torch.split(torch.randperm(len(self), generator=generator), batch)


@dataclass(frozen=True, kw_only=True, slots=True)
class Source:
    """What to pretrain on."""

    windows: Windows
    """The corpus, repeated or cut to size."""
    vocab_size: int
    """Symbols of the model."""
    repeats: float
    """How often the corpus goes into what is read in an epoch."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Target:
    """One language's data."""

    vocab_size: int
    """Symbols of the model."""
    tune: Windows
    """To tune on."""
    test: Windows
    """Held out."""
    repeats: float
    """How often the text for tuning goes into what is read in an epoch; over 1 it was too short."""


def gather(messages: Ragged, order: NDArray[np.int64]) -> NDArray[np.int32]:
    """Messages one after another, in an order: symbols, (num_symbols,)."""
    lengths = messages.lengths[order]
    shifts = np.repeat(messages.offsets[order] - (np.cumsum(lengths) - lengths), lengths)
    gathered: NDArray[np.int32] = messages.values[shifts + np.arange(len(shifts))]
    return gathered


def repeat(messages: Ragged, length: int, rng: np.random.Generator) -> NDArray[np.int32]:
    """Concatenate whole messages, all of them in a new random order each time round, and cut at `length`.

    Args:
        messages: What was said; at least one symbol.
        length: How many symbols are wanted.
        rng: Draws the orders.

    Returns:
        Symbols, shape (length,).
    """
    assert len(messages.values) > 0, "an empty corpus cannot be repeated"
    pieces: list[NDArray[np.int32]] = []
    missing = length
    while missing > 0:
        order = rng.permutation(len(messages))
        ends = np.cumsum(messages.lengths[order])
        pieces.append(gather(messages, order[: int(np.searchsorted(ends, missing)) + 1]))
        missing -= len(pieces[-1])
    return np.concatenate(pieces)[:length]


def dense(symbols: NDArray[np.int32]) -> tuple[NDArray[np.int64], int]:
    """Number the symbols that occur 0, 1, 2 … in the order of their ids.

    Returns:
        The symbols under their new ids, same shape, and how many types there are.
    """
    types, numbered = np.unique(symbols, return_inverse=True)
    return numbered.astype(np.int64), len(types)


def stretches(symbols: NDArray[np.integer], length: int, stride: int) -> Tensor:
    """Cut a stream into stretches that begin every `stride` symbols; what is left at the end is dropped.

    Returns:
        int32, (num_stretches, length).
    """
    return torch.from_numpy(symbols.astype(np.int32)).unfold(0, length, stride)
