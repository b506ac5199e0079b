"""Correlation coefficients, vectorised over resamples, which SciPy's functions are not in all supported versions."""

from collections.abc import Callable, Mapping

import numpy as np

from ecsuite.eval.statistics.counting import Floats
from ecsuite.eval.statistics.distributions import average_ranks

TOLERANCE = 1e-12
"""Standard deviations below this are rounding errors."""


def pearson(first: Floats, second: Floats) -> Floats:
    """Pearson's coefficient along the last axis; 0 if a list is constant (possible in resamples of few sources)."""
    first = first - first.mean(-1, keepdims=True)
    second = second - second.mean(-1, keepdims=True)
    scale = np.sqrt((first**2).sum(-1) * (second**2).sum(-1))
    product = (first * second).sum(-1)
    return _ratio(product, scale)


def kendall(first: Floats, second: Floats) -> Floats:
    """Kendall's tau-b along the last axis: the uncentred correlation of the signs of all pairwise differences."""
    pairs = np.triu_indices(first.shape[-1], k=1)
    signs = [np.sign(values[..., pairs[0]] - values[..., pairs[1]]) for values in (first, second)]
    scale = np.sqrt((signs[0] ** 2).sum(-1) * (signs[1] ** 2).sum(-1))
    product = (signs[0] * signs[1]).sum(-1)
    return _ratio(product, scale)


def _ratio(product: Floats, scale: Floats) -> Floats:
    """`product / scale`; 0 if the scale is 0."""
    quotient: Floats = np.divide(product, scale, out=np.zeros_like(product), where=scale > TOLERANCE)
    return quotient


def spearman(first: Floats, second: Floats) -> Floats:
    """Spearman's coefficient along the last axis: Pearson's coefficient of the ranks."""
    return pearson(average_ranks(first), average_ranks(second))


STATISTICS: Mapping[str, Callable[[Floats, Floats], Floats]] = {
    "Pearson": pearson,
    "Kendall": kendall,
    "Spearman": spearman,
}
"""The coefficients by name."""
