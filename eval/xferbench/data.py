"""From a corpus or a text to the windows of symbols that the model reads."""

from collections.abc import Iterator

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ecsuite.corpus import Corpus


def dense(corpus: Corpus) -> tuple[NDArray[np.int64], int]:
    """Number the symbols that occur 0, 1, 2 … in the order of their ids.

    Returns:
        All symbols of the corpus end to end under their new ids, shape (num_symbols,), and how many types
        there are.
    """
    types, symbols = np.unique(corpus.messages.values, return_inverse=True)
    return symbols.astype(np.int64), len(types)


def repeat(
    symbols: NDArray[np.int64], offsets: NDArray[np.int64], length: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Concatenate whole messages, all of them in a new random order each time round, and cut at `length`.

    Args:
        symbols: All messages end to end, shape (num_symbols,).
        offsets: Where each message begins, and the end, shape (num_messages + 1,).
        length: How many symbols are wanted; at least one symbol must exist.
        rng: Draws the orders.

    Returns:
        Symbols, shape (length,).
    """
    assert len(symbols) > 0, "an empty corpus cannot be repeated"
    lengths = np.diff(offsets)
    rounds: list[NDArray[np.int64]] = []
    for _ in range(-(-length // len(symbols))):
        order = rng.permutation(len(lengths))
        ends = np.cumsum(lengths[order])
        starts = np.repeat(offsets[order] - (ends - lengths[order]), lengths[order])
        rounds.append(symbols[starts + np.arange(len(symbols))])
    return np.concatenate(rounds)[:length]


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
