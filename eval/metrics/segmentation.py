"""Harris's articulation scheme: words end where it becomes hard to tell what comes next.

Only the messages are looked at. After a stretch of symbols there are more or fewer symbols that may follow; inside a
word their uncertainty falls, and where it rises a word has ended (Harris, 1955; Tanaka-Ishii, 2005).
"""

import numpy as np
from numpy.typing import NDArray

from ecsuite.corpus import Ragged
from ecsuite.eval.statistics.contingency import counted, renumbered
from ecsuite.eval.statistics.counting import Ints

_NOISE = 1e-9
"""Bits below which a rise is rounding."""


def boundaries(messages: Ragged, threshold: float) -> NDArray[np.bool_]:
    """Where a segment begins inside a message: Ueda et al. (2023), https://arxiv.org/abs/2305.05939.

    The branching entropy h(s) of a stretch s is the entropy of the symbol after it, over all places in the corpus
    where s is followed by one. There is a boundary before position j of a message if, for any start i < j - 1,
    h(x_i … x_j-1) - h(x_i … x_j-2) exceeds the threshold. All starts count, the longest stretches too; a stretch
    that occurs once has entropy 0 and ends its start.

    Args:
        messages: Without EOS, dense ids.
        threshold: In bits.

    Returns:
        One a symbol, shape (num_values,): whether a segment begins there; False at the start of a message.
    """
    values = messages.values.astype(np.int64)
    num_symbols = int(values.max(initial=0)) + 1
    end_of_row = np.repeat(messages.offsets[1:], messages.lengths)
    begins = np.zeros(len(values), bool)
    start = np.flatnonzero(np.arange(len(values)) + 1 < end_of_row)  # stretches that something follows
    stretch, num_stretches, width = values[start], num_symbols, 1
    previous = np.full(len(start), np.inf)  # so that one symbol is never a rise
    while len(start):
        following = values[start + width]
        bound = num_stretches * num_symbols
        longer, originals = renumbered(stretch * num_symbols + following, bound)
        _, count = counted(longer, len(originals))
        entropy = _branching(originals // num_symbols, count, num_stretches)[stretch]
        begins[start[entropy - previous > threshold + _NOISE] + width] = True
        width += 1
        recurs = count > 1
        goes_on = np.flatnonzero(recurs[longer] & (start + width < end_of_row[start]))
        start, previous = start[goes_on], entropy[goes_on]
        stretch = (np.cumsum(recurs) - 1)[longer[goes_on]]
        num_stretches = int(recurs.sum())
    return begins


def segments(messages: Ragged, begins: NDArray[np.bool_]) -> Ragged:
    """Cut messages where segments begin; messages without a symbol have no segment.

    Args:
        messages: What was segmented.
        begins: As `boundaries` gives it.
    """
    starts = begins.copy()
    starts[messages.offsets[:-1][messages.lengths > 0]] = True
    places = np.flatnonzero(starts)
    return Ragged.from_lengths(messages.values, np.diff(places, append=len(messages.values)))


def _branching(stretch: Ints, count: Ints, num_stretches: int) -> NDArray[np.float64]:
    """The entropy in bits of what follows each stretch, shape (num_stretches,).

    Args:
        stretch: Of each different continuation, shape (num_continuations,).
        count: How often it occurs.
        num_stretches: How many stretches there are.
    """
    total = np.bincount(stretch, count, num_stretches)
    spent = np.bincount(stretch, count * np.log2(count), num_stretches)
    return np.log2(np.maximum(total, 1)) - spent / np.maximum(total, 1)
