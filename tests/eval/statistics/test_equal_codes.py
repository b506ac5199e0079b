"""Labels of codes, beside a dictionary."""

import numpy as np
import pytest

from ecsuite.eval.statistics import contingency
from ecsuite.eval.statistics.contingency import first_equal, labels_of_codes


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
