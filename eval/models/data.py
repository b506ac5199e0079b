"""Windows of symbols for language models, from a corpus or a text."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ecsuite.runtime.ragged import Ragged

IGNORED = -100
"""Target of positions that are not scored."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Windows:
    """Windows of a stream of symbols, each with the symbols to predict."""

    symbols: Tensor
    """Integers, (num_windows, length + 1): inputs are all except the last, targets all except the first."""
    num_context: int = 0
    """Unscored targets at the start of each window after the first: the previous window scores them."""
    ignored: int | None = None
    """A symbol that is never scored as a target."""

    def __len__(self) -> int:
        return len(self.symbols)

    def to(self, device: torch.device) -> "Windows":
        """Copy to a device."""
        return replace(self, symbols=self.symbols.to(device))

    def take(self, index: Tensor) -> tuple[Tensor, Tensor]:
        """Inputs and targets of some windows, both (len(index), length)."""
        rows = self.symbols.index_select(0, index).long()
        targets = rows[:, 1:].clone()
        if self.num_context:
            targets[:, : self.num_context].masked_fill_((index != 0)[:, None], IGNORED)
        if self.ignored is not None:
            targets.masked_fill_(targets == self.ignored, IGNORED)
        return rows[:, :-1], targets


@dataclass(frozen=True, kw_only=True, slots=True)
class PretrainingData:
    """Pretraining data."""

    windows: Windows
    """Windows of the corpus, repeated or cut to size."""
    vocab_size: int
    """Vocabulary size of the model."""
    repeats: float
    """Size of an epoch divided by the size of the corpus."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Target:
    """Data of one target language."""

    vocab_size: int
    """Vocabulary size of the model."""
    tune: Windows
    """Fine-tuning data."""
    test: Windows
    """Held-out data."""
    repeats: float
    """Size of a fine-tuning epoch divided by the size of the text; above 1, the text was repeated."""


def shuffled(
    num_rows: int, batch: int, generator: torch.Generator, device: torch.device | None = None
) -> Sequence[Tensor]:
    """Batches of the row indices below `num_rows` in random order, on a device; the last batch may be smaller."""
    order = torch.randperm(num_rows, generator=generator)
    return list(torch.split(order if device is None else order.to(device), batch))


def gather(messages: Ragged, order: NDArray[np.int64]) -> NDArray[np.int32]:
    """Concatenate messages in the given order: symbols, (num_symbols,)."""
    lengths = messages.lengths[order]
    shifts = np.repeat(messages.offsets[order] - (np.cumsum(lengths) - lengths), lengths)
    gathered: NDArray[np.int32] = messages.values[shifts + np.arange(len(shifts))]
    return gathered


def repeat(messages: Ragged, length: int, rng: np.random.Generator) -> NDArray[np.int32]:
    """Concatenate all messages repeatedly, in a new random order each time, and cut at `length`.

    Args:
        messages: Messages with at least one symbol in total.
        length: Number of symbols of the result.
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
        The symbols with their new ids, same shape, and the number of types.
    """
    types, numbered = np.unique(symbols, return_inverse=True)
    return numbered.astype(np.int64), len(types)


def stretches(symbols: NDArray[np.integer], length: int, stride: int) -> Tensor:
    """Cut a stream into windows that begin every `stride` symbols; an incomplete last window is dropped.

    Returns:
        int32, (num_stretches, length).
    """
    return torch.from_numpy(symbols.astype(np.int32)).unfold(0, length, stride)
