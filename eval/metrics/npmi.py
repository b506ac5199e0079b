"""Normalised pointwise mutual information of whole messages and whole meanings."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecsuite.corpus import Corpus
from ecsuite.eval.counts.cooccurrence import NO_CONCEPTS
from ecsuite.eval.counts.counting import message_labels
from ecsuite.eval.metrics.ami import labels_of_meanings
from ecsuite.eval.metrics.score import Options, Score, unscored
from ecsuite.eval.metrics.traits import Traits, metric
from ecsuite.eval.statistics.contingency import Floats, Ints, counted
from ecsuite.eval.statistics.resampling import resample, single_rows

_BLOCK = 1 << 16
"""Pairs whose NPMI is computed at once."""
NCNPMI = Traits(
    name="ncnpmi",
    about="whole messages co-occur with whole meanings",
    title="non-compositional normalised pointwise mutual information",
    high="1 if each meaning has its own message; near 1 for any language whose messages hardly recur",
    question="consistent",
    direction="higher",
    version=3,
    bounds=(-1.0, 1.0),
    chance="shuffled meanings",
    needs=("concepts",),
    least_messages=5000,
    depends_on_size="the less often messages and meanings recur, the higher it is, whatever they are",
    details={"above_half": "share of messages with an NPMI above 0.5"},
)


@metric(NCNPMI)
def ncnpmi(corpus: Corpus, options: Options) -> list[Score]:
    """Non-compositional NPMI: Lipinski et al. (2024), https://arxiv.org/abs/2406.07277, after Bouma (2009).

    NPMI(m, o) = log(p(m, o) / (p(m) p(o))) / -log p(m, o) of a message m and a meaning o, both as wholes: 1 if they
    only occur together, 0 if they are independent, negative if they co-occur less often than if independent. The score
    is its mean over the pairs that occur, weighted by p(m, o). Pairs that never occur have no value and weight 0.
    Range -1 to 1; 1 if each meaning has one message and each message one meaning. The paper analyses single pairs of
    messages and selected referents above a threshold: `above_half` in the details is the share of rows whose pair has
    an NPMI above 0.5.

    A high score shows a consistent code, not compositionality. If few messages or meanings recur, every permutation
    scores high: see the chance level. A meaning is the tuple of all attribute values or, without attributes, the set of
    concepts. Undefined if only one pair occurs. Null distribution: single messages exchanged.
    """
    kind, meaning = labels_of_meanings(corpus)
    how = {"unit": "message", "mean": "weighted", "label": kind, "eos": "strip"}
    score = unscored(NCNPMI, **how)
    if meaning is None:
        return [score(value=None, reason=NO_CONCEPTS)]
    message = message_labels(corpus)
    if not len(message) or not (message.any() or meaning.any()):
        return [score(value=None, reason="there is only one distinct message and one distinct meaning")]

    def statistic(rows: Ints, partners: Ints) -> Floats:
        npmi, weight = _npmi_of_pairs(message[rows], meaning[partners])
        return np.array([npmi @ weight])

    npmi, weight = _npmi_of_pairs(message, meaning)
    value = float(np.clip(npmi @ weight, -1, 1))
    num_rows, bounds = len(message), (-1.0, 1.0)
    (found,) = resample(
        statistic,
        [value],
        num_rows=num_rows,
        exchange=single_rows(num_rows, message, meaning),
        seed=options.seed,
        work=20 * num_rows,
        bounds=bounds,
    )
    details = {"above_half": float(weight[npmi > 0.5].sum())} | found.details
    return [score(value=value, ci95=found.ci95, chance=found.chance, details=details)]


def _npmi_of_pairs(
    message: NDArray[np.integer[Any]], meaning: NDArray[np.integer[Any]]
) -> tuple[Floats, Floats]:
    """NPMI of every pair that occurs (NaN if there is only one), and its share of the rows, each (num_pairs,)."""
    num_meanings = int(meaning.max()) + 1
    codes = message * np.int64(num_meanings)
    codes += meaning
    pair, count = counted(codes, (int(message.max()) + 1) * num_meanings, overwrites=True)
    del codes  # of a large corpus they take much memory
    if len(pair) == 1:
        return np.array([np.nan]), np.ones(1)
    together, npmi = count / len(message), np.empty(len(pair))
    del count
    of_messages, of_meanings = np.bincount(message), np.bincount(meaning)
    for start in range(0, len(pair), _BLOCK):
        block = slice(start, start + _BLOCK)
        of_message = of_messages[pair[block] // num_meanings] / len(message)
        of_meaning = of_meanings[pair[block] % num_meanings] / len(message)
        npmi[block] = np.log(together[block] / (of_message * of_meaning)) / -np.log(together[block])
    return npmi, together
