"""Symbols at each position of the messages, and the attributes for position-based metrics."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecsuite.corpus import Corpus
from ecsuite.eval.statistics.counting import Ints, narrow_attributes, narrow_content
from ecsuite.eval.statistics.kept import once

BLANK = 0
"""Code of the positions after the end of a message."""
CONSTANT_ATTRIBUTES = "every attribute is constant over all messages"
"""Reason why a metric that compares meanings is undefined."""


@once
def position_columns(corpus: Corpus) -> NDArray[np.integer[Any]]:
    """The symbol at each position of each message, without EOS, as codes from 1; `BLANK` after the end.

    Returns:
        Codes in the smallest type, so not to be calculated with or changed, shape (num_positions, num_messages);
        num_positions is the length of the longest message.
    """
    content, symbols = narrow_content(corpus).reindexed()
    lengths, starts = content.lengths, content.offsets[:-1]
    narrow = np.min_scalar_type(len(symbols))
    columns = np.full((int(lengths.max(initial=0)), len(content)), BLANK, narrow)
    for position, column in enumerate(columns):
        is_present = lengths > position
        column[is_present] = content.values[starts[is_present] + position]
        column[is_present] += narrow.type(1)
    return columns


def attributes_or_reason(corpus: Corpus) -> Ints | str:
    """The attribute values, coded by `attribute_codes`, or the reason why position-based metrics are undefined."""
    columns = attribute_columns_or_reason(corpus)
    return columns if isinstance(columns, str) else columns.T.astype(np.int64)


def attribute_columns_or_reason(corpus: Corpus) -> NDArray[np.integer[Any]] | str:
    """The same in the smallest type, so not to be calculated with, shape (num_attributes, num_messages)."""
    if corpus.meanings is None:
        return corpus.why_no_meanings
    columns = narrow_attributes(corpus)
    if columns is None:
        return "features are not attribute values"
    if not narrow_content(corpus).lengths.any():
        return "every message is empty"
    return columns
