"""Text infilling, BART's noise: spans of a text become one mask each, and the model restores the text.

Lewis et al. (2020), section 2.2: 30 % of the symbols are masked, in spans whose lengths are Poisson (3); a span of
length 0 puts a mask where nothing is missing.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

MASK_RATIO = 0.3
MEAN_SPAN = 3.0

Integers = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True, slots=True)
class Infilled:
    """Blocks with spans taken out."""

    symbols: Integers
    """What is left, with a mask for each span, filled up with padding, shape (batch, longest)."""
    lengths: Integers
    """How many of `symbols` are no padding, shape (batch,)."""
    is_masked: NDArray[np.bool_]
    """Which of the original symbols were taken out, shape (batch, block)."""


def infill(blocks: Integers, *, mask: int, pad: int, rng: np.random.Generator) -> Infilled:
    """Take spans out of blocks, exactly the same share of each.

    A block is laid out anew as slots in random order: one for each symbol that stays and one for each span, so every
    way to place the spans is equally likely, and they can't overlap.

    Args:
        blocks: Symbols, shape (batch, block).
        mask: The id that stands for a span.
        pad: The id of padding.
        rng: Draws the spans and their places.
    """
    batch, block = blocks.shape
    num_masked = round(MASK_RATIO * block)
    spans = span_lengths(batch, num_masked, rng)  # (batch, num_masked), -1 where there is no span
    num_kept = block - num_masked
    order = rng.random((batch, num_kept + num_masked)).argsort(1)
    slots = np.concatenate([np.ones((batch, num_kept), dtype=np.int64), spans], 1)
    lengths = np.take_along_axis(
        slots, order, 1
    )  # (batch, block): symbols of the text that a slot stands for
    is_span = order >= num_kept
    is_used = lengths >= 0
    lengths = np.where(is_used, lengths, 0)
    ends = lengths.cumsum(1)
    begins = ends - lengths
    # A slot of length 0 may begin where the text ends; there is a mask in it, whatever would be read.
    read = np.take_along_axis(blocks, np.minimum(begins, block - 1), 1)
    laid = np.where(is_span, mask, read)
    to_front = np.argsort(~is_used, 1, kind="stable")
    num_used = is_used.sum(1)
    longest = int(num_used.max(initial=0))
    symbols = np.take_along_axis(np.where(is_used, laid, pad), to_front, 1)[:, :longest]
    is_masked = np.ones((batch, block), dtype=bool)
    rows, columns = np.nonzero(~is_span)
    is_masked[rows, begins[rows, columns]] = False
    return Infilled(symbols=symbols, lengths=num_used, is_masked=is_masked)


def span_lengths(batch: int, num_masked: int, rng: np.random.Generator) -> Integers:
    """Lengths of spans that come to `num_masked` symbols in each row; the last span is cut to fit.

    Returns:
        Lengths, shape (batch, num_masked); -1 fills up rows of fewer spans.
    """
    lengths = rng.poisson(MEAN_SPAN, (batch, num_masked)).astype(np.int64)
    if num_masked == 0:
        return lengths
    lengths[:, -1] = num_masked  # a row of very short spans ends with a long one
    before = lengths.cumsum(1) - lengths
    return np.where(before < num_masked, np.minimum(lengths, num_masked - before), -1)
