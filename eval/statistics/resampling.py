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
from ecsuite.eval.statistics.counting import Floats, Ints

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
"""Figures this close to each other are the same."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Uncertainty:
    """What resampling says of one figure."""

    ci95: tuple[float, float] | None
    """The interval; None with few messages, or where a half-sample has no value."""
    details: dict[str, Any]
    """`null_mean`, `null_low`, `null_high` (2.5 and 97.5 %), `p_value`, the numbers of draws and the seed.
    `null_value`: what the p-value compares with the null, where that is not the score; `null_rows`: of how many
    messages each draw is, where not of all."""


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
    stand_ins: Sequence[float] | None = None,
    most_rows: int | None = None,
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
        stand_ins: What the statistic gives for the corpus itself, where it is a cheaper one than the scores are
            made with, shape (num_figures,): these are then held against the null.
        most_rows: Of more than twice as many messages, each draw of either kind takes this many. The mean score
            of so many is then held against the null, since chance scores by how many messages there are.

    Returns:
        One a figure.
    """
    rng = np.random.default_rng([seed, num_rows])
    is_sampled = most_rows is not None and num_rows > 2 * most_rows
    size = most_rows if most_rows is not None and is_sampled else num_rows // 2

    def some_rows() -> Ints:
        return np.sort(rng.permutation(num_rows)[:size])

    def shuffled(rng: np.random.Generator) -> Floats:
        rows = some_rows() if is_sampled else np.arange(num_rows)
        return statistic(rows, rng.permutation(rows))

    draw = null or shuffled
    nulls = np.stack([draw(rng) for _ in range(num_draws(NUM_PERMUTATIONS, work))])
    parts = np.zeros((0, len(values)))
    if num_rows >= FEWEST_ROWS:
        # half the rows, half the work
        number = num_draws(NUM_SUBSAMPLES, work if is_sampled else work // 2)
        parts = np.stack([statistic(rows, rows) for rows in (some_rows() for _ in range(number))])
    references = parts.mean(axis=0).tolist() if is_sampled else values if stand_ins is None else stand_ins
    return [
        Uncertainty(
            ci95=centred_interval(value, parts[:, figure], num_rows, bounds, size),
            details=describe_null(reference, nulls[:, figure], tail)
            | ({"null_value": float(reference)} if abs(reference - value) > _NOISE else {})  # NaN is not
            | ({"null_rows": size} if is_sampled else {})
            | {"permutations": len(nulls), "subsamples": len(parts), "seed": seed},
        )
        for figure, (value, reference, tail) in enumerate(zip(values, references, tails, strict=True))
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
    if not len(draws) or np.isnan(value):
        return {}
    is_extreme = draws >= value - _NOISE if tail == "high" else draws <= value + _NOISE
    p_value = (1 + int(is_extreme.sum())) / (1 + len(draws))
    low, high = np.quantile(draws, [0.025, 0.975]).tolist()
    return {"null_mean": float(draws.mean()), "null_low": low, "null_high": high, "p_value": p_value}


def centred_interval(
    value: float, parts: Floats, num_rows: int, bounds: tuple[float, float], size: int | None = None
) -> tuple[float, float] | None:
    """The middle 95 % of the samples of some rows, moved so that their mean falls on the score.

    Args:
        value: The score.
        parts: The figure of each sample, (num_samples,).
        num_rows: How many messages there are.
        bounds: The range of the score.
        size: How many messages a sample has, drawn without replacement; half of them if not given.

    Returns:
        None without samples, or if one of them has no value.
    """
    if not len(parts) or np.isnan(parts).any():
        return None
    size = num_rows // 2 if size is None else size
    spread = np.sqrt(size / (num_rows - size))  # 1 for halves of rows even in number, else below
    low, high = (value + spread * (np.quantile(parts, [0.025, 0.975]) - parts.mean())).tolist()
    return max(bounds[0], min(low, value)), min(bounds[1], max(high, value))


def take_rows(rows: Ragged, chosen: Ints) -> Ragged:
    """Some rows of a ragged array, in the order in which they are named."""
    lengths = rows.lengths[chosen]
    ends = np.cumsum(lengths)
    places = np.arange(int(lengths.sum())) + np.repeat(rows.offsets[chosen] - (ends - lengths), lengths)
    return Ragged.from_lengths(rows.values[places], lengths)
