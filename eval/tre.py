"""TRE7, a tree reconstruction error: how far are the messages from sums of what stands for each attribute value?"""

from functools import partial

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_array

from ecsuite.corpus import Corpus
from ecsuite.eval.counting import Floats, Ints
from ecsuite.eval.positions import attributes_or_reason, position_columns
from ecsuite.eval.score import Options, Score, signature

VERSION = 1
NUM_OBJECTS = 300
"""Of a larger corpus, this many messages are drawn without replacement, as the ICY paper's program does."""


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
    """
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
    rows = draw_objects(len(attributes), options.seed)
    columns = position_columns(corpus)[:, rows]
    if not np.ptp(columns, axis=1).any():
        return [score(value=None, reason="no position varies from message to message")]
    design = free_indicators(attributes[rows])
    if design.shape[1] >= len(rows):
        return [score(value=None, reason="as many free parts as messages reconstruct any language")]
    tables, times = np.unique(one_hot(columns), axis=1, return_counts=True)
    errors = np.zeros(len(times))
    for done, table in enumerate(tables.T):
        options.progress("tre7", done, len(times))
        errors[done] = least_absolute_error(design, table)
    ones = tables.sum(axis=0)
    ignoring = float(np.minimum(ones, len(rows) - ones) @ times) / len(rows)
    value = float(errors @ times) / len(rows)
    details = {"num_objects": len(rows), "share": min(1.0, value / ignoring)}
    return [score(value=value, details=details)]


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
