"""Conflict count: number of times that a symbol occurs without its main meaning at a position."""

from itertools import permutations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecsuite.corpus import Corpus
from ecsuite.eval.counts.counting import narrow_content
from ecsuite.eval.counts.exchange import of_meanings
from ecsuite.eval.counts.positions import attribute_columns_or_reason
from ecsuite.eval.metrics.score import Options, Score, unscored
from ecsuite.eval.metrics.traits import Traits, metric
from ecsuite.eval.statistics.contingency import Floats, Ints, counted
from ecsuite.eval.statistics.resampling import resample

FEW = 4
"""Up to so many attributes all assignments are tried, since importing SciPy's solver takes a tenth of a second."""

CONFLICT_COUNT = Traits(
    name="conflict_count",
    about="symbols without their main meaning",
    high="0 if no symbol is ambiguous at its place; at most the number of all symbols",
    question="compositional",
    direction="lower",
    version=3,
    chance="shuffled meanings",
    needs=("attributes",),
    depends_on_size="a count over all messages",
    details={"share": "share of all symbols"},
)


@metric(CONFLICT_COUNT)
def conflict_count(corpus: Corpus, options: Options) -> list[Score]:
    """Conflict count: Kuciński et al. (2020; 2021, https://arxiv.org/abs/2111.06464).

    Each position of the messages is assigned to one attribute. The main meaning of a symbol at a position is the value
    with which it co-occurs most often; each co-occurrence with another value is a conflict. The score is the number of
    conflicts under the assignment with the fewest. As conflicts are a sum over positions, this is a linear assignment
    problem; no search through all permutations is needed. Counted over rows, so repeated meanings count repeatedly.

    0 if every position encodes one attribute and no symbol is ambiguous; at most num_messages * num_attributes;
    `share` in the details is the count divided by this product. Defined only if every message, without EOS, has one
    symbol per attribute. Null distribution: messages exchanged between meanings.
    """
    score = unscored(CONFLICT_COUNT, unit="rows", eos="strip")
    attributes = attribute_columns_or_reason(corpus)
    if isinstance(attributes, str):
        return [score(value=None, reason=attributes)]
    content, symbols = narrow_content(corpus).reindexed()
    width, num_rows = attributes.shape
    shortest, longest = int(content.lengths.min()), int(content.lengths.max())
    if not shortest == longest == width:
        lengths = f"{shortest}" if shortest == longest else f"{shortest} to {longest}"
        reason = f"expected {width} symbols per message (one per attribute), got {lengths}"
        return [score(value=None, reason=reason)]
    message_symbols = content.values.reshape(num_rows, width).T

    def statistic(rows: Ints, partners: Ints) -> Floats:
        agreements = _agreements(
            np.take(message_symbols, rows, axis=1), np.take(attributes, partners, axis=1), len(symbols)
        )
        conflicts = len(rows) * width - _most_agreements(agreements)
        return np.array([conflicts * num_rows / len(rows)])

    value = num_rows * width - _most_agreements(_agreements(message_symbols, attributes, len(symbols)))
    (found,) = resample(
        statistic,
        [value],
        num_rows=num_rows,
        exchange=of_meanings(corpus),
        seed=options.seed,
        work=2 * num_rows * width**2,
        bounds=(0.0, float(num_rows * width)),
    )
    details = {"share": value / (num_rows * width)} | found.details
    return [score(value=value, ci95=found.ci95, chance=found.chance, details=details)]


def _most_agreements(agreements: Ints) -> int:
    """The highest sum of agreements over all assignments of positions to attributes, (width, width)."""
    width = len(agreements)
    if width <= FEW:
        assigned = np.array(list(permutations(range(width))))
        return int(agreements[np.arange(width), assigned].sum(axis=1).max())
    from scipy.optimize import linear_sum_assignment

    position, attribute = linear_sum_assignment(agreements, maximize=True)
    return int(agreements[position, attribute].sum())


def _agreements(
    message_symbols: NDArray[np.integer[Any]], attributes: NDArray[np.integer[Any]], num_symbols: int
) -> Ints:
    """Number of rows that have the main meaning of their symbol, shape (num_positions, num_attributes).

    Args:
        message_symbols: Symbols from 0, shape (num_positions, num_rows).
        attributes: Values from 0, shape (num_attributes, num_rows).
        num_symbols: Number of distinct symbols.
    """
    agreements = np.zeros((len(message_symbols), len(attributes)), np.int64)
    for attribute, values in enumerate(attributes):
        num_values = int(values.max()) + 1
        for position, symbols in enumerate(message_symbols):
            codes = symbols * np.int64(num_values)
            codes += values
            code, count = counted(codes, num_symbols * num_values)
            most = np.zeros(num_symbols, np.int64)
            np.maximum.at(most, code // num_values, count)
            agreements[position, attribute] = most.sum()
    return agreements
