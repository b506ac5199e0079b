"""What stands at each position of the messages, and whether messages can be asked position by position."""

import numpy as np

from ecsuite.corpus import Corpus
from ecsuite.eval.statistics.counting import Ints, attribute_codes

BLANK = 0
"""Stands beyond the end of a message."""


def position_columns(corpus: Corpus) -> Ints:
    """The symbol at each position of each message, without EOS, as codes from 1; beyond the end, `BLANK`.

    Returns:
        Codes, shape (num_positions, num_messages); there are as many positions as the longest message has.
    """
    content, _ = corpus.reindexed()
    lengths, starts = content.lengths, content.offsets[:-1]
    columns = np.full((int(lengths.max(initial=0)), len(content)), BLANK, np.int64)
    for position, column in enumerate(columns):
        is_said = lengths > position
        column[is_said] = content.values[starts[is_said] + position] + 1
    return columns


def attributes_or_reason(corpus: Corpus) -> Ints | str:
    """The attribute values, coded as `attribute_codes` does, or why positions can't be held against them."""
    if corpus.meanings is None:
        return "the corpus has no meanings"
    attributes = attribute_codes(corpus)
    if attributes is None:
        return "features are not attribute values"
    return attributes if corpus.content().lengths.any() else "every message is empty"
