"""Co-occurrences of words and concepts by groups, beside a count of each pair."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecsuite.eval.counts.cooccurrence import Occurrences
from ecsuite.eval.metrics import cbm
from ecsuite.eval.metrics.cbm import cooccurrence_counter, groups_of
from ecsuite.runtime.ragged import Ragged

ROWS = st.lists(st.lists(st.integers(0, 4), max_size=4), min_size=1, max_size=9).filter(any)


@pytest.mark.sample(1)
@pytest.mark.parametrize("max_table", [0, 12, 1 << 20])
@given(ROWS, st.data())
def test_groups_count_as_pairs_do(max_table, phrases, data):
    """Whether all concepts are one group or each is its own."""
    num_words = 3
    tokens = st.tuples(st.integers(0, num_words - 1), st.integers(0, len(phrases) - 1))
    words, rows = np.array(data.draw(st.lists(tokens, min_size=1, max_size=20)), np.int64).T
    partners = np.array(data.draw(st.permutations(range(len(phrases)))))
    concepts = Occurrences.of(Ragged.from_rows(phrases), "tokens")
    expected = np.zeros((num_words, len(concepts.ids)), int)
    for word, row in zip(words, rows, strict=True):
        for concept in phrases[partners[row]]:
            expected[word, concepts.ids.tolist().index(concept)] += 1
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cbm, "_MAX_CODES_TABLE", max_table)
        groups = groups_of(concepts, num_words, num_tokens=1000)
        found = cooccurrence_counter(concepts, num_words, num_tokens=1000)(words, partners[rows])
    assert found.tolist() == expected.tolist()
    longest = max(map(len, phrases))
    assert len(groups) == (1 if max_table > 1000 else longest if not max_table else len(groups))
