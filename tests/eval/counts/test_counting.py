"""Labels of rows and codes of attributes, beside plain Python."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecsuite.corpus import Corpus
from ecsuite.eval.counts.counting import (
    attribute_codes,
    concept_sets,
    distinct_vectors,
    meaning_codes,
    num_distinct_rows,
    row_labels,
)
from ecsuite.eval.statistics.contingency import first_rows, num_codes
from ecsuite.runtime.ragged import Ragged


@pytest.mark.parametrize("size", [1, 2, 3, 100])
def test_sets_of_concepts_in_blocks_of_any_size(size, monkeypatch):
    monkeypatch.setattr(Ragged.blocks, "__defaults__", (size,))
    rows = [[2, 0, 2], [], [1], [0, 1, 0], [5], [3, 2], []]
    corpus = Corpus([[1]] * 7, concepts=rows, concept_names=list("abcdef"))
    assert [row.tolist() for row in concept_sets(corpus)] == [sorted({*row}) for row in rows]


@pytest.mark.sample(1)
@pytest.mark.parametrize("highest", [3, 1 << 30])
@given(st.data())
def test_rows_are_numbered_in_order_of_first_occurrence(highest, data):
    """Of short rows of few symbols, and of long ones of many, which are compared as a whole."""
    values = st.sampled_from([0, 1, 2, highest])
    rows = data.draw(st.lists(st.lists(values, max_size=12), min_size=1, max_size=12))
    distinct = list(dict.fromkeys(map(tuple, rows)))
    assert row_labels(Ragged.from_rows(rows)).tolist() == [distinct.index(tuple(row)) for row in rows]
    assert num_distinct_rows(Ragged.from_rows(rows)) == len(distinct)


@pytest.mark.parametrize("shape", [(0, 2), (5, 0), (1, 1), (40, 1), (40, 3), (3, 30)])
def test_vectors_are_counted_and_numbered(shape):
    codes = np.random.default_rng(0).integers(0, 3, shape)
    distinct = list(dict.fromkeys(map(tuple, codes.tolist())))
    labels = distinct_vectors(codes)
    assert labels.tolist() == [distinct.index(tuple(row)) for row in codes.tolist()]
    assert num_codes(*meaning_codes(Corpus([[0]] * len(codes), meanings=codes))) == len(distinct)
    assert first_rows(labels, len(distinct)).tolist() == [
        labels.tolist().index(each) for each in range(len(distinct))
    ]


@pytest.mark.parametrize("kind", [np.int8, np.uint16, np.int64, np.bool_, "U8"])
def test_attribute_values_are_numbered_in_ascending_order(kind):
    columns = np.array([[-3, 100], [7, 100], [-3, 0], [127, 5]]).astype(kind)
    codes = attribute_codes(Corpus([[0]] * 4, meanings=columns))
    assert codes.T.tolist() == [[sorted(set(c)).index(v) for v in c] for c in columns.T.tolist()]


def test_attribute_values_may_be_far_apart():
    least, most = np.iinfo(np.int64).min, np.iinfo(np.int64).max
    codes = attribute_codes(Corpus([[0]] * 3, meanings=np.array([[most], [least], [0]])))
    assert codes.tolist() == [[2], [0], [1]]
