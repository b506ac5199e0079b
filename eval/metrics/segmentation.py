"""Harris's articulation scheme: words end where the entropy of the next symbol increases.

Only the messages are used, not the meanings. Within a word the entropy of the next symbol decreases with the number of
previous symbols; an increase indicates the end of a word (Harris, 1955; Tanaka-Ishii, 2005).
"""

import numpy as np
from numpy.typing import NDArray

from ecsuite.corpus import Ragged
from ecsuite.eval.statistics.contingency import counted, renumbered
from ecsuite.eval.statistics.counting import Ints

_NOISE = 1e-9
"""Increases below this, in bits, are rounding errors."""


def boundaries(messages: Ragged, threshold: float) -> NDArray[np.bool_]:
    """Segment boundaries inside messages: Ueda et al. (2023), https://arxiv.org/abs/2305.05939.

    The branching entropy h(s) of a substring s is the entropy of the next symbol over all occurrences of s in the
    corpus that are followed by a symbol. There is a boundary before position j of a message if, for any start
    i < j - 1, h(x_i … x_j-1) - h(x_i … x_j-2) exceeds the threshold. All starts and all lengths are used; a substring
    that occurs once has entropy 0, so longer substrings from the same start need not be considered.

    Args:
        messages: Messages without EOS, with dense ids.
        threshold: Threshold in bits.

    Returns:
        Whether a segment begins at each symbol, shape (num_values,); False at the start of a message.
    """
    values = messages.values.astype(np.int64)
    num_symbols = int(values.max(initial=0)) + 1
    end_of_row = np.repeat(messages.offsets[1:], messages.lengths)
    begins = np.zeros(len(values), bool)
    start = np.flatnonzero(np.arange(len(values)) + 1 < end_of_row)  # followed by a symbol
    substring, num_substrings, width = values[start], num_symbols, 1
    previous = np.full(len(start), np.inf)  # so that a substring of one symbol is never an increase
    while len(start):
        following = values[start + width]
        bound = num_substrings * num_symbols
        longer, originals = renumbered(substring * num_symbols + following, bound)
        _, count = counted(longer, len(originals))
        entropy = _branching(originals // num_symbols, count, num_substrings)[substring]
        begins[start[entropy - previous > threshold + _NOISE] + width] = True
        width += 1
        recurs = count > 1
        goes_on = np.flatnonzero(recurs[longer] & (start + width < end_of_row[start]))
        start, previous = start[goes_on], entropy[goes_on]
        substring = (np.cumsum(recurs) - 1)[longer[goes_on]]
        num_substrings = int(recurs.sum())
    return begins


def segments(messages: Ragged, begins: NDArray[np.bool_]) -> Ragged:
    """Cut messages into segments; empty messages have none.

    Args:
        messages: The messages.
        begins: The result of `boundaries`.
    """
    starts = begins.copy()
    starts[messages.offsets[:-1][messages.lengths > 0]] = True
    places = np.flatnonzero(starts)
    return Ragged.from_lengths(messages.values, np.diff(places, append=len(messages.values)))


def _branching(substring: Ints, count: Ints, num_substrings: int) -> NDArray[np.float64]:
    """Branching entropy of each substring in bits, from the substring and the count of each continuation."""
    total = np.bincount(substring, count, num_substrings)
    spent = np.bincount(substring, count * np.log2(count), num_substrings)
    return np.log2(np.maximum(total, 1)) - spent / np.maximum(total, 1)
