"""The assignment problem: the best matching and its ties, compared with exhaustive search."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from ecsuite.eval.statistics import matching
from ecsuite.eval.statistics.matching import best_match, tied_pairs


def pairings(weights):
    """Every matching of positive weights, as (total, set of pairs)."""
    num_words, num_concepts = weights.shape
    for choice in itertools.product(range(-1, num_concepts), repeat=num_words):
        taken = [concept for concept in choice if concept >= 0]
        pairs = {(word, concept) for word, concept in enumerate(choice) if concept >= 0}
        if len(set(taken)) == len(taken) and all(weights[pair] > 0 for pair in pairs):
            yield sum(int(weights[pair]) for pair in pairs), pairs


@settings(max_examples=100, deadline=None)
@given(
    st.integers(1, 4), st.integers(1, 4), st.integers(1, 6), st.integers(0, 2**32 - 1),
    st.sampled_from([0, matching.MAX_TABLE]),
)  # fmt: skip
def test_best_match_and_ties_against_exhaustive_search(num_words, num_concepts, highest, seed, max_table):
    """Also as a sparse table, which large ones are."""
    weights = np.random.default_rng(seed).integers(0, highest, (num_words, num_concepts), endpoint=True)
    best = max(total for total, _ in pairings(weights))
    optima = [pairs for total, pairs in pairings(weights) if total == best]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(matching, "MAX_TABLE", max_table)
        word, concept = best_match(csr_array(weights) if not max_table else weights)
    found = list(zip(word.tolist(), concept.tolist(), strict=True))
    assert set(found) in optima
    missing = [any(pair not in pairs for pairs in optima) for pair in found]
    assert tied_pairs(weights, word, concept).tolist() == missing and any(missing) == (len(optima) > 1)


@pytest.mark.parametrize("num_concepts", [1, 2, 3])
def test_many_words_for_few_concepts(num_concepts):
    """With far more words than concepts, only the best words of each concept are used."""
    weights = np.random.default_rng(num_concepts).integers(0, 9, (10 * num_concepts**2 + 20, num_concepts))
    totals = []
    for words in itertools.permutations(range(len(weights)), min(2, num_concepts)):
        totals.append(weights[list(words), range(len(words))].sum())
    if num_concepts < 3:
        word, concept = best_match(weights)
        assert weights[word, concept].sum() == max(totals)
    else:
        weights[:, 2] = 0
        weights[-1, 2] = 100
        word, concept = best_match(weights)
        last = concept == 2
        assert word[last].tolist() == [len(weights) - 1]
        rest = best_match(weights[:-1, :2])
        assert weights[word[~last], concept[~last]].sum() == weights[rest].sum()


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0), (3, 3)])
def test_no_cooccurrences(shape):
    word, concept = best_match(np.zeros(shape, np.int64))
    assert (len(word), len(concept)) == (0, 0)
    assert tied_pairs(np.zeros(shape, np.int64), word, concept).tolist() == []
