"""TRE7, a tree reconstruction error: distance of the messages from sums of one part per attribute value."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array

from ecsuite.corpus import Corpus
from ecsuite.eval.metrics.score import Options, Score, unscored
from ecsuite.eval.metrics.side_by_side import num_threads
from ecsuite.eval.metrics.traits import Traits, metric
from ecsuite.eval.statistics.counting import Floats, Ints
from ecsuite.eval.statistics.positions import (
    CONSTANT_ATTRIBUTES,
    attribute_columns_or_reason,
    position_columns,
)
from ecsuite.eval.statistics.resampling import WORK, resample

NUM_OBJECTS = 300
"""Messages drawn without replacement from a larger corpus, as in the program of the ICY paper."""
NUM_COLUMNS_RESAMPLED = 16
"""Columns drawn for the null and the interval, if the tables have more distinct columns."""


TRE7 = Traits(
    name="tre7",
    about="distance from sums of attribute parts",
    title="tree reconstruction error",
    high="0 if each position encodes at most one attribute; at most the length of the messages",
    question="compositional",
    direction="lower",
    version=2,
    chance="shuffled meanings",
    needs=("attributes",),
    depends_on_size="the free tables fit few messages better than many",
    most_messages=NUM_OBJECTS,
    details={"share": "share of the error without meanings"},
)


@metric(TRE7)
def tre7(corpus: Corpus, options: Options) -> list[Score]:
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
    language. Takes about 5 ms for each distinct column
    of the tables: 0.5 s for 20 positions of 4 symbols.

    Null and interval: 20 draws each, see `resampling.resample`. If more than 16 distinct columns are not constant, at
    most 16 are drawn, with probabilities proportional to their error without meanings (`null_columns`), and
    the score estimated from them is compared with chance. Takes about 3 s for a corpus of 256 messages.
    """
    score, errors = _value(corpus, options)
    known = attribute_columns_or_reason(corpus)
    if score.value is None or isinstance(known, str):
        return [score]
    attributes, tables, times = _objects(corpus, known, options.seed)
    num_rows = len(attributes)
    ones = tables.sum(axis=0)
    ignoring = np.minimum(ones, num_rows - ones) * times
    chosen, weights = np.flatnonzero(ignoring), times.astype(np.float64)
    if is_sampled := len(chosen) > NUM_COLUMNS_RESAMPLED:
        # systematic sampling: a column is expected as often as its share of the error that ignores meanings
        share = ignoring / ignoring.sum()
        start = np.random.default_rng([options.seed, num_rows]).random()
        places = (start + np.arange(NUM_COLUMNS_RESAMPLED)) / NUM_COLUMNS_RESAMPLED
        drawn = np.searchsorted(np.cumsum(share), places * (1 - 1e-9), side="right")
        chosen, counts = np.unique(drawn, return_counts=True)
        weights[chosen] *= counts / (share[chosen] * NUM_COLUMNS_RESAMPLED)

    def statistic(rows: Ints, partners: Ints) -> Floats:
        design = free_indicators(attributes[partners])
        if design.shape[1] >= len(rows):
            return np.array([np.nan])
        errors = np.array(list(least_absolute_errors(design, tables[rows][:, chosen])))
        return np.array([errors @ weights[chosen] / len(rows)])

    (found,) = resample(
        statistic,
        [score.value],
        num_rows=num_rows,
        seed=options.seed,
        work=WORK,  # a regression is slow: the minimum number of draws
        bounds=(0.0, float(ignoring.sum() / num_rows)),
        reference_values=[float(errors[chosen] @ weights[chosen] / num_rows)] if is_sampled else None,
    )
    how = {"null_columns": len(chosen)} if is_sampled else {}
    return [
        replace(
            score, ci95=found.ci95, chance=found.chance, details={**score.details, **found.details, **how}
        )
    ]


def plain_tre7(corpus: Corpus, options: Options) -> list[Score]:
    """`tre7` without null and interval, for studies that need only the value."""
    return [_value(corpus, options)[0]]


def _value(corpus: Corpus, options: Options) -> tuple[Score, Floats]:
    """The score without null and interval, and the error of each distinct column; none without a value."""
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
    attributes, tables, times = _objects(corpus, known, options.seed)
    num_rows = len(attributes)
    if not np.ptp(tables, axis=0).any():
        return score(value=None, reason="every position is constant over all messages"), np.zeros(0)
    if not np.ptp(attributes, axis=0).any():
        return score(value=None, reason=CONSTANT_ATTRIBUTES), np.zeros(0)
    design = free_indicators(attributes)
    if design.shape[1] >= num_rows:
        return score(value=None, reason="at least as many free parameters as messages"), np.zeros(0)
    errors = np.zeros(len(times))
    for done, error in enumerate(least_absolute_errors(design, tables)):
        options.progress("tre7", done, len(times))
        errors[done] = error
    ones = tables.sum(axis=0)
    ignoring = float(np.minimum(ones, num_rows - ones) @ times) / num_rows
    value = float(errors @ times) / num_rows
    details = {"num_objects": num_rows, "share": min(1.0, value / ignoring)}
    return score(value=value, details=details), errors


def _objects(corpus: Corpus, attributes: NDArray[np.integer[Any]], seed: int) -> tuple[Ints, Floats, Ints]:
    """The attributes of the objects to reconstruct, the distinct columns of their tables, and the number of each."""
    rows = draw_objects(attributes.shape[1], seed)
    columns = position_columns(corpus)[:, rows]
    tables, times = np.unique(one_hot(columns), axis=1, return_counts=True)
    return attributes[:, rows].T.astype(np.int64), tables, times


def draw_objects(num_messages: int, seed: int) -> Ints:
    """The rows to reconstruct, ascending: all, or `NUM_OBJECTS` drawn without replacement."""
    if num_messages <= NUM_OBJECTS:
        return np.arange(num_messages)
    return np.sort(np.random.default_rng(seed).choice(num_messages, NUM_OBJECTS, replace=False))


def one_hot(columns: NDArray[np.integer[Any]]) -> Floats:
    """One-hot encoding of position columns, shape (num_messages, number of (position, symbol) pairs that occur)."""
    indicators = [column[:, None] == np.unique(column) for column in columns]
    return np.concatenate(indicators, axis=1).astype(np.float64)


def free_indicators(attributes: Ints) -> Floats:
    """A constant and indicators of attribute values without redundant ones: a basis of the additive functions.

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


def least_absolute_errors(design: Floats, targets: Floats) -> Iterator[float]:
    """The minimum sum of absolute deviations of each target from linear combinations of the columns of a design.

    Each is solved as its dual linear programme, max y·t over residual signs t in [-1, 1] with X't = 0, by simplex,
    unless `zero_is_best`; in threads, as the solver is most of the time and holds no lock.

    Args:
        design: X, linearly independent columns, shape (num_messages, num_parameters).
        targets: y of each programme, shape (num_messages, num_targets).

    Yields:
        The minimum of each target.
    """
    from scipy.optimize import (  # a tenth of a second, for those who read traits only
        Bounds,
        LinearConstraint,
        milp,
    )

    constraints = LinearConstraint(csc_array(design.T), 0, 0)

    products = design.T @ design

    def solve(target: Floats) -> float:
        if zero_is_best(design, products, target):
            return float(np.abs(target).sum())
        # HiGHS as `linprog` calls it, with less done around it; presolve finds nothing to leave out here
        solution = milp(-target, constraints=constraints, bounds=Bounds(-1, 1), options={"presolve": False})
        assert solution.success, solution.message  # t = 0 is feasible and the box is bounded
        error = -float(solution.fun)
        return error if error > 1e-9 else 0.0

    with ThreadPoolExecutor(num_threads()) as threads:
        yield from threads.map(solve, targets.T)


def zero_is_best(design: Floats, products: Floats, target: Floats) -> bool:
    """Whether it is shown that no combination of the columns comes nearer to a target than zero does.

    It is if residual signs t exist as in `least_absolute_errors` that are the signs of the target where it is not 0.
    Those of least squares at its zeros are looked at alone, so that False shows nothing.

    Args:
        design: X, linearly independent columns, shape (num_messages, num_parameters).
        products: X'X.
        target: y, shape (num_messages,).
    """
    is_zero = target == 0
    if 2 * is_zero.sum() < len(target):
        return False
    zeros, others = design[is_zero], design[~is_zero]
    sums = np.sign(target[~is_zero]) @ others
    try:
        signs = zeros @ np.linalg.solve(products - others.T @ others, -sums)
    except np.linalg.LinAlgError:
        return False
    return bool(np.abs(signs).max() <= 1 - 1e-9 and np.abs(signs @ zeros + sums).max() <= 1e-9)
