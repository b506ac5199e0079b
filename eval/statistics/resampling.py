"""Resampling for any metric: a permutation null distribution and a delete-half jackknife interval.

A metric passes its statistic as a function of a pairing: the rows of the messages, and for each message the row of its
meaning. The null distribution changes the pairing, the interval takes half of the meanings, or of the rows. The
statistic is called a few hundred times, so a metric should compute codes, counts and incidence tables only once.

Units of permutations and half-samples (`Exchange`) are meanings with all their messages, or single messages. Copies of
a row are no further evidence for compositionality: a holistic language has one message per meaning, however often it is
uttered. So scores of composition and of concepts exchange the messages of whole meanings, which preserves the variation
within a meaning; scores of consistency, which measure this variation, exchange single messages.

A slow statistic has only 20 draws, whose empirical quantiles would cover 87 % of a distribution instead of 95 %. So
both intervals are widened for the number of draws, by Student's t or by order statistics.
"""

import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import count, islice
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc

from ecsuite.eval.statistics.cache import cached_by
from ecsuite.eval.statistics.chance import Chance
from ecsuite.eval.statistics.contingency import Floats, Ints, first_rows, num_labels
from ecsuite.eval.statistics.estimates import ALPHA, NO_SPREAD, student_quantile

Labels = NDArray[np.integer[Any]]
Drawn = TypeVar("Drawn")

MOST_PAIRINGS = 5_040
"""Maximum number of distinct pairings of messages and meanings that are enumerated: the number for seven meanings."""
LEVEL_OF_UNEVEN = 0.001
"""Significance level at which frequencies of meanings count as unequal, see `Exchange.is_uneven`."""
_COUNTABLE = 1 << 53
"""Maximum number of pairings that is computed."""


@dataclass(frozen=True)
class Exchange:
    """Units of rows that are exchanged as wholes.

    Args:
        of_row: The unit of each row, from 0, without gaps, (num_rows,).
        alike: Function for the label of each row's message, (num_rows,); units with equal messages need no exchange.
        are_meanings: Whether units are meanings; otherwise each row is a unit.
        keys: Function for the sort key of each row's message, if units are meanings, (num_rows,).
    """

    of_row: Labels
    alike: Callable[[], Labels]
    are_meanings: bool = True
    keys: Callable[[], Labels] = lambda: np.zeros(0, np.uint64)

    sizes: Ints = field(init=False)
    """Number of rows of each unit, (num_units,)."""
    num_units: int = field(init=False)
    """Number of units."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "sizes", np.bincount(self.of_row))
        object.__setattr__(self, "num_units", len(self.sizes))

    @cached_property
    def _classes(self) -> Labels:
        """Class of each unit, equal for units with the same messages equally often, (num_units,)."""
        labels = self.alike()
        if self.num_units == len(self.of_row):
            classes = np.empty_like(labels)
            classes[self.of_row] = labels
            return np.unique(classes, return_inverse=True)[1]
        # Sums of random integers, exact in float64, identify the multiset of messages.
        weights = np.random.default_rng(0).integers(1, 1 << 20, (2, num_labels(labels))).astype(float)
        sums = [np.bincount(self.of_row, each[labels], self.num_units) for each in weights]
        return np.unique(np.stack(sums, axis=1), axis=0, return_inverse=True)[1].ravel()

    @cached_property
    def num_pairings(self) -> int | None:
        """Number of distinct pairings of messages and meanings; None if it is too large for an exact count."""
        sizes = np.bincount(self._classes)
        logarithm = math.lgamma(self.num_units + 1) - sum(math.lgamma(each + 1) for each in sizes.tolist())
        if logarithm > math.log(_COUNTABLE):
            return None
        number, left = 1, self.num_units
        for size in sizes.tolist():
            number *= math.comb(left, size)
            left -= size
        return number

    def orders(self, rng: np.random.Generator, number: int, most: int = MOST_PAIRINGS) -> Iterator[Ints]:
        """Yield pairings: for each unit, the unit whose meaning its messages get, (num_units,).

        Args:
            rng: Draws pairings, if there are too many to enumerate.
            number: Number of random pairings; with 1, none are enumerated.
            most: Maximum number of pairings to enumerate, if below `MOST_PAIRINGS`.
        """
        if number > 1 and self.num_pairings is not None and self.num_pairings <= min(most, MOST_PAIRINGS):
            yield from self._pairings()
        else:
            for _ in range(number):
                yield rng.permutation(self.num_units)

    def _pairings(self) -> list[Ints]:
        """All distinct pairings, in a random order that is the same for the same classes of units."""
        classes = self._classes
        units = np.argsort(classes, kind="stable")
        found = []
        for arrangement in _arrangements(classes[units].tolist()):
            order = np.empty(self.num_units, np.int64)
            order[units] = np.argsort(arrangement, kind="stable")
            found.append(order)
        rng = np.random.default_rng([self.num_units, *classes.tolist()])
        return [found[place] for place in rng.permutation(len(found))]

    def partners(self, orders: Iterable[Ints]) -> Iterator[Ints]:
        """Yield, for each order, the row whose meaning each row's message gets, (num_rows,).

        If all units have the same number of rows, this is a permutation of the rows.
        """
        if self.num_units < len(self.of_row) and not np.ptp(self.sizes):
            rows = np.argsort(self.of_row, kind="stable").reshape(self.num_units, -1)  # rows of each unit
            for order in orders:
                partners = np.empty(len(self.of_row), np.int64)
                partners[rows] = rows[order]
                yield partners
        else:
            first = first_rows(self.of_row, self.num_units)
            for order in orders:
                yield np.asarray(first[order][self.of_row])

    def rows_of(self, units: Ints) -> Ints:
        """Rows of some units, ascending."""
        if not self.are_meanings:
            return units
        is_taken = np.zeros(self.num_units, bool)
        is_taken[units] = True
        return np.flatnonzero(is_taken[self.of_row])

    @property
    def num_independent(self) -> float:
        """Effective number of units: the number of equal-sized units whose mean has the same variance."""
        return float(len(self.of_row) ** 2 / (self.sizes.astype(float) ** 2).sum())

    @cached_property
    def is_uneven(self) -> bool:
        """Whether numbers of rows differ more than those of equally frequent meanings (chi-squared test, p < .001).

        An exchange of messages then also exchanges frequencies. As these are of the meanings, such as those of a power
        law, a holistic language differs from its exchanges.
        """
        mean = self.sizes.mean()
        dispersion = float(((self.sizes - mean) ** 2).sum() / mean)
        return self.are_meanings and bool(chdtrc(self.num_units - 1, dispersion) < LEVEL_OF_UNEVEN)

    def balanced(self, most: int | None = None) -> Ints:
        """Rows, ascending, of which each meaning has the same number, spread evenly over its messages by their keys.

        Args:
            most: Maximum number of rows, but at least one of each meaning; None: unlimited.
        """
        number = int(self.sizes.min())
        if most is not None:
            number = max(1, min(number, most // self.num_units))
        order = np.lexsort((self.keys(), self.of_row))
        starts = np.cumsum(self.sizes) - self.sizes
        places = (2 * np.arange(number) + 1) * self.sizes[:, None] // (2 * number)
        return np.sort(order[(starts[:, None] + places).ravel()])

    def take(self, rows: Ints) -> "Exchange":
        """Units of some rows, renumbered from 0."""
        present = np.bincount(self.of_row[rows], minlength=self.num_units) > 0
        number = np.cumsum(present) - 1
        return Exchange(
            number[self.of_row[rows]],
            lambda: self.alike()[rows],
            self.are_meanings,
            lambda: self.keys()[rows],
        )


def _arrangements(labels: list[int]) -> Iterator[list[int]]:
    """All distinct orders of ascending labels: Knuth, The Art of Computer Programming, 7.2.1.2, L."""
    while True:
        yield labels
        labels = labels.copy()
        place = next((i for i in reversed(range(len(labels) - 1)) if labels[i] < labels[i + 1]), None)
        if place is None:
            return
        other = next(i for i in reversed(range(len(labels))) if labels[i] > labels[place])
        labels[place], labels[other] = labels[other], labels[place]
        labels[place + 1 :] = reversed(labels[place + 1 :])


def single_rows(num_rows: int, *labels: Labels) -> Exchange:
    """Single messages as units, for scores of consistency.

    Args:
        num_rows: Number of messages.
        labels: Labels of messages and of meanings; the ones with fewer distinct pairings are used.
    """

    def alike() -> Labels:
        """The labels with the fewest distinct orders."""
        logarithms = [sum(math.lgamma(each + 1) for each in np.bincount(some).tolist()) for some in labels]
        return labels[int(np.argmax(logarithms))] if labels else np.arange(num_rows)

    return Exchange(np.arange(num_rows), alike, are_meanings=False)


Statistic = Callable[[Ints, Ints], Floats]
"""Function from (rows, partners), each (num_pairs,), to the figures of the metric, shape (num_figures,).

The message of `rows[k]` is paired with the meaning of `partners[k]`. An undefined figure is NaN. `rows` is ascending;
if it has all rows, only the pairing differs from the corpus. If meanings with different numbers of messages are
exchanged, a row may be the partner of several rows, or of none."""
Pairing = tuple[Ints, Ints]
"""Rows and partners."""
Statistics = Callable[[Iterable[Pairing]], Floats]
"""Function from pairings to the figures of each, (num_pairings, num_figures)."""
Nulls = Callable[[np.random.Generator, Iterable[Ints]], Floats]
"""Function that draws figures, (num_draws, num_figures), from a metric's own null distribution, for given sets of
ascending rows."""

VERSION = 4
"""Raised whenever the same input gives another chance level or interval."""
NUM_PERMUTATIONS = 100
"""Maximum number of draws from the null distribution, unless pairings are enumerated."""
NUM_SUBSAMPLES = 200
"""Maximum number of half-samples for an interval."""
MIN_DRAWS = 20
"""Minimum number of draws of either kind for a slow statistic: a p-value can still be below 0.05."""
WORK = 60_000_000
"""Limit of the table entries counted in all draws of one kind, which reduces the number of draws."""
EXACT_WORK = 4 * WORK
"""Limit of the table entries counted in all pairings, if they are enumerated."""
MAX_ROWS = 100_000
"""Maximum number of messages per draw, for corpora with more than twice as many."""
MIN_ROWS = 10
"""Minimum number of meanings for an interval, or of messages if these are the units."""
BATCH = 1 << 17
"""Number of items, such as symbols, in a batch of draws, so that it fits the cache."""
_has_few_draws = ContextVar("has_few_draws", default=False)


@dataclass(frozen=True, kw_only=True, slots=True)
class Uncertainty:
    """Interval and null distribution of one figure."""

    ci95: tuple[float, float] | None
    """The interval; None for few messages, or if a half-sample is undefined."""
    chance: Chance | None
    """The chance level; None if no draw of the null distribution is defined."""
    details: dict[str, Any]
    """The number of half-samples."""


def resample(
    statistic: Statistic | None,
    values: Sequence[float],
    *,
    num_rows: int,
    seed: int,
    work: int,
    exchange: Exchange | None = None,
    bounds: tuple[float, float] = (0.0, 1.0),
    nulls: Nulls | None = None,
    reference_values: Sequence[float] | None = None,
    max_rows: int = MAX_ROWS,
    max_permutations: int = NUM_PERMUTATIONS,
    max_subsamples: int = NUM_SUBSAMPLES,
    of_rows: Callable[[Ints], Statistics] | None = None,
    of_pairings: Statistics | None = None,
) -> list[Uncertainty]:
    """Draw a null distribution and half-samples, shared by all figures of a statistic.

    **Null distribution.** Messages are exchanged between meanings, all messages of a meaning together, which preserves
    both and removes their association. Scores of consistency exchange single messages, and a metric without meanings
    has its own null. Up to `MOST_PAIRINGS` distinct pairings are all enumerated, and the p-value is then exact;
    otherwise pairings are drawn. See `Chance.p_value` for the comparison of a score with them. If meanings have
    unequal frequencies (`Exchange.is_uneven`), the same number of messages of each is exchanged; the draws are then
    moved from the score of these to the score of all messages, see `moved`.

    **Interval.** Samples of half of the meanings, drawn without replacement, each with all its messages, give the
    standard error of the score, see `jackknife_interval`; if single messages are exchanged, samples of half of the
    messages. A half-sample without replacement varies around the corpus as the corpus varies around the language (Wu,
    1990; Politis and Romano, 1994), and unlike a bootstrap sample it has no repetitions. Plug-in estimates count
    repetitions as information, so the usual bootstrap interval of mutual information is entirely above the estimate. As
    it is centred, the interval shows the variation between corpora of the same size; the chance level shows the effect
    of the size. Meanings are treated as independent draws: an enumerated space of meanings varies less.

    Args:
        statistic: The figures as a function of a pairing; None with `of_rows` or `of_pairings`.
        values: The scores, shape (num_figures,).
        num_rows: Number of messages.
        seed: Seed of all draws.
        work: Table entries counted by one call of the statistic; determines the number of draws.
        exchange: Units of permutations and half-samples; None: single messages.
        bounds: Range of the figures; intervals are clipped to it.
        nulls: The metric's own null distribution, instead of exchanged messages.
        reference_values: Values of the statistic for the corpus, if it is a faster approximation of the scores, shape
            (num_figures,). They are compared with the null distribution instead of the scores.
        max_rows: Number of messages per draw of either kind, if the corpus has more than twice as many. As the chance
            level depends on this number, it is compared with the score of the messages whose meanings are exchanged or,
            if each draw has other messages, with the mean score of the interval's draws.
        max_permutations: Maximum number of draws from the null distribution, unless pairings are enumerated.
        max_subsamples: Maximum number of half-samples.
        of_rows: Makes `of_pairings` for a subset of the messages, by ascending rows, which it numbers from 0. The draws
            from a large corpus are then halves of `2 * max_rows` messages, which are drawn once.
        of_pairings: The statistic of many pairings, if it is faster to compute together.

    Returns:
        One item per figure.
    """
    exchange = single_rows(num_rows) if exchange is None else exchange
    by_meaning = exchange.are_meanings and nulls is None
    is_sampled = num_rows > 2 * max_rows
    is_made = of_rows is not None and (is_sampled or statistic is None)
    size = max_rows if is_sampled else num_rows // 2
    drawn_from = 2 * max_rows if is_sampled and (is_made or by_meaning) else num_rows
    number = num_draws(min(NUM_PERMUTATIONS, max_permutations), work)
    number_of_parts = num_draws(min(NUM_SUBSAMPLES, max_subsamples), work if is_sampled else work // 2)
    rng = np.random.default_rng([seed, num_rows if is_sampled else exchange.num_units])
    sample: Callable[..., Ints] = partial(half_sample, rng=rng)
    if is_sampled and nulls is None:
        sample = _cached_samples(rng, (seed, num_rows, size, drawn_from, by_meaning or number))
    every = sample(num_rows, size=drawn_from) if drawn_from < num_rows else np.arange(num_rows)
    if of_rows is not None and is_made:
        of_pairings = of_rows(every)
    rows = np.arange(drawn_from) if is_made else every
    figures_of = of_pairings or partial(stacked_figures, statistic)
    references, units, exchanged = values if reference_values is None else reference_values, num_rows, None
    if nulls is None and (by_meaning or not is_sampled):
        whole, exchanged, paired = exchange, exchange, rows
        if is_sampled:
            some = sample(drawn_from, size=size)
            whole, paired = exchange.take(every), rows[some]
            exchanged = whole.take(some)
            references = figures_of([(paired, paired)])[0].tolist()
        of_even: Floats | None = None
        if by_meaning and exchanged.is_uneven:
            some = exchanged.balanced()
            paired, exchanged = paired[some], exchanged.take(some)
            of_even = figures_of([(paired, paired)])[0]
        orders = exchanged.orders(rng, number, max(number, EXACT_WORK // max(1, work)))
        draws = figures_of((paired, paired[partners]) for partners in exchanged.partners(orders))
        draws = draws if of_even is None else moved(draws, of_even, np.array(references), bounds)
        units, drawn_from, size = exchange.num_units, whole.num_units, whole.num_units // 2
        samples = (rows[whole.rows_of(half_sample(drawn_from, rng))] for _ in range(number_of_parts))
        has_interval = drawn_from >= MIN_ROWS
    else:
        every_null = (rows[sample(drawn_from, size=size)] if is_sampled else rows for _ in range(number))
        if nulls is not None:
            draws = nulls(rng, every_null)
        else:
            draws = figures_of((each, rng.permutation(each)) for each in every_null)
        samples = (rows[sample(drawn_from, size=size)] for _ in range(number_of_parts))
        has_interval = num_rows >= MIN_ROWS
    parts = figures_of((each, each) for each in samples) if has_interval else np.zeros((0, len(values)))
    if is_sampled and exchanged is None:
        references = parts.mean(axis=0).tolist()
    level_of = partial(
        Chance.from_permutations,
        seed=seed,
        bounds=bounds,
        num_rows=max_rows if is_sampled else None,
        num_meanings=exchanged.num_units if by_meaning and exchanged is not None else None,
        num_pairings=None if exchanged is None else exchanged.num_pairings,
    )
    found = []
    for value, reference, of_null, part in zip(values, references, draws.T, parts.T, strict=True):
        compared = float(reference) if abs(reference - value) > NO_SPREAD else None
        chance = level_of(of_null, compared=compared) if np.isfinite(reference) else None
        interval = jackknife_interval(value, part, units, bounds, size, drawn_from)
        found.append(Uncertainty(ci95=interval, chance=chance, details={"subsamples": len(parts)}))
    return found


def moved(draws: Floats, of: Floats, to: Floats, bounds: tuple[float, float]) -> Floats:
    """Draws on the scale of other figures, in the same order relative to them.

    All are moved by the same difference, unless some would leave the range. Then its ends stay where they are, and the
    draws between an end and the figure are scaled.

    Args:
        draws: Draws, (num_draws, num_figures).
        of: Figures of the messages whose meanings are exchanged, (num_figures,).
        to: Figures of all messages, to which these are moved, (num_figures,).
        bounds: Range of the figures.
    """
    added, end = draws + (to - of), np.where(draws < of, *bounds)
    with np.errstate(invalid="ignore", divide="ignore"):
        scaled = end + (draws - end) * (to - end) / (of - end)
    leave = ((added < bounds[0]) | (added > bounds[1])).any(axis=0)
    return np.where(leave & np.isfinite(scaled), scaled, added)


def stacked_figures(statistic: Statistic | None, pairings: Iterable[Pairing]) -> Floats:
    """Stack the figures of each pairing, (num_pairings, num_figures)."""
    assert statistic is not None
    return np.stack([statistic(*pairing) for pairing in pairings])


def in_batches(figures_of: Callable[[list[Drawn]], Floats], size: int) -> Callable[[Iterable[Drawn]], Floats]:
    """Compute figures of many draws in batches: for a small corpus, a batch takes hardly longer than a single draw.

    Args:
        figures_of: Function for the figures of a batch of draws, such as pairings, (num_draws, num_figures).
        size: Number of items in a draw, such as symbols.
    """
    number = max(1, BATCH // max(1, size))

    def of_draws(draws: Iterable[Drawn]) -> Floats:
        every = iter(draws)
        return np.concatenate(list(map(figures_of, iter(lambda: list(islice(every, number)), []))))

    return of_draws


def _cached_samples(rng: np.random.Generator, key: Hashable) -> Callable[..., Ints]:
    """A `half_sample` function whose draws are cached in order under a key.

    Metrics of a large corpus draw the same rows. They are cached as differences, of one or two bytes each, with the
    state of the generator after each draw.
    """
    cached: list[Any] | None = cached_by(key, list)
    indices = count()

    def sample(num_rows: int, size: int) -> Ints:
        if cached is not None and (index := next(indices)) < len(cached):
            steps, rng.bit_generator.state = cached[index]
            return np.cumsum(steps, dtype=np.int64)
        rows = half_sample(num_rows, rng, size)
        if cached is not None:
            steps = np.diff(rows, prepend=0)
            cached.append((steps.astype(np.min_scalar_type(int(steps.max()))), rng.bit_generator.state))
        return rows

    return sample


def half_sample(num_rows: int, rng: np.random.Generator, size: int | None = None) -> Ints:
    """Half of the rows, or `size` of them, drawn without replacement, ascending."""
    size = num_rows // 2 if size is None else size
    is_drawn = np.zeros(num_rows, bool)
    if num_rows > 2 * MAX_ROWS:  # ten times faster, without a permutation
        is_drawn[rng.choice(num_rows, size, replace=False, shuffle=False)] = True
    else:
        is_drawn[rng.permutation(num_rows)[:size]] = True
    return np.flatnonzero(is_drawn)


def num_draws(most: int, work: int) -> int:
    """Number of draws if each counts `work` table entries."""
    if _has_few_draws.get():
        return 1
    return max(MIN_DRAWS, min(most, WORK // max(1, work)))


@contextmanager
def few_draws() -> Iterator[None]:
    """Context with one draw of each kind, for scores without their uncertainty."""
    before = _has_few_draws.set(True)
    try:
        yield
    finally:
        _has_few_draws.reset(before)


def jackknife_interval(
    value: float,
    parts: Floats,
    num_rows: int,
    bounds: tuple[float, float],
    size: int | None = None,
    drawn_from: int | None = None,
) -> tuple[float, float] | None:
    """The 95 % delete-d jackknife interval.

    Shao and Wu (1989), "A general theory for jackknife variance estimation", Annals of Statistics 17. The standard
    error is the standard deviation of a statistic over samples of `size` rows without replacement, times sqrt(size /
    (num_rows - size)). As it is estimated from few samples, the interval is Student's, with one degree of freedom less
    than the number of samples.

    Args:
        value: The score.
        parts: The figure of each sample, (num_samples,).
        num_rows: Number of messages.
        bounds: Range of the score.
        size: Number of messages of a sample, drawn without replacement; default: half of them.
        drawn_from: Number of messages from which samples are drawn, a subset of the corpus; default: all. The error is
            multiplied by sqrt(drawn_from / num_rows).

    Returns:
        None for fewer than two samples, or if a sample is undefined.
    """
    if len(parts) < 2 or np.isnan(parts).any():
        return None
    size = num_rows // 2 if size is None else size
    drawn_from = num_rows if drawn_from is None else drawn_from
    error = (
        float(parts.std(ddof=1)) * math.sqrt(size / (drawn_from - size)) * math.sqrt(drawn_from / num_rows)
    )
    half_width = student_quantile(1 - ALPHA / 2, len(parts) - 1) * error
    return max(bounds[0], value - half_width), min(bounds[1], value + half_width)
