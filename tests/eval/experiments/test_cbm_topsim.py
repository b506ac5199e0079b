"""The CBM paper's topographic similarity, on hand-made languages."""

import numpy as np
import pytest

from ecsuite.corpus import Corpus
from ecsuite.eval.experiments.cbm import topsim_published
from ecsuite.runtime.ragged import Ragged


def spoken(messages, concepts):
    return Corpus(messages=Ragged.from_rows(messages), concepts=Ragged.from_rows(concepts))


def test_the_paper_s_topsim_of_three_messages():
    """Levenshtein 2, 1, 3 of the pairs against cosine distances 1/2, 1/2, 1: ranks 2, 1, 3 and 1.5, 1.5, 3."""
    corpus = spoken([[1, 2], [3, 4], [1, 2, 4]], [[0, 1], [1, 2], [0, 3]])
    assert topsim_published(corpus).value == pytest.approx(np.corrcoef([2, 1, 2], [1.5, 1.5, 3])[0, 1])
