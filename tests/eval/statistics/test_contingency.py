"""Tables and labels of codes: comparison with NumPy and with a dictionary, for dense tables and sorting."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecsuite.eval.statistics import contingency
from ecsuite.eval.statistics.contingency import (
    conditional_entropies,
    counted,
    first_equal,
    joint_codes,
    labels_of_codes,
    renumbered,
    tally,
)

codes = st.lists(st.integers(0, 20), max_size=30).map(lambda values: np.array(values, np.int64))


@pytest.mark.parametrize("bound", [21, 1 << 40])
@given(codes)
def test_counted_and_renumbered(bound, codes):
    values, inverse, counts = np.unique(codes, return_inverse=True, return_counts=True)
    assert [array.tolist() for array in counted(codes, bound)] == [values.tolist(), counts.tolist()]
    dense, originals = renumbered(codes, bound)
    assert (dense.tolist(), originals.tolist()) == (inverse.tolist(), values.tolist())
    assert tally(codes).tolist() == counts.tolist()


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 9), st.integers(0, 3)), min_size=1, max_size=20))
def test_joint_codes_are_equal_where_rows_are(rows):
    """Also where the product of the sizes is beyond an integer."""
    for size in (10, 1 << 40):
        codes, bound = joint_codes(np.array(rows).T, [size] * 3, len(rows))
        assert codes.max() < bound
        assert (codes[:, None] == codes).tolist() == [[row == other for other in rows] for row in rows]


def test_conditional_entropies_by_hand():
    # In half of the rows, `first` is 0 and has no information about `second`; otherwise it determines `second`.
    found = conditional_entropies(np.array([1, 1, 2]), np.array([0, 0, 1]), np.array([0, 1, 1]))
    three_quarters = 0.25 * 2 + 0.75 * np.log2(4 / 3)
    assert found == pytest.approx((1.5 - three_quarters, 0.5, 1, three_quarters))
    assert conditional_entropies(np.array([3.0]), np.array([0]), np.array([0])) == (0, 0, 0, 0)


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
    assert first_equal(codes, bound).tolist() == [first[code] for code in codes.tolist()]
    assert labels_of_codes(codes, bound).tolist() == [numbers[code] for code in codes.tolist()]


def test_codes_that_have_the_same_place_are_told_apart(monkeypatch):
    """All codes have one of two places, so each round settles two different codes."""
    monkeypatch.setattr(
        contingency, "_places", lambda codes, factor, size: codes.view(np.uint64) % np.uint64(2)
    )
    codes = np.tile(np.arange(40) << 50, 3)
    assert first_equal(codes, 1 << 60).tolist() == np.tile(np.arange(40), 3).tolist()
    assert labels_of_codes(codes, 1 << 60).tolist() == np.tile(np.arange(40), 3).tolist()
