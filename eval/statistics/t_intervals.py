"""Means over seeds with 95 % intervals."""

import math
from collections.abc import Sequence

from ecsuite.eval.statistics.distributions import student_quantile


def mean_and_half_width(values: Sequence[float], *, published: bool = False) -> tuple[float, float | None]:
    """The mean and the half-width of its 95 % confidence interval (None for a single value).

    Args:
        values: One per seed.
        published: Use 1.96 and the population standard deviation, as the published program does (too narrow);
            otherwise Student's t and the sample standard deviation.
    """
    count = len(values)
    mean = math.fsum(values) / count
    if count == 1:
        return mean, None
    if published:
        squares = math.fsum((value - mean) ** 2 for value in values)
        return mean, 1.96 * math.sqrt(squares / count / count)
    error = standard_error(values)
    assert error is not None
    return mean, student_quantile(0.975, count - 1) * error


def standard_error(values: Sequence[float]) -> float | None:
    """The standard error of the mean of independent values; None for a single one."""
    count = len(values)
    if count == 1:
        return None
    mean = math.fsum(values) / count
    return math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (count - 1) / count)


def resampled_mean(values: Sequence[float], *, tested_per_trained: float) -> tuple[float, float]:
    """The mean over random splits of one data set, and the half-width of its 95 % interval.

    The corrected resampled t of Nadeau and Bengio (2003, "Inference for the generalization error", Machine Learning 52,
    section 3.3.1): splits share data, so the variance of the mean over J of them is (1/J + n2/n1) of that of one.

    Args:
        values: One per split, at least two.
        tested_per_trained: n2/n1, the size of the tested part by that of the part for training.
    """
    mean, half_width = mean_and_half_width(values)
    assert half_width is not None
    return mean, half_width * math.sqrt(1 + len(values) * tested_per_trained)


def clipped(mean: float, half_width: float | None, low: float, high: float) -> tuple[float, float] | None:
    """The interval of a mean within the range of its values; None without a half-width."""
    return None if half_width is None else (max(low, mean - half_width), min(high, mean + half_width))


def seeds_text(seeds: Sequence[int]) -> str:
    """Human-readable list of seeds: `10 seeds (123 to 132)`."""
    if len(seeds) == 1:
        return f"one seed ({seeds[0]})"
    is_range = list(seeds) == list(range(seeds[0], seeds[0] + len(seeds)))
    which = f"{seeds[0]} to {seeds[-1]}" if is_range else ", ".join(map(str, seeds))
    return f"{len(seeds)} seeds ({which})"
