"""The tipping point: the share at which half of the runs turn, from runs with several shares."""

import warnings
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

NUM_RESAMPLES = 400


def tipping_point(
    shares: Sequence[float], turned: Sequence[bool], seed: int = 0
) -> tuple[float, float, float] | None:
    """The share at which a logistic curve over runs is one half, with its 95 % interval over resampled runs.

    Where no share has runs of both outcomes, the point is half way between the shares around the change.

    Args:
        shares: Of each run, such as that of a committed minority.
        turned: Whether the run turned.
        seed: Of the resampling.

    Returns:
        Point, low, high; None if all runs turned, or none.
    """
    x, y = np.asarray(shares, dtype=np.float64), np.asarray(turned, dtype=bool)
    if y.all() or not y.any():
        return None
    rng = np.random.default_rng([seed, *b"tipping"])
    draws = [_point(x[rows], y[rows]) for rows in rng.integers(len(x), size=(NUM_RESAMPLES, len(x)))]
    low, high = np.quantile([each for each in draws if each is not None], (0.025, 0.975))
    point = _point(x, y)
    assert point is not None
    return point, float(low), float(high)


def _point(x: NDArray[np.float64], y: NDArray[np.bool_]) -> float | None:
    """The share at which the curve is one half."""
    if y.all() or not y.any():
        return None
    last, first = x[~y].max(), x[y].min()
    if last < first:
        return float((last + first) / 2)
    from sklearn.linear_model import LogisticRegression

    center, scale = x.mean(), x.std()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = LogisticRegression(C=1e4).fit((x - center)[:, None] / scale, y)
    slope, offset = float(fitted.coef_[0, 0]), float(fitted.intercept_[0])
    return float(center - scale * offset / slope) if slope > 0 else None
