"""Chance and spread of any metric: a permutation null and an interval, from one function a metric.

A metric hands over its statistic as a function of a pairing: which messages, and which row's meaning goes with
each. Shuffled partners make the null, half of the rows makes the interval. A metric should keep what it can
across calls (codes, counts, incidence tables), since it is asked a few hundred times.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ecsuite.corpus import Ragged
from ecsuite.eval.counting import Floats, Ints

Statistic = Callable[[Ints, Ints], Floats]
"""From (rows, partners), each (num_pairs,): the message of `rows[k]` goes with the meaning of `partners[k]`.
Gives the metric's figures, shape (num_figures,); NaN where one is undefined. `rows` ascend; where they are
all rows, only the pairing differs from that of the corpus."""
NullDraw = Callable[[np.random.Generator], Floats]
"""One draw of the figures (num_figures,) from a null of the metric's own."""
Tail = Literal["high", "low"]
"""Where a score lies that is not chance: above the null or below it."""

NUM_PERMUTATIONS = 100
"""Draws from the null, where they are cheap."""
NUM_SUBSAMPLES = 200
"""Half-samples behind an interval, where they are cheap."""
FEWEST_DRAWS = 20
"""Draws of either where they are dear: a p-value can then still fall below 0.05."""
WORK = 60_000_000
"""Table entries to be counted for all draws of a kind; the number of draws is cut to fit."""
FEWEST_ROWS = 10
"""With fewer messages there is no interval."""
_NOISE = 1e-9
"""A null draw this close to the score is as large."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Uncertainty:
    """What resampling says of one figure."""

    ci95: tuple[float, float] | None
    """The interval; None with few messages, or where a half-sample has no value."""
    details: dict[str, Any]
    """`null_mean`, `null_low`, `null_high` (2.5 and 97.5 %), `p_value`, the numbers of draws and the seed."""


def resample(
    statistic: Statistic,
    values: Sequence[float],
    *,
    num_rows: int,
    seed: int,
    work: int,
    tails: Sequence[Tail],
    bounds: tuple[float, float] = (0.0, 1.0),
    null: NullDraw | None = None,
) -> list[Uncertainty]:
    """Draw a null and half-samples, the same ones for all figures of a statistic.

    **Null.** Meanings are shuffled over messages, which keeps both and breaks their tie; a metric that knows no
    meanings brings its own. The p-value is (1 + number of draws as extreme) / (1 + number of draws).

    **Interval.** Half of the rows, drawn without replacement; the percentiles of the figure over these halves,
    less their mean, are put around the score. A half without replacement varies about the whole as the whole
    varies about the language (Wu, 1990; Politis and Romano, 1994), and unlike a bootstrap sample it repeats no
    row: repeated rows look like information to every plug-in measure, so the usual bootstrap of mutual
    information lies wholly above the value it is for. Being centred, the interval says how the score would
    vary between corpora of the same size; what the size itself does to the score shows in `null_mean`. Rows
    count as independent draws: meanings that were enumerated vary less than that.

    Args:
        statistic: The figures as a function of a pairing.
        values: The scores, shape (num_figures,).
        num_rows: How many messages there are.
        seed: Of all draws.
        work: Table entries that one call of the statistic counts: decides how many draws there are.
        tails: On which side of the null each figure departs from chance.
        bounds: The range of the figures, to which intervals are cut.
        null: A null of the metric's own.

    Returns:
        One a figure.
    """
    rng = np.random.default_rng([seed, num_rows])
    everyone = np.arange(num_rows)

    def shuffled(rng: np.random.Generator) -> Floats:
        return statistic(everyone, rng.permutation(num_rows))

    draw = null or shuffled
    nulls = np.stack([draw(rng) for _ in range(num_draws(NUM_PERMUTATIONS, work))])
    halves = np.zeros((0, len(values)))
    if num_rows >= FEWEST_ROWS:
        number = num_draws(NUM_SUBSAMPLES, work // 2)  # half the rows, half the work
        chosen = (np.sort(rng.permutation(num_rows)[: num_rows // 2]) for _ in range(number))
        halves = np.stack([statistic(rows, rows) for rows in chosen])
    return [
        Uncertainty(
            ci95=centred_interval(value, halves[:, figure], num_rows, bounds),
            details=describe_null(value, nulls[:, figure], tail)
            | {"permutations": len(nulls), "subsamples": len(halves), "seed": seed},
        )
        for figure, (value, tail) in enumerate(zip(values, tails, strict=True))
    ]


def num_draws(most: int, work: int) -> int:
    """How many draws to make, of which each counts `work` table entries."""
    return max(FEWEST_DRAWS, min(most, WORK // max(1, work)))


def describe_null(value: float, draws: Floats, tail: Tail) -> dict[str, float]:
    """A null for a score's details: its mean, the middle 95 %, and the p-value of the score.

    Args:
        value: The score.
        draws: From the null, (num_draws,); those that are NaN are left out.
        tail: On which side of the null the score departs from chance.
    """
    draws = draws[~np.isnan(draws)]
    if not len(draws):
        return {}
    is_extreme = draws >= value - _NOISE if tail == "high" else draws <= value + _NOISE
    p_value = (1 + int(is_extreme.sum())) / (1 + len(draws))
    low, high = np.quantile(draws, [0.025, 0.975]).tolist()
    return {"null_mean": float(draws.mean()), "null_low": low, "null_high": high, "p_value": p_value}


def centred_interval(
    value: float, halves: Floats, num_rows: int, bounds: tuple[float, float]
) -> tuple[float, float] | None:
    """The middle 95 % of the half-samples, moved so that their mean falls on the score.

    Args:
        value: The score.
        halves: Of half-samples of num_rows // 2 rows, (num_halves,).
        num_rows: How many messages there are.
        bounds: The range of the score.

    Returns:
        None without half-samples, or if one of them has no value.
    """
    if not len(halves) or np.isnan(halves).any():
        return None
    size = num_rows // 2
    spread = np.sqrt(size / (num_rows - size))  # below 1 where the rows are odd in number
    low, high = (value + spread * (np.quantile(halves, [0.025, 0.975]) - halves.mean())).tolist()
    return max(bounds[0], min(low, value)), min(bounds[1], max(high, value))


def take_rows(rows: Ragged, chosen: Ints) -> Ragged:
    """Some rows of a ragged array, in the order in which they are named."""
    lengths = rows.lengths[chosen]
    ends = np.cumsum(lengths)
    places = np.arange(int(lengths.sum())) + np.repeat(rows.offsets[chosen] - (ends - lengths), lengths)
    return Ragged.from_lengths(rows.values[places], lengths)
