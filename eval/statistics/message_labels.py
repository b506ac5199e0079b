"""The number of each different message of a corpus, which several metrics ask for."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecsuite.corpus import Corpus
from ecsuite.eval.statistics.counting import narrow_content, row_labels

_kept: ContextVar[dict[tuple[int, int | None], NDArray[Any]] | None] = ContextVar("_kept", default=None)
"""Labels by the identity of the messages and their EOS; None: not kept."""


@contextmanager
def message_labels_kept(corpus: Corpus) -> Iterator[NDArray[np.integer[Any]]]:
    """Number the messages of a corpus once for all that ask meanwhile; messages must not change meanwhile."""
    token = _kept.set({_key(corpus): message_labels(corpus)})
    try:
        yield message_labels(corpus)
    finally:
        _kept.reset(token)


def message_labels(corpus: Corpus) -> NDArray[np.integer[Any]]:
    """The label of each message without EOS, from 0, in order of first occurrence, shape (num_messages,).

    In int32 where they fit, and not to be changed: others may have them, too.
    """
    kept = _kept.get() or {}
    if (labels := kept.get(_key(corpus))) is not None:
        return labels
    labels = row_labels(narrow_content(corpus))
    return labels.astype(np.int32 if len(labels) < 1 << 31 else np.int64)  # half of the memory


def _key(corpus: Corpus) -> tuple[int, int | None]:
    """What determines the labels, of a corpus that stays in memory."""
    return id(corpus.messages), corpus.eos
