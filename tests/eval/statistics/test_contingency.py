"""Tables and labels of codes beside NumPy's and a dictionary's; matchings and ties beside exhaustive search."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from ecsuite.eval.statistics import contingency, matching
from ecsuite.eval.statistics.matching import best_match, tied_pairs

codes = st.lists(st.integers(0, 20), max_size=30).map(lambda values: np.array(values, np.int64))


@pytest.mark.parametrize("bound", [21, 1 << 40])
@given(codes)
def test_counted_and_renumbered(bound, codes):
    values, inverse, counts = np.unique(codes, return_inverse=True, return_counts=True)
    assert [array.tolist() for array in contingency.counted(codes, bound)] == [values.tolist(), counts.tolist()]
    dense, originals = contingency.renumbered(codes, bound)
    assert (dense.tolist(), originals.tolist()) == (inverse.tolist(), values.tolist())
    assert contingency.tally(codes).tolist() == counts.tolist()


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 9), st.integers(0, 3)), min_size=1, max_size=20))
def test_joint_codes_are_equal_where_rows_are(rows):
    """Also where the product of the sizes is beyond an integer."""
    for size in (10, 1 << 40):
        codes, bound = contingency.joint_codes(np.array(rows).T, [size] * 3, len(rows))
        assert codes.max() < bound
        assert (codes[:, None] == codes).tolist() == [[row == other for other in rows] for row in rows]


def test_conditional_entropies_by_hand():
    # In half of the rows, `first` is 0 and has no information about `second`; otherwise it determines `second`.
    found = contingency.conditional_entropies(np.array([1, 1, 2]), np.array([0, 0, 1]), np.array([0, 1, 1]))
    three_quarters = 0.25 * 2 + 0.75 * np.log2(4 / 3)
    assert found == pytest.approx((1.5 - three_quarters, 0.5, 1, three_quarters))
    assert contingency.conditional_entropies(np.array([3.0]), np.array([0]), np.array([0])) == (0, 0, 0, 0)


@pytest.mark.sample(10)
@pytest.mark.parametrize("bound", [1, 7, 5_000, 1 << 40, 1 << 63])
@pytest.mark.parametrize("num_rows", [0, 1, 2, 1_000, 200_000])
def test_codes_are_numbered_in_order_of_first_occurrence(bound, num_rows):
    rng = np.random.default_rng(num_rows)
    codes = rng.integers(bound, size=num_rows)
    codes[num_rows // 2 :] = rng.permutation(codes)[num_rows // 2 :]  # some codes again
    first: dict[int, int] = {}
    for row, code in enumerate(codes.tolist()):
        first.setdefault(code, row)
    numbers = {code: number for number, code in enumerate(first)}
    assert contingency.first_equal(codes, bound).tolist() == [first[code] for code in codes.tolist()]
    assert contingency.labels_of_codes(codes, bound).tolist() == [numbers[code] for code in codes.tolist()]


def test_codes_that_have_the_same_place_are_told_apart(monkeypatch):
    """All codes have one of two places, so each round settles two different codes."""
    monkeypatch.setattr(contingency, "_places", lambda codes, factor, size: codes.view(np.uint64) % np.uint64(2))
    codes = np.tile(np.arange(40) << 50, 3)
    assert contingency.first_equal(codes, 1 << 60).tolist() == np.tile(np.arange(40), 3).tolist()
    assert contingency.labels_of_codes(codes, 1 << 60).tolist() == np.tile(np.arange(40), 3).tolist()


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
