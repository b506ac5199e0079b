"""Text infilling, the noise of BART: each masked span of a text is replaced by one mask token.

Lewis et al. (2020), section 2.2: 30 % of the symbols are masked, in spans with lengths from Poisson(3); a span of
length 0 inserts a mask without removing a symbol.
"""

import numpy as np
from numpy.typing import NDArray

MASK_RATIO = 0.3
MEAN_SPAN = 3.0

Integers = NDArray[np.int64]


def infill(blocks: Integers, *, mask: int, pad: int, rng: np.random.Generator) -> tuple[Integers, Integers]:
    """Mask spans of blocks, the same number of symbols in each block.

    A block is a sequence of slots in random order: one for each remaining symbol and one for each span. So all
    placements of the spans are equally likely, and spans cannot overlap.

    Args:
        blocks: Symbols, shape (batch, block).
        mask: Id of the mask token.
        pad: Id of the padding token.
        rng: Draws the spans and their positions.

    Returns:
        The remaining symbols and one mask per span, with padding at the end, shape (batch, longest); and the lengths
        of the rows without padding, shape (batch,).
    """
    batch, block = blocks.shape
    num_masked = round(MASK_RATIO * block)
    spans = span_lengths(batch, num_masked, rng)  # (batch, num_masked), -1 where there is no span
    num_kept = block - num_masked
    order = rng.random((batch, num_kept + num_masked)).argsort(1)
    slots = np.concatenate([np.ones((batch, num_kept), dtype=np.int64), spans], 1)
    # (batch, block): number of symbols of the text in each slot
    lengths = np.take_along_axis(slots, order, 1)
    is_span = order >= num_kept
    is_used = lengths >= 0
    lengths = np.where(is_used, lengths, 0)
    ends = lengths.cumsum(1)
    begins = ends - lengths
    # A slot of length 0 may begin at the end of the text; its content is a mask, so the value read is not used.
    read_symbols = np.take_along_axis(blocks, np.minimum(begins, block - 1), 1)
    filled = np.where(is_span, mask, read_symbols)
    to_front = np.argsort(~is_used, 1, kind="stable")
    num_used = is_used.sum(1)
    longest = int(num_used.max(initial=0))
    symbols = np.take_along_axis(np.where(is_used, filled, pad), to_front, 1)[:, :longest]
    return symbols, num_used


def span_lengths(batch: int, num_masked: int, rng: np.random.Generator) -> Integers:
    """Lengths of spans that sum to `num_masked` symbols in each row; the last span is cut to fit.

    Returns:
        Lengths, shape (batch, num_masked); rows with fewer spans are padded with -1.
    """
    lengths = rng.poisson(MEAN_SPAN, (batch, num_masked)).astype(np.int64)
    if num_masked == 0:
        return lengths
    lengths[:, -1] = num_masked  # a row of very short spans ends with a long one
    before = lengths.cumsum(1) - lengths
    return np.where(before < num_masked, np.minimum(lengths, num_masked - before), -1)
