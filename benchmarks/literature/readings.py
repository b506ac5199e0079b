"""One figure, read in several ways: what published descriptions leave open, and by how much it moves a score.

The first reading of each metric is that of `ecsuite score`; a test compares the two.
"""

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np
from rapidfuzz import process
from rapidfuzz.distance import Indel, Levenshtein
from scipy.spatial.distance import cdist
from scipy.stats import pearsonr, spearmanr

from ecsuite.benchmarks.literature.samples import Message, Sample
from ecsuite.benchmarks.literature.segments import mean_boundaries
from ecsuite.eval.counts.counting import distinct_vectors, row_labels
from ecsuite.eval.metrics.associations import expected_information
from ecsuite.eval.metrics.disentanglement import bosdis
from ecsuite.eval.metrics.entropies import (
    entropies_or_reason,
    greedy_search,
    plain_residual_entropy,
)
from ecsuite.eval.metrics.score import Options
from ecsuite.eval.metrics.word_statistics import boundaries
from ecsuite.eval.statistics.contingency import Floats, entropy, num_labels

Reading = Callable[[Sample], float]
Matrix = Callable[[Sample], Floats]
BATCH = 10
"""Messages of a batch in the program of Chaabouni et al. (2022)."""


def edit(
    sample: Sample, *, divisor: str = "mean", scorer: object = Levenshtein, form: str = "content"
) -> Floats:
    """Distances between messages, (n, n); `divisor`: none, mean or longest; `form`: content, ended or filled."""
    messages: list[Message] = {
        "content": lambda: sample.messages,
        "ended": sample.ended,
        "filled": sample.filled,
    }[form]()
    texts = ["".join(map(chr, message)) for message in messages]
    edits = process.cdist(texts, texts, scorer=scorer.distance, dtype=np.int32).astype(float)  # type: ignore[attr-defined]
    length = np.array([len(text) for text in texts])
    if divisor == "none":
        return edits
    left, right = length[:, None], length[None]
    if divisor == "longest":
        return np.asarray(edits / np.maximum(1, np.maximum(left, right)))
    return np.asarray(2 * edits / np.maximum(1, left + right))


def hamming(sample: Sample) -> Floats:
    """Number of attributes that differ, (n, n)."""
    different = sample.attributes[:, None] != sample.attributes[None]
    return np.asarray(different.sum(axis=-1), float)


def one_hot_cosine(sample: Sample) -> Floats:
    """Cosine distance of the joined one-hot vectors of all values, (n, n), rounded against noise in the last digits."""
    columns = [np.eye(int(column.max()) + 1)[column] for column in sample.attributes.T]
    return np.asarray(np.round(cdist(np.hstack(columns), np.hstack(columns), "cosine"), 9))


def number_cosine(sample: Sample) -> Floats:
    """Cosine distance of the values as numbers from 1, (n, n)."""
    return np.asarray(np.round(cdist(sample.attributes + 1.0, sample.attributes + 1.0, "cosine"), 9))


def number_euclidean(sample: Sample) -> Floats:
    """Euclidean distance of the values as numbers, (n, n)."""
    return np.asarray(cdist(sample.attributes.astype(float), sample.attributes.astype(float)))


def topsim(
    sample: Sample,
    *,
    messages: Matrix = edit,
    meanings: Matrix = hamming,
    by: str = "spearman",
    itself: bool = False,
) -> float:
    """The correlation of two distances over pairs of lines; `itself`: also over each line and itself."""
    number = len(sample.messages)
    pairs = np.nonzero(np.ones((number, number))) if itself else np.triu_indices(number, 1)
    correlation = spearmanr if by == "spearman" else pearsonr
    x, y = (matrix(sample)[pairs] for matrix in (messages, meanings))
    return float(correlation(x, y).statistic) if np.ptp(x) and np.ptp(y) else float("nan")


def topsim_of_batches(sample: Sample) -> float:
    """The mean of the values of batches in the order of the lines; those without a value are left out."""
    number = len(sample.messages) // BATCH
    values = [topsim(sample.rows(np.arange(BATCH) + BATCH * batch)) for batch in range(number)]
    kept = [value for value in values if not np.isnan(value)]
    return float(np.mean(kept)) if kept else float("nan")


def posdis(sample: Sample, *, is_first_only: bool = False) -> float:
    """Gaps of information of positions divided by their entropies: the mean over positions that vary, or the first."""
    if sample.attributes.shape[1] < 2:
        return float("nan")
    filled = np.array(sample.filled())[:, :-1]  # the last column has no content
    gaps = []
    for column in filled.T:
        own = entropy(np.unique(column, return_counts=True)[1])
        told = sorted(own + _entropy(values) - _entropy(column, values) for values in sample.attributes.T)
        gaps.append((told[-1] - told[-2]) / own if own else None)
    kept = [gap for gap in (gaps[:1] if is_first_only else gaps) if gap is not None]
    return float(np.mean(kept)) if kept else float("nan")


def _entropy(*columns: np.ndarray) -> float:
    return float(entropy(np.unique(np.stack(columns), axis=1, return_counts=True)[1]))


def information(sample: Sample, *, divisor: Callable[..., float], adjusted: bool = True) -> float:
    """Mutual information of messages and meanings divided by a mean of their entropies, both less the chance level."""
    message, meaning = row_labels(sample.corpus().messages), distinct_vectors(sample.attributes)
    if any(num_labels(label) in (1, len(label)) for label in (message, meaning)):
        return float("nan")  # every pairing then has the same information
    own, told, both = _entropy(message), _entropy(meaning), _entropy(message, meaning)
    chance = expected_information(np.bincount(message), np.bincount(meaning)) / np.log(2) if adjusted else 0
    return float((own + told - both - chance) / (divisor([own, told]) - chance))


def residual(sample: Sample, *, how: str) -> float:
    """Entropy of attributes given their positions; `how`: best, most_informative or greedy."""
    entropies = entropies_or_reason(sample.corpus())
    assert not isinstance(entropies, str)
    if how == "best":
        value = plain_residual_entropy(sample.corpus(), Options())[0].value
        assert value is not None
        return value
    partition = (
        entropies.most_informative()
        if how == "most_informative"
        else greedy_search(entropies, np.ones(sample.attributes.shape[1]))
    )
    return float(1 - entropies.explained(partition))


def abbreviation(sample: Sample, *, unit: str, by: str = "spearman") -> float:
    """Correlation of frequency and length over `unit`: distinct messages (types), lines (tokens) or meanings."""
    message = row_labels(sample.corpus().messages)
    length = np.array([len(each) for each in sample.messages], float)
    group = distinct_vectors(sample.attributes) if unit == "meanings" else message
    count = np.bincount(group)
    mean = np.bincount(group, length) / count
    x, y = (count[group], length) if unit == "tokens" else (count, mean)
    return (
        float((spearmanr if by == "spearman" else pearsonr)(x, y).statistic)
        if np.ptp(x) and np.ptp(y)
        else float("nan")
    )


def word_boundaries(sample: Sample, *, threshold: float) -> float:
    """Boundaries per message by ecsuite's rule."""
    content, _ = sample.corpus().reindexed()
    return float(boundaries(content, threshold)[0].sum() / len(content))


def mean_length(sample: Sample, *, ends: int) -> float:
    """Mean number of symbols of a message, with this number of ends."""
    return float(np.mean([len(message) for message in sample.messages])) + ends


def _bosdis(sample: Sample, *, ends: bool) -> float:
    value = bosdis(sample.corpus(sample.filled() if ends else None), Options())[0].value
    return float("nan") if value is None else value


READINGS: Mapping[str, Mapping[str, Reading]] = {
    "topsim": {
        "ecsuite": topsim,
        "Pearson's correlation": partial(topsim, by="pearson"),
        "edits, not divided": partial(topsim, messages=partial(edit, divisor="none")),
        "edits / longer message": partial(topsim, messages=partial(edit, divisor="longest")),
        "edits without substitution": partial(topsim, messages=partial(edit, scorer=Indel)),
        "EOS is a symbol": partial(topsim, messages=partial(edit, form="ended")),
        "filled up with EOS": partial(topsim, messages=partial(edit, form="filled")),
        "also each line and itself": partial(topsim, itself=True),
        "cosine of one-hot values": partial(topsim, meanings=one_hot_cosine),
        "cosine of values as numbers": partial(topsim, meanings=number_cosine),
        "Euclidean, values as numbers": partial(topsim, meanings=number_euclidean),
        "each meaning once": lambda sample: topsim(sample.each_meaning_once()),
        "mean over batches of 10": topsim_of_batches,
        "Pearson, edits not divided": partial(topsim, by="pearson", messages=partial(edit, divisor="none")),
    },
    "posdis": {
        "ecsuite": posdis,
        "first position only": partial(posdis, is_first_only=True),
        "each meaning once": lambda sample: posdis(sample.each_meaning_once()),
    },
    "bosdis": {
        "ecsuite": partial(_bosdis, ends=False),
        "EOS is a symbol": partial(_bosdis, ends=True),
        "each meaning once": lambda sample: _bosdis(sample.each_meaning_once(), ends=False),
    },
    "ami": {
        "ecsuite": partial(information, divisor=max),
        "mean of entropies (ami_arithmetic)": partial(information, divisor=np.mean),
        "smaller entropy": partial(information, divisor=min),
        "chance not subtracted": partial(information, divisor=max, adjusted=False),
    },
    "residual_entropy": {
        "ecsuite": partial(residual, how="best"),
        "most informative position (1 - hce)": partial(residual, how="most_informative"),
        "greedy search": partial(residual, how="greedy"),
    },
    "zla_messages": {
        "ecsuite": partial(abbreviation, unit="types"),
        "Pearson's correlation": partial(abbreviation, unit="types", by="pearson"),
        "over lines": partial(abbreviation, unit="tokens"),
        "over meanings": partial(abbreviation, unit="meanings"),
    },
    "has": {
        "ecsuite": partial(word_boundaries, threshold=0.8),
        "threshold 0": partial(word_boundaries, threshold=0.0),
        "threshold 0.5": partial(word_boundaries, threshold=0.5),
        "threshold 0.8, its program's ends": lambda sample: mean_boundaries(sample.messages, 0.8),
    },
    "Tokens per Line": {
        "without EOS": partial(mean_length, ends=0),
        "with EOS": partial(mean_length, ends=1),
    },
}
"""Readings by metric and name."""
