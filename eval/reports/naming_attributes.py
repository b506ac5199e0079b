"""Attributes that name objects: each object has a value of its own, as names of files are, which no parts can say."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecsuite.corpus import Corpus
from ecsuite.eval.counts.counting import flat, has_attributes

FEWEST = 20
"""Of fewer objects, other attributes may have as many values, too."""
LOOKED_AT = 1000
"""Objects of a large corpus that are looked at first."""


def naming_attributes(corpus: Corpus) -> list[int]:
    """The attributes that have as many values as there are different objects, by their numbers.

    An attribute that alone tells which object it is has no value that two objects share. So nothing that is said of it
    generalises, and scores of composition count it as one more attribute that is or is not said. None in a corpus of
    one attribute that varies whose values recur, as such values may be kinds of objects.
    """
    if corpus.meanings is None or not has_attributes(corpus.meanings):
        return []
    table = flat(corpus.meanings)
    if not table.size or not _telling_apart(table[:LOOKED_AT])[0]:
        return []  # what tells objects apart among all tells them apart among some
    places, number = _telling_apart(table)
    num_varying = sum((column != column[0]).any() for column in table.T)
    are_kinds = num_varying < 2 and number < len(table)
    return [] if number < FEWEST or are_kinds else places


def _telling_apart(table: NDArray[Any]) -> tuple[list[int], int]:
    """The attributes that alone tell which object it is, and how many objects there are.

    Args:
        table: Attribute values, (num_messages, num_attributes).
    """
    number = len(np.unique(table, axis=0))
    return [place for place, column in enumerate(table.T) if len(np.unique(column)) == number], number
