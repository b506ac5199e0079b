"""TRE7, a tree reconstruction error: distance of the messages from sums of one part per attribute value."""

import math
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from msgspec import structs
from numpy.typing import NDArray

from ecsuite.corpus import Corpus
from ecsuite.eval.counts.exchange import of_meanings, sorted_rows
from ecsuite.eval.counts.positions import (
    CONSTANT_ATTRIBUTES,
    attribute_columns_or_reason,
    position_columns,
)
from ecsuite.eval.metrics.score import Options, Score, unscored
from ecsuite.eval.metrics.traits import Traits, metric
from ecsuite.eval.statistics.contingency import Floats, Ints
from ecsuite.eval.statistics.resampling import MIN_DRAWS, resample
from ecsuite.jobs.graph import Runner

NUM_OBJECTS = 300
"""Messages drawn without replacement from a larger corpus, as in the program of the ICY paper."""
NUM_STEPS = 10
"""Approximate number of passes over the design in a regression."""
NUM_COLUMNS_RESAMPLED = 16
"""Columns drawn for the null and the interval if the tables have more distinct columns."""


TRE7 = Traits(
    name="tre7",
    about="distance from sums of attribute parts",
    title="tree reconstruction error",
    high="0 if each position encodes at most one attribute; at most the message length",
    question="compositional",
    direction="lower",
    version=3,
    chance="shuffled meanings",
    needs=("attributes",),
    depends_on_size="free tables fit small corpora better",
    most_messages=NUM_OBJECTS,
    details={"share": "share of the error without meanings"},
)


@metric(TRE7)
def tre7(corpus: Corpus, options: Options, *, runner: Runner) -> list[Score]:
    """Tree reconstruction error of Andreas (2019), section 7, as Perkins (2021), section 3.2, measures it.

    A message is represented as a one-hot table of positions and symbols. Its reconstruction is the sum of one free
    table for each of its attribute values, transformed by a projection of positions that belongs to the attribute;
    the tables minimise the error. The value is this minimum: the mean over messages of the summed absolute
    differences. 0 if each position encodes at most one attribute; at most the length of the messages. `share` in the
    details is the error divided by the error of the best reconstruction that ignores meanings.

    As an invertible projection can be absorbed into the tables, trained and fixed projections have the same minimum.
    It is computed exactly here, by a least absolute deviations regression on the attribute values. Gradient descent
    stops above the minimum.

    EOS is removed; positions after the end of a message hold an extra symbol (blank). Undefined if all
    attributes are constant, and if there are at least as many free tables as messages, since these reconstruct any
    language.

    From a larger corpus 300 messages are drawn, independently of their order.

    Null and interval: 20 draws each, or all pairings of few meanings, see docs/reading_a_score.md. If more than 16
    distinct columns vary, at most 16 are drawn, with probabilities proportional to their error without meanings
    (`null_columns`), and the score estimated from them is compared with chance. Takes about 0.2 s for a corpus of 256
    messages.
    """
    score, errors = _value(corpus, options, runner)
    known = attribute_columns_or_reason(corpus)
    if score.value is None or isinstance(known, str):
        return [score]
    rows = draw_objects(corpus, options.seed)
    attributes, tables, times = _objects(corpus, known, rows)
    num_rows = len(attributes)
    exchange = of_meanings(corpus)
    assert exchange is not None
    ones = tables.sum(axis=0)
    ignoring = np.minimum(ones, num_rows - ones) * times
    chosen, weights = np.flatnonzero(ignoring), times.astype(np.float64)
    if is_sampled := len(chosen) > NUM_COLUMNS_RESAMPLED:
        # systematic sampling: the expected count of a column is its share of the error that ignores meanings
        share = ignoring / ignoring.sum()
        start = np.random.default_rng([options.seed, num_rows]).random()
        places = (start + np.arange(NUM_COLUMNS_RESAMPLED)) / NUM_COLUMNS_RESAMPLED
        drawn = np.searchsorted(np.cumsum(share), places * (1 - 1e-9), side="right")
        chosen, counts = np.unique(drawn, return_counts=True)
        weights[chosen] *= counts / (share[chosen] * NUM_COLUMNS_RESAMPLED)

    design, targets = free_indicators(attributes), tables[:, chosen].T

    def statistics(pairings: Iterable[tuple[Ints, Ints]]) -> Floats:
        """Figures of pairings, (num_pairings, 1), computed together: with one design, meanings stay and messages move.

        If meanings get other numbers of messages, each pairing has its own design.
        """
        pairs = list(pairings)
        if any(len(np.unique(partners)) < len(partners) for _, partners in pairs):
            return np.array([[of_design(*pairing)] for pairing in pairs])
        moved = np.zeros((len(pairs), len(chosen), num_rows))
        is_used = np.zeros(moved.shape, bool)
        for pairing, (rows, partners) in enumerate(pairs):
            moved[pairing][:, partners] = targets[:, rows]
            is_used[pairing][:, partners] = True
        flat = moved.reshape(-1, num_rows), is_used.reshape(-1, num_rows)
        errors = np.array(list(least_absolute_errors(design, *flat)))
        sizes = np.array([len(rows) for rows, _ in pairs])
        found = errors.reshape(len(pairs), -1) @ weights[chosen] / sizes
        is_known = [  # fewer free parameters than messages
            design.shape[1] < len(rows) or np.linalg.matrix_rank(design[rows]) < len(rows)
            for _, rows in pairs
        ]
        return np.where(is_known, found, np.nan)[:, None]

    def of_design(rows: Ints, partners: Ints) -> float:
        own = free_indicators(attributes[partners])
        if own.shape[1] >= len(rows) and np.linalg.matrix_rank(own) >= len(rows):
            return math.nan
        errors = np.array(list(least_absolute_errors(own, targets[:, rows])))
        return float(errors @ weights[chosen] / len(rows))

    (found,) = resample(
        None,
        [score.value],
        num_rows=num_rows,
        exchange=exchange.take(rows),
        seed=options.seed,
        of_pairings=statistics,
        work=NUM_STEPS * num_rows * len(chosen) * design.shape[1],
        max_permutations=MIN_DRAWS,  # a regression is slow
        max_subsamples=MIN_DRAWS,
        bounds=(0.0, float(ignoring.sum() / num_rows)),
        reference_values=[float(errors[chosen] @ weights[chosen] / num_rows)] if is_sampled else None,
    )
    how = {"null_columns": len(chosen)} if is_sampled else {}
    return [
        structs.replace(
            score, ci95=found.ci95, chance=found.chance, details={**score.details, **found.details, **how}
        )
    ]


def plain_tre7(corpus: Corpus, options: Options) -> list[Score]:
    """`tre7` without null and interval, for studies that need only the value."""
    return [_value(corpus, options, Runner())[0]]


def _value(corpus: Corpus, options: Options, runner: Runner) -> tuple[Score, Floats]:
    """Score without null and interval, and the error of each distinct column (empty if undefined)."""
    how = {"compose": "sum", "error": "l1", "fit": "optimum", "past_end": "blank", "eos": "strip"}
    drawn = {}
    if len(corpus.messages) > NUM_OBJECTS:
        drawn = {"objects": NUM_OBJECTS, "seed": options.seed}
    score = unscored(TRE7, **how, **drawn)
    known = attribute_columns_or_reason(corpus)
    if isinstance(known, str):
        return score(value=None, reason=known), np.zeros(0)
    if len(known) < 2:
        return score(value=None, reason="fewer than two attributes"), np.zeros(0)
    attributes, tables, times = _objects(corpus, known, draw_objects(corpus, options.seed))
    num_rows = len(attributes)
    if not np.ptp(tables, axis=0).any():
        return score(value=None, reason="every position is constant over all messages"), np.zeros(0)
    if not np.ptp(attributes, axis=0).any():
        return score(value=None, reason=CONSTANT_ATTRIBUTES), np.zeros(0)
    design = free_indicators(attributes)
    if design.shape[1] >= num_rows:
        return score(value=None, reason="at least as many free parameters as messages"), np.zeros(0)
    errors = np.zeros(len(times))
    for done, error in enumerate(least_absolute_errors(design, tables.T)):
        runner.progress("tre7", done, len(times))
        errors[done] = error
    ones = tables.sum(axis=0)
    ignoring = float(np.minimum(ones, num_rows - ones) @ times) / num_rows
    value = float(errors @ times) / num_rows
    details = {"num_objects": num_rows, "share": min(1.0, value / ignoring)}
    return score(value=value, details=details), errors


def _objects(corpus: Corpus, attributes: NDArray[np.integer[Any]], rows: Ints) -> tuple[Ints, Floats, Ints]:
    """Attributes of the objects to reconstruct, distinct columns of their tables, and the frequency of each column."""
    columns = position_columns(corpus)[:, rows]
    tables, times = np.unique(one_hot(columns), axis=1, return_counts=True)
    return attributes[:, rows].T.astype(np.int64), tables, times


def draw_objects(corpus: Corpus, seed: int) -> Ints:
    """Rows to reconstruct: all, or `NUM_OBJECTS` drawn without replacement, independently of their order."""
    num_messages = len(corpus.messages)
    exchange = of_meanings(corpus)
    if num_messages <= NUM_OBJECTS or exchange is None:
        return np.arange(num_messages)
    drawn = np.sort(np.random.default_rng(seed).choice(num_messages, NUM_OBJECTS, replace=False))
    return sorted_rows(corpus, exchange)[drawn]


def one_hot(columns: NDArray[np.integer[Any]]) -> Floats:
    """One-hot encoding of position columns, shape (num_messages, number of (position, symbol) pairs that occur)."""
    indicators = [column[:, None] == np.unique(column) for column in columns]
    return np.concatenate(indicators, axis=1).astype(np.float64)


def free_indicators(attributes: Ints) -> Floats:
    """Constant and non-redundant indicators of attribute values: a basis of the additive functions.

    Args:
        attributes: Codes of attribute values, shape (num_messages, num_attributes).

    Returns:
        Linearly independent columns, shape (num_messages, rank).
    """
    indicators = [values[:, None] == np.unique(values)[1:] for values in attributes.T]
    design = np.concatenate([np.ones((len(attributes), 1)), *indicators], axis=1)
    kept: list[int] = []
    basis = np.zeros((len(attributes), 0))
    for index, column in enumerate(design.T):
        rest = column - basis @ (basis.T @ column)
        rest -= basis @ (basis.T @ rest)  # twice, to remove rounding errors
        if np.linalg.norm(rest) > 1e-9:
            kept.append(index)
            basis = np.concatenate([basis, rest[:, None] / np.linalg.norm(rest)], axis=1)
    return np.asarray(design[:, kept])


Flags = NDArray[np.bool_]

NUM_TOGETHER = 64
"""Targets that are computed together, so that they fit the processor's cache."""
MAX_STEPS = 40
"""Maximum number of steps of the interior point method; most targets need 4 to 9."""
TOLERANCE = 1e-9
"""Maximum gap between an error and its proven lower bound, relative to 1 plus the target's absolute sum."""
STEP = 0.9995
"""Step length, as a share of the way to the bounds."""
RIDGE = 1e-14
"""Ridge relative to the mean of the diagonal, which makes singular equations solvable."""


def least_absolute_errors(design: Floats, targets: Floats, is_used: Flags | None = None) -> Iterator[float]:
    """Minimise the sum of absolute deviations of each target from linear combinations of the columns of a design.

    Each minimum is proven by duality: for all signs t in [-1, 1] with X't = 0, y·t is a lower bound, and signs are
    found whose bound is the error up to `TOLERANCE`. Many targets need one least squares (`_zero_is_best`), others the
    method of `_Interior`; if rounding stops it, which never happened with one-hot targets, the simplex method is used.

    Args:
        design: X, shape (num_rows, num_parameters).
        targets: y, shape (num_targets, num_rows).
        is_used: The rows that count for each target, in the shape of `targets`; None: all.

    Yields:
        The minimum of each target.
    """
    if is_used is None:
        is_used = np.ones(targets.shape, bool)
    products = _Products(design)
    for start in range(0, len(targets), NUM_TOGETHER):
        part = slice(start, start + NUM_TOGETHER)
        used = is_used[part]
        values = targets[part] * used
        errors = np.abs(values).sum(1)
        others = np.flatnonzero(~_zero_is_best(products, values, used))
        if len(others):
            errors[others] = _Interior(products, values[others], used[others]).errors()
        for place in np.flatnonzero(np.isnan(errors)):
            errors[place] = simplex_error(design[used[place]], values[place, used[place]])
        yield from np.where(errors > TOLERANCE, errors, 0).tolist()


def simplex_error(design: Floats, target: Floats) -> float:
    """Minimum error of a target by simplex, from the dual linear programme: max y·t over t in [-1, 1] with X't = 0."""
    from scipy.optimize import Bounds, LinearConstraint, milp  # imported late: 0.1 s, and hardly ever needed

    found = milp(-target, constraints=LinearConstraint(design.T, 0, 0), bounds=Bounds(-1, 1))
    assert found.success, found.message  # t = 0 is feasible and the box is bounded
    return -float(found.fun)


class _Products:
    """Compute X'WX for many diagonal W at once, as one product of the weights with the products of pairs of columns."""

    def __init__(self, design: Floats) -> None:
        self.design = design
        width = design.shape[1]
        first, second = np.triu_indices(width)
        self.pairs = design[:, first] * design[:, second]
        place = np.zeros((width, width), int)
        place[first, second] = place[second, first] = np.arange(len(first))
        self.place = place.ravel()

    def weighted(self, weights: Any, ridge: float = 0.0) -> Floats:
        """X'WX for each row of weights, (num_targets, num_rows), with a ridge in addition to the relative one."""
        width = self.design.shape[1]
        found = (weights @ self.pairs).take(self.place, axis=1)
        found[:, :: width + 1] += RIDGE * found[:, :: width + 1].mean(1, keepdims=True) + ridge
        return np.asarray(found.reshape(-1, width, width))

    def solved(self, weighted: Floats, values: Floats) -> Floats:
        """The solution b of X'WX b = X'v for each row v of values."""
        return np.asarray(np.linalg.solve(weighted, (values @ self.design)[..., None])[..., 0])


def _zero_is_best(products: _Products, targets: Floats, is_used: Flags) -> Flags:
    """Whether zero is proven to be the best approximation of a target.

    The proof is a t as in `least_absolute_errors` that has the signs of the target where it is not 0. Only the t from
    least squares at the target's zeros is tried, so False proves nothing.
    """
    signs = np.sign(targets)
    is_zero = is_used & (targets == 0)
    weighted = products.weighted(is_zero.astype(float), ridge=1e-12)
    signs -= is_zero * (products.solved(weighted, signs) @ products.design.T)
    outside = np.abs(np.where(is_zero, signs, 0)).max(1) > 1 - TOLERANCE
    return np.asarray(~outside & (np.abs(signs @ products.design).max(1) <= TOLERANCE))


class _Interior:
    """The interior point method of Portnoy and Koenker (1997), "The Gaussian hare and the Laplacian tortoise".

    Statistical Science 12; with Mehrotra's predictor and corrector. `signs` t stay within (-1, 1) and have X't = 0.
    `above` and `below` are the positive and negative parts of the residuals y - Xb at the minimum, where above (1 - t)
    = 0 and below (1 + t) = 0: both products go to 0 together. `weights` are b, (num_targets, num_parameters); other
    arrays are (num_targets, num_rows).
    """

    def __init__(self, products: _Products, targets: Floats, is_used: Flags) -> None:
        self.products = products
        self.of = np.arange(len(targets))  # indices of the remaining targets
        self.found = np.full(len(targets), np.nan)
        self.targets, self.is_used = targets, is_used
        self.weights = products.solved(products.weighted(is_used.astype(float)), targets)
        self.residuals = targets - self.weights @ products.design.T
        used_residuals = np.abs(self.residuals * is_used)
        self.scale = used_residuals.sum(1, keepdims=True) / is_used.sum(1, keepdims=True)
        self.scale += 1e-12 * (1 + np.abs(targets).max(1, keepdims=True))
        self.signs = np.zeros(targets.shape)
        # unused rows keep 1 and have no effect
        self.above = np.where(is_used, np.maximum(self.residuals, 0) + 0.3 * self.scale, 1)
        self.below = np.where(is_used, np.maximum(-self.residuals, 0) + 0.3 * self.scale, 1)
        self.tolerance = TOLERANCE * (1 + np.abs(targets).sum(1))
        self.goal = self.tolerance

    def errors(self) -> Floats:
        """Compute the error of each target; NaN if it is not proven to be the minimum."""
        for _ in range(MAX_STEPS):
            gap = self._gap(self.above, self.below, self.signs)
            is_near = ~(gap > self.goal)
            if is_near.any():
                self.goal = np.where(is_near, self.goal / 100, self.goal)
                is_near[is_near] = self._is_shown(is_near)
                gap = gap[~is_near]
                self._leave(~is_near)
            if not len(self.of):
                break
            self._step(gap)
        return self.found

    def _gap(self, above: Floats, below: Floats, signs: Floats) -> Floats:
        return np.asarray(((above * (1 - signs) + below * (1 + signs)) * self.is_used).sum(1))

    def _leave(self, which: Flags) -> None:
        names = ("of", "targets", "is_used", "weights", "residuals", "scale", "signs", "above", "below")
        for name in (*names, "tolerance", "goal"):
            setattr(self, name, getattr(self, name)[which])

    def _step(self, gap: Floats) -> None:
        to_high, to_low = 1 / (1 - self.signs), 1 / (1 + self.signs)
        spread = self.is_used / (self.above * to_high + self.below * to_low)
        weighted = self.products.weighted(spread)

        def direction(high: Floats, low: Floats) -> tuple[Floats, Floats, Floats, Floats, Floats]:
            """Changes of weights, residuals, signs, above and below that change both products so, to first order."""
            rest = self.residuals - self.above + self.below - high * to_high + low * to_low
            weights = self.products.solved(weighted, spread * rest + self.signs)
            residuals = weights @ self.products.design.T
            signs = spread * (rest - residuals)
            above, below = (high + self.above * signs) * to_high, (low - self.below * signs) * to_low
            return weights, residuals, signs, above, below

        def lengths(signs: Floats, above: Floats, below: Floats) -> tuple[Floats, Floats]:
            """Largest steps of signs, and of above and below, within their bounds."""
            faster = np.maximum(signs * to_high, -signs * to_low).max(1, keepdims=True)
            slower = np.maximum(-above / self.above, -below / self.below).max(1, keepdims=True)
            return STEP / np.maximum(STEP, faster), STEP / np.maximum(STEP, slower)

        high, low = -self.above * (1 - self.signs), -self.below * (1 + self.signs)
        *_, signs, above, below = direction(high * self.is_used, low * self.is_used)
        of_signs, of_others = lengths(signs, above, below)
        after = self._gap(
            self.above + of_others * above, self.below + of_others * below, self.signs + of_signs * signs
        )
        aim = ((after / gap) ** 3 * gap / (2 * self.is_used.sum(1)))[:, None]
        high, low = high + aim + signs * above, low + aim - signs * below
        weights, residuals, signs, above, below = direction(high * self.is_used, low * self.is_used)
        of_signs, of_others = lengths(signs, above, below)
        self.signs = self.signs + of_signs * signs
        self.weights = self.weights + of_others * weights
        self.residuals = self.residuals - of_others * residuals
        self.above, self.below = self.above + of_others * above, self.below + of_others * below

    def _is_shown(self, which: Flags) -> Flags:
        """Store the errors of some targets that are proven minima; return which.

        Rows with seemingly zero residual get exactly zero: without rounding, the weights are then a minimum, and the
        signs a proof.
        """
        design, targets, is_used = self.products.design, self.targets[which], self.is_used[which]
        high, low = self.scale * (1 - self.signs), self.scale * (1 + self.signs)
        is_met = is_used & ((self.above < high) & (self.below < low))[which]
        weights, signs = self.weights[which], np.where(is_met, self.signs[which], np.sign(self.signs[which]))
        weighted = self.products.weighted(is_met.astype(float), ridge=1e-10)
        for _ in range(2):  # the second removes rounding
            weights = weights + self.products.solved(weighted, is_met * (targets - weights @ design.T))
            signs = signs - is_met * (self.products.solved(weighted, signs) @ design.T)
        errors = (np.abs(targets - weights @ design.T) * is_used).sum(1)
        proved = (signs * targets).sum(1) / np.maximum(1, np.abs(signs).max(1))
        is_shown = errors - proved <= self.tolerance[which]
        is_shown &= np.abs(signs @ design).max(1) <= self.tolerance[which]
        self.found[self.of[which][is_shown]] = errors[is_shown]
        return np.asarray(is_shown)
