"""Normalised pointwise mutual information of whole messages and whole meanings: is a message a name?"""

from functools import partial

import numpy as np

from ecsuite.corpus import Corpus
from ecsuite.eval.metrics.ami import labels_of_meanings
from ecsuite.eval.metrics.score import Options, Score, signature
from ecsuite.eval.statistics.contingency import counted
from ecsuite.eval.statistics.counting import Floats, Ints, row_labels
from ecsuite.eval.statistics.resampling import resample

VERSION = 1


def ncnpmi(corpus: Corpus, options: Options) -> list[Score]:
    """Non-compositional NPMI: Lipinski et al. (2024), https://arxiv.org/abs/2406.07277, after Bouma (2009).

    NPMI(m, o) = log(p(m, o) / (p(m) p(o))) / -log p(m, o) of a message m and a meaning o, both taken whole:
    1 where they occur only together, 0 where they are independent, towards -1 where they avoid each other.
    The score is its mean over the pairs that occur, weighted by p(m, o). Pairs that never occur have no value and
    no weight. Range -1 to 1; 1 where each meaning has one message and each message one meaning. The paper looks
    at single pairs, of messages with chosen referents, above a threshold: `above_half` in the details is the
    share of rows whose pair exceeds 0.5.

    High is no sign of parts, only of a code. Where few messages or meanings recur, every pairing scores high:
    see `null_mean`. The meaning is all attribute values together or, without them, the set of concepts.
    Undefined where only one pair occurs. Null: meanings shuffled over messages.
    """
    kind, meaning = labels_of_meanings(corpus)
    line = signature("ncnpmi", VERSION, unit="message", mean="weighted", label=kind, eos="strip")
    score = partial(Score, name="ncnpmi", about="whole messages go with whole meanings", signature=line)
    if meaning is None:
        return [score(value=None, reason="the corpus has no attribute values and names no concepts")]
    message = row_labels(corpus.content())
    if not len(message) or not (message.any() or meaning.any()):
        return [score(value=None, reason="there is only one message with one meaning")]

    def statistic(rows: Ints, partners: Ints) -> Floats:
        npmi, weight = _npmi_of_pairs(message[rows], meaning[partners])
        return np.array([npmi @ weight])

    num_rows = len(message)
    everyone = np.arange(num_rows)
    npmi, weight = _npmi_of_pairs(message, meaning)
    value = float(np.clip(npmi @ weight, -1, 1))
    (found,) = resample(
        statistic,
        [value],
        num_rows=len(everyone),
        seed=options.seed,
        work=20 * num_rows,
        tails=["high"],
        bounds=(-1.0, 1.0),
    )
    details = {"above_half": float(weight[npmi > 0.5].sum())} | found.details
    return [score(value=value, ci95=found.ci95, details=details)]


def _npmi_of_pairs(message: Ints, meaning: Ints) -> tuple[Floats, Floats]:
    """NPMI of every pair that occurs, NaN if only one does, and the share of rows with it, each (num_pairs,).

    Args:
        message: Labels from 0, shape (num_rows,).
        meaning: Labels from 0, shape (num_rows,).
    """
    num_meanings = int(meaning.max()) + 1
    pair, count = counted(message * num_meanings + meaning, (int(message.max()) + 1) * num_meanings)
    if len(pair) == 1:
        return np.array([np.nan]), np.ones(1)
    together = count / len(message)
    of_message = np.bincount(message)[pair // num_meanings] / len(message)
    of_meaning = np.bincount(meaning)[pair % num_meanings] / len(message)
    return np.log(together / (of_message * of_meaning)) / -np.log(together), together
