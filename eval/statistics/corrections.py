"""Correction of p-values for multiple comparisons."""

from collections.abc import Sequence

import numpy as np


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Holm's correction: each p-value times the number of those not smaller, made monotonic, at most 1.

    If all null hypotheses are true, some corrected p-value is below 5 % with probability 5 % at most, whatever the
    dependence between the tests. Holm (1979), "A simple sequentially rejective multiple test procedure", Scandinavian
    Journal of Statistics 6.

    Args:
        p_values: One per comparison, in any order; None where there is none, which is no comparison.

    Returns:
        The corrected p-values, in the same order.
    """
    places = [place for place, p_value in enumerate(p_values) if p_value is not None]
    values = np.array([p_values[place] for place in places], np.float64)
    order = np.argsort(values, kind="stable")
    factors = len(order) - np.arange(len(order))
    adjusted = np.empty(len(order))
    adjusted[order] = np.minimum(1, np.maximum.accumulate(values[order] * factors))
    corrected: list[float | None] = [None] * len(p_values)
    for place, p_value in zip(places, adjusted, strict=True):
        corrected[place] = float(p_value)
    return corrected
