"""Symbols at each position of the messages, and the attributes for position-based metrics."""

import numpy as np

from ecsuite.corpus import Corpus
from ecsuite.eval.statistics.counting import Ints, attribute_codes

BLANK = 0
"""Code of the positions after the end of a message."""
CONSTANT_ATTRIBUTES = "every attribute is constant over all messages"
"""Reason why a metric that compares meanings is undefined."""


def position_columns(corpus: Corpus) -> Ints:
    """The symbol at each position of each message, without EOS, as codes from 1; `BLANK` after the end.

    Returns:
        Codes, shape (num_positions, num_messages); num_positions is the length of the longest message.
    """
    content, _ = corpus.reindexed()
    lengths, starts = content.lengths, content.offsets[:-1]
    columns = np.full((int(lengths.max(initial=0)), len(content)), BLANK, np.int64)
    for position, column in enumerate(columns):
        is_present = lengths > position
        column[is_present] = content.values[starts[is_present] + position] + 1
    return columns


def attributes_or_reason(corpus: Corpus) -> Ints | str:
    """The attribute values, coded by `attribute_codes`, or the reason why position-based metrics are undefined."""
    if corpus.meanings is None:
        return corpus.why_no_meanings
    attributes = attribute_codes(corpus)
    if attributes is None:
        return "features are not attribute values"
    return attributes if corpus.content().lengths.any() else "every message is empty"
