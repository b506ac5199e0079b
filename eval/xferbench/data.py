"""From a corpus or a text to the windows of symbols that the model reads."""

from collections.abc import Iterator

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ecsuite.corpus import Ragged


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
        num_needed = int(np.searchsorted(ends, missing)) + 1
        order, ends = order[:num_needed], ends[:num_needed]
        lengths = messages.lengths[order]
        shifts = np.repeat(messages.offsets[order] - (ends - lengths), lengths)
        pieces.append(messages.values[shifts + np.arange(len(shifts))])
        missing -= len(shifts)
    return np.concatenate(pieces)[:length]


def dense(symbols: NDArray[np.int32]) -> tuple[NDArray[np.int64], int]:
    """Number the symbols that occur 0, 1, 2 … in the order of their ids.

    Returns:
        The symbols under their new ids, same shape, and how many types there are.
    """
    types, numbered = np.unique(symbols, return_inverse=True)
    return numbered.astype(np.int64), len(types)


def windows(symbols: NDArray[np.int64], context: int) -> Tensor:
    """Cut a stream into windows of `context` symbols and the one that follows.

    Neighbours share a symbol, the last target of one being the first input of the next, so that every
    symbol but the first is a target exactly once; what is left at the end, less than a window, is dropped.

    Returns:
        Windows, shape (num_windows, context + 1).
    """
    num_windows = (len(symbols) - 1) // context
    return torch.from_numpy(symbols[: num_windows * context + 1]).unfold(0, context + 1, context)


def batches(data: Tensor, batch: int, num_epochs: int, generator: torch.Generator) -> Iterator[Tensor]:
    """All windows in a new random order each epoch, `batch` at a time, the rest of an epoch by itself."""
    for _ in range(num_epochs):
        for index in torch.split(torch.randperm(len(data), generator=generator), batch):
            yield data[index]
