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


def test_the_paper_s_topsim_does_not_depend_on_names_and_is_perfect_for_a_perfect_code():
    rng = np.random.default_rng(0)
    phrases = np.stack([rng.integers(0, 5, 60), 5 + rng.integers(0, 5, 60)], axis=1)
    assert topsim_published(spoken(phrases + 1, phrases)).value == pytest.approx(1)
    renamed = rng.permutation(10)[phrases]
    assert topsim_published(spoken(renamed + 1, phrases)).value == pytest.approx(1)


def test_the_paper_s_topsim_is_not_defined_where_nothing_differs():
    same = topsim_published(spoken([[1]] * 4, [[0], [1], [2], [0]]))
    assert (same.value, same.reason) == (None, "all messages are equally far apart")
    same = topsim_published(spoken([[1], [2], [3], [1]], [[0]] * 4))
    assert (same.value, same.reason) == (None, "all phrases are equally far apart")
    few = topsim_published(spoken([[1], [2]], [[0], [1]]))
    assert few.reason == "expected at least three messages with concepts"
