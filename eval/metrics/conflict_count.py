"""Conflict count: how often does a symbol fail to mean what it mostly means at its position?"""

from functools import partial

import numpy as np
from scipy.optimize import linear_sum_assignment

from ecsuite.corpus import Corpus
from ecsuite.eval.metrics.score import Options, Score, signature
from ecsuite.eval.statistics.contingency import counted
from ecsuite.eval.statistics.counting import Floats, Ints
from ecsuite.eval.statistics.positions import attributes_or_reason
from ecsuite.eval.statistics.resampling import resample

VERSION = 1


def conflict_count(corpus: Corpus, options: Options) -> list[Score]:
    """Conflict count: Kuciński et al. (2020; 2021, https://arxiv.org/abs/2111.06464).

    Each position of the messages is handed one attribute; at a position, a symbol means the value that it goes
    with most often; every other value that it meets there is a conflict. The score is the number of conflicts
    under the assignment that has fewest. As conflicts add up over positions, that assignment is a linear one and
    not a search through all permutations. Counted over rows, so a meaning that recurs counts again.

    0 where every position speaks of one attribute and no symbol is ambiguous; at most num_messages *
    num_attributes; `share` in the details is the count over that product. Defined only where every message,
    without EOS, has one symbol an attribute. Null: meanings shuffled over messages.
    """
    line = signature("conflict_count", VERSION, unit="rows", eos="strip")
    score = partial(Score, name="conflict_count", about="symbols that mean something else", signature=line)
    attributes = attributes_or_reason(corpus)
    if isinstance(attributes, str):
        return [score(value=None, reason=attributes)]
    content, symbols = corpus.reindexed()
    num_rows, width = attributes.shape
    shortest, longest = int(content.lengths.min()), int(content.lengths.max())
    if not shortest == longest == width:
        lengths = f"{shortest}" if shortest == longest else f"{shortest} to {longest}"
        reason = f"messages of {lengths} symbols for {width} attributes"
        return [score(value=None, reason=reason)]
    said = content.values.astype(np.int64).reshape(num_rows, width)

    def statistic(rows: Ints, partners: Ints) -> Floats:
        agreements = _agreements(said[rows], attributes[partners], len(symbols))
        position, attribute = linear_sum_assignment(agreements, maximize=True)
        conflicts = len(rows) * width - agreements[position, attribute].sum()
        return np.array([conflicts * num_rows / len(rows)])

    everyone = np.arange(num_rows)
    value = int(statistic(everyone, everyone)[0])
    (found,) = resample(
        statistic,
        [value],
        num_rows=num_rows,
        seed=options.seed,
        work=2 * num_rows * width**2,
        tails=["low"],
        bounds=(0.0, float(num_rows * width)),
    )
    details = {"share": value / (num_rows * width)} | found.details
    return [score(value=value, ci95=found.ci95, details=details)]


def _agreements(said: Ints, attributes: Ints, num_symbols: int) -> Ints:
    """How many rows have the value that their symbol at a position mostly goes with, for each attribute.

    Args:
        said: Symbols from 0, shape (num_rows, num_positions).
        attributes: Values from 0, shape (num_rows, num_attributes).
        num_symbols: How many symbols there are.

    Returns:
        Shape (num_positions, num_attributes).
    """
    agreements = np.zeros((said.shape[1], attributes.shape[1]), np.int64)
    for attribute, values in enumerate(attributes.T):
        num_values = int(values.max()) + 1
        for position, symbols in enumerate(said.T):
            code, count = counted(symbols * num_values + values, num_symbols * num_values)
            most = np.zeros(num_symbols, np.int64)
            np.maximum.at(most, code // num_values, count)
            agreements[position, attribute] = most.sum()
    return agreements
