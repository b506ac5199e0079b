"""TRE7, a tree reconstruction error: distance of the messages from sums of one part per attribute value."""

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
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
from ecsuite.eval.statistics.absolute_deviations import least_absolute_errors
from ecsuite.eval.statistics.contingency import Floats, Ints
from ecsuite.eval.statistics.resampling import MIN_DRAWS, resample

NUM_OBJECTS = 300
"""Messages drawn without replacement from a larger corpus, as in the program of the ICY paper."""
NUM_STEPS = 10
"""Passes over the design that a regression makes, about."""
NUM_COLUMNS_RESAMPLED = 16
"""Columns drawn for the null and the interval, if the tables have more distinct columns."""


TRE7 = Traits(
    name="tre7",
    about="distance from sums of attribute parts",
    title="tree reconstruction error",
    high="0 if each position encodes at most one attribute; at most the length of the messages",
    question="compositional",
    direction="lower",
    version=3,
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
    language.

    Of more than 300 messages, so many are drawn, whatever their order in the corpus.

    Null and interval: 20 draws each, or all pairings of few meanings, see `resampling.resample`. If more than 16
    distinct columns are not constant, at most 16 are drawn, with probabilities proportional to their error without
    meanings (`null_columns`), and the score estimated from them is compared with chance. Takes about 0.2 s for a corpus
    of 256 messages.
    """
    score, errors = _value(corpus, options)
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
        # systematic sampling: a column is expected as often as its share of the error that ignores meanings
        share = ignoring / ignoring.sum()
        start = np.random.default_rng([options.seed, num_rows]).random()
        places = (start + np.arange(NUM_COLUMNS_RESAMPLED)) / NUM_COLUMNS_RESAMPLED
        drawn = np.searchsorted(np.cumsum(share), places * (1 - 1e-9), side="right")
        chosen, counts = np.unique(drawn, return_counts=True)
        weights[chosen] *= counts / (share[chosen] * NUM_COLUMNS_RESAMPLED)

    design, targets = free_indicators(attributes), tables[:, chosen].T

    def statistics(pairings: Iterable[tuple[Ints, Ints]]) -> Floats:
        """Figures of pairings, (num_pairings, 1); all together, as they have one design: meanings stay, messages move.

        Where meanings take other numbers of messages, each pairing has a design of its own.
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
        """Figures of one pairing."""
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
        options.progress("tre7", done, len(times))
        errors[done] = error
    ones = tables.sum(axis=0)
    ignoring = float(np.minimum(ones, num_rows - ones) @ times) / num_rows
    value = float(errors @ times) / num_rows
    details = {"num_objects": num_rows, "share": min(1.0, value / ignoring)}
    return score(value=value, details=details), errors


def _objects(corpus: Corpus, attributes: NDArray[np.integer[Any]], rows: Ints) -> tuple[Ints, Floats, Ints]:
    """The attributes of the objects to reconstruct, the distinct columns of their tables, and the number of each."""
    columns = position_columns(corpus)[:, rows]
    tables, times = np.unique(one_hot(columns), axis=1, return_counts=True)
    return attributes[:, rows].T.astype(np.int64), tables, times


def draw_objects(corpus: Corpus, seed: int) -> Ints:
    """The rows to reconstruct: all, or `NUM_OBJECTS` drawn without replacement, whatever their order."""
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
