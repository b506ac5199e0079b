"""Tables from codes: comparison with NumPy, for dense tables and sorting."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecsuite.eval.statistics.contingency import conditional_entropies, counted, joint_codes, renumbered, tally

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


def test_conditional_entropies():
    """In half of the rows, `first` is 0 and has no information about `second`; otherwise it determines `second`."""
    found = conditional_entropies(np.array([1, 1, 2]), np.array([0, 0, 1]), np.array([0, 1, 1]))
    three_quarters = 0.25 * 2 + 0.75 * np.log2(4 / 3)
    assert found == pytest.approx((1.5 - three_quarters, 0.5, 1, three_quarters))


def test_certainty_has_no_entropy():
    assert conditional_entropies(np.array([3.0]), np.array([0]), np.array([0])) == (0, 0, 0, 0)
