"""The number of each different message of a corpus, which several metrics ask for."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecsuite.corpus import Corpus
from ecsuite.eval.statistics.counting import Ints, narrow_content, row_labels
from ecsuite.eval.statistics.kept import once


@once
def message_labels(corpus: Corpus) -> NDArray[np.integer[Any]]:
    """The label of each message without EOS, from 0, in order of first occurrence, shape (num_messages,).

    In int32 where they fit, and not to be changed: others may have them, too.
    """
    return halved(row_labels(narrow_content(corpus)))


def halved(labels: Ints) -> NDArray[np.integer[Any]]:
    """Labels in int32, half of the memory, where so many fit, (num_rows,)."""
    return labels.astype(np.int32 if len(labels) < 1 << 31 else np.int64)
