"""TRE7, a tree reconstruction error: how far are the messages from sums of what stands for each attribute value?"""

from dataclasses import replace
from functools import partial

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_array

from ecsuite.corpus import Corpus
from ecsuite.eval.metrics.score import Options, Score, signature
from ecsuite.eval.statistics.counting import Floats, Ints
from ecsuite.eval.statistics.positions import attributes_or_reason, position_columns
from ecsuite.eval.statistics.resampling import WORK, resample

VERSION = 1
NUM_OBJECTS = 300
"""Of a larger corpus, this many messages are drawn without replacement, as the ICY paper's program does."""
NUM_COLUMNS_RESAMPLED = 16
"""Of more different columns of the tables, the null and the interval draw this many."""


def tre7(corpus: Corpus, options: Options) -> list[Score]:
    """Tree reconstruction error of Andreas (2019), section 7, as Perkins (2021), section 3.2, measures it.

    A message is the table of what stands where, a 1 for each position and symbol. Its reconstruction is the
    sum of one free table for each of its attribute values, moved by a projection of positions that belongs
    to the attribute; the tables are those with the least error. The value is that error: the mean over
    messages of the summed absolute differences. 0 where each position speaks of one attribute, or of none;
    at most the length of the messages. In the details also `share`: the error over that of the best
    reconstruction that ignores meanings.

    As any projection that loses nothing can be undone in the tables, trained or fixed projections have the
    same least error, and this is it: a least absolute deviations regression on the attribute values, solved
    exactly. Gradient descent ends above it (see `ecsuite.eval.icy.trained_tre`).

    Beyond the end of a message, without EOS, stands a symbol of its own, a blank. Undefined where there are
    as many free tables as messages, since these reconstruct anything. It takes some 5 ms for each
    different column of the tables: half a second for 20 positions of 4 symbols.

    Null and interval: 20 draws each, see `resampling.resample`; of more than 16 different columns that vary they
    take at most 16, drawn by how much they add to the error that ignores meanings (`null_columns`), and
    `null_value` is then what these put the score at. Some 3 s for a corpus of 256 messages.
    """
    [score] = plain_tre7(corpus, options)
    if score.value is None:
        return [score]
    attributes, tables, times = _objects(corpus, options.seed)
    num_rows = len(attributes)
    ones = tables.sum(axis=0)
    ignoring = np.minimum(ones, num_rows - ones) * times
    chosen, weights = np.flatnonzero(ignoring), times.astype(np.float64)
    if is_sampled := len(chosen) > NUM_COLUMNS_RESAMPLED:
        # systematic sampling: each column as often as its share of the error that ignores meanings, on average
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
        errors = [least_absolute_error(design, table) for table in tables[rows][:, chosen].T]
        return np.array([np.array(errors) @ weights[chosen] / len(rows)])

    everyone = np.arange(num_rows)
    (found,) = resample(
        statistic,
        [score.value],
        num_rows=num_rows,
        seed=options.seed,
        work=WORK,  # a regression is dear
        tails=["low"],
        bounds=(0.0, float(ignoring.sum() / num_rows)),
        stand_ins=statistic(everyone, everyone).tolist() if is_sampled else None,
    )
    how = {"null_columns": len(chosen)} if is_sampled else {}
    return [replace(score, ci95=found.ci95, details={**score.details, **found.details, **how})]


def plain_tre7(corpus: Corpus, options: Options) -> list[Score]:
    """`tre7` without null and interval, for studies that use the value alone."""
    drawn = {"objects": NUM_OBJECTS, "seed": options.seed}
    objects = drawn if len(corpus.messages) > NUM_OBJECTS else {"objects": "all"}
    how = {"compose": "sum", "error": "l1", "fit": "optimum", "past_end": "blank", "eos": "strip"}
    about = "distance from sums of attributes' parts"
    score = partial(Score, name="tre7", about=about, signature=signature("tre7", VERSION, **how, **objects))
    attributes = attributes_or_reason(corpus)
    if isinstance(attributes, str):
        return [score(value=None, reason=attributes)]
    if attributes.shape[1] < 2:
        return [score(value=None, reason="composition takes two attributes")]
    attributes, tables, times = _objects(corpus, options.seed)
    num_rows = len(attributes)
    if not np.ptp(tables, axis=0).any():
        return [score(value=None, reason="no position varies from message to message")]
    design = free_indicators(attributes)
    if design.shape[1] >= num_rows:
        return [score(value=None, reason="as many free parts as messages reconstruct any language")]
    errors = np.zeros(len(times))
    for done, table in enumerate(tables.T):
        options.progress("tre7", done, len(times))
        errors[done] = least_absolute_error(design, table)
    ones = tables.sum(axis=0)
    ignoring = float(np.minimum(ones, num_rows - ones) @ times) / num_rows
    value = float(errors @ times) / num_rows
    details = {"num_objects": num_rows, "share": min(1.0, value / ignoring)}
    return [score(value=value, details=details)]


def _objects(corpus: Corpus, seed: int) -> tuple[Ints, Floats, Ints]:
    """What is to be reconstructed, and from what, of a corpus with attributes and messages.

    Returns:
        The attribute values (num_objects, num_attributes), the different columns of the tables (num_objects,
        num_columns), and how often each occurs (num_columns,).
    """
    attributes = attributes_or_reason(corpus)
    assert not isinstance(attributes, str)  # the caller has looked
    rows = draw_objects(len(attributes), seed)
    columns = position_columns(corpus)[:, rows]
    tables, times = np.unique(one_hot(columns), axis=1, return_counts=True)
    return attributes[rows], tables, times


def draw_objects(num_messages: int, seed: int) -> Ints:
    """The rows to reconstruct, ascending: all, or `NUM_OBJECTS` drawn without replacement."""
    if num_messages <= NUM_OBJECTS:
        return np.arange(num_messages)
    return np.sort(np.random.default_rng(seed).choice(num_messages, NUM_OBJECTS, replace=False))


def one_hot(columns: Ints) -> Floats:
    """A 1 for each symbol at each position, (num_messages, one for each pair in use), from position columns."""
    indicators = [column[:, None] == np.unique(column) for column in columns]
    return np.concatenate(indicators, axis=1).astype(np.float64)


def free_indicators(attributes: Ints) -> Floats:
    """A constant, and a 1 for each value of each attribute but redundant ones: a basis of additive functions.

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
        rest -= basis @ (basis.T @ rest)  # twice is enough for the rounding noise
        if np.linalg.norm(rest) > 1e-9:
            kept.append(index)
            basis = np.concatenate([basis, rest[:, None] / np.linalg.norm(rest)], axis=1)
    return np.asarray(design[:, kept])


def least_absolute_error(design: Floats, target: Floats) -> float:
    """The least sum of absolute deviations of a target from linear combinations of the design's columns.

    Solved as its dual linear programme, max y·t over residual signs t in [-1, 1] with X't = 0, by simplex.

    Args:
        design: X, shape (num_messages, num_parameters).
        target: y, shape (num_messages,).
    """
    constraints = csr_array(design.T)
    zeros = np.zeros(design.shape[1])
    solution = linprog(-target, A_eq=constraints, b_eq=zeros, bounds=(-1, 1), method="highs-ds")
    assert solution.success, solution.message  # t = 0 is feasible and the box is bounded
    error = -float(solution.fun)
    return error if error > 1e-9 else 0.0
