"""Quantiles and tails of Student's and the normal distribution, and ranks: as those of `scipy.stats`, to the last bit.

They are from `scipy.special`, since importing `scipy.stats` takes half a second: more than scoring a small corpus.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import nctdtrinc, ndtr, ndtri, stdtr, stdtrit

from ecsuite.eval.statistics.contingency import Floats


def student_quantile(share: float, freedom: float) -> float:
    """The value that a share of Student's distribution is below, with so many degrees of freedom."""
    return float(stdtrit(freedom, share))


def student_tail(value: float, freedom: float) -> float:
    """The share of Student's distribution above a value, with so many degrees of freedom."""
    return float(stdtr(freedom, -value))


def noncentrality(value: float, freedom: float, share: float) -> float:
    """The noncentrality of the t distribution, with so many degrees of freedom, of which a share is below a value."""
    return float(nctdtrinc(freedom, share, value))


def normal_quantile(share: float) -> float:
    """The value that a share of the normal distribution is below."""
    return float(ndtri(share))


def normal_tail(value: float) -> float:
    """The share of the normal distribution above a value."""
    return float(ndtr(-value))


def average_ranks(values: NDArray[Any]) -> Floats:
    """Ranks from 1 along the last axis, equal values have the mean of theirs.

    Args:
        values: Any shape, without NaN.
    """
    order = np.argsort(values, axis=-1, kind="stable")
    ordered = np.take_along_axis(values, order, axis=-1)
    is_first = np.ones(values.shape, bool)
    np.not_equal(ordered[..., 1:], ordered[..., :-1], out=is_first[..., 1:])
    places = np.flatnonzero(is_first)
    counts = np.diff(places, append=values.size)
    ranks = np.repeat(places % max(1, values.shape[-1]) + (counts + 1) / 2, counts)
    result = np.empty(values.shape)
    np.put_along_axis(result, order, ranks.reshape(values.shape), axis=-1)
    return result
