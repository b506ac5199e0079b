"""Means over seeds with 95 % intervals."""

import math
from collections.abc import Sequence

from scipy.stats import t as student


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
    squares = math.fsum((value - mean) ** 2 for value in values)
    if published:
        return mean, 1.96 * math.sqrt(squares / count / count)
    return mean, float(student.ppf(0.975, count - 1)) * math.sqrt(squares / (count - 1) / count)


def seeds_text(seeds: Sequence[int]) -> str:
    """Human-readable list of seeds: `10 seeds (123 to 132)`."""
    if len(seeds) == 1:
        return f"one seed ({seeds[0]})"
    is_range = list(seeds) == list(range(seeds[0], seeds[0] + len(seeds)))
    which = f"{seeds[0]} to {seeds[-1]}" if is_range else ", ".join(map(str, seeds))
    return f"{len(seeds)} seeds ({which})"
