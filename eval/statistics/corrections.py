"""Correction of p-values for multiple comparisons."""

from collections.abc import Sequence

import numpy as np


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's correction: each p-value times the number of those not smaller, made monotonic, at most 1.

    If all null hypotheses are true, some corrected p-value is below 5 % with probability 5 % at most, whatever the
    dependence between the tests. Holm (1979), "A simple sequentially rejective multiple test procedure", Scandinavian
    Journal of Statistics 6.

    Args:
        p_values: One per comparison, in any order.

    Returns:
        The corrected p-values, in the same order.
    """
    order = np.argsort(p_values, kind="stable")
    factors = len(order) - np.arange(len(order))
    corrected = np.empty(len(order))
    corrected[order] = np.minimum(1, np.maximum.accumulate(np.asarray(p_values)[order] * factors))
    return [float(p) for p in corrected]
