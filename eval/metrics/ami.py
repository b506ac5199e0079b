"""Adjusted mutual information of whole messages and whole meanings, with the chance level subtracted."""

import functools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from ecsuite.corpus import Corpus
from ecsuite.eval.counts.cooccurrence import NO_CONCEPTS
from ecsuite.eval.counts.counting import concept_sets, halved, has_attributes, message_labels, row_labels
from ecsuite.eval.counts.exchange import meaning_labels
from ecsuite.eval.metrics.score import Options, Score, unscored
from ecsuite.eval.metrics.traits import Traits, metric
from ecsuite.eval.statistics.cache import cached_per_corpus
from ecsuite.eval.statistics.contingency import Floats, Ints, counted, counts_in_order, num_labels
from ecsuite.eval.statistics.resampling import resample, single_rows

AMI = Traits(
    name="ami",
    about="information of messages above chance",
    title="adjusted mutual information",
    high="1 if each meaning has its own message, 0 as by chance; high also for names without parts",
    question="consistent",
    direction="higher",
    version=3,
    bounds=(-1.0, 1.0),
    chance="shuffled meanings",
    needs=("concepts",),
    least_messages=5000,
    depends_on_size="chance is subtracted, but what is left grows with the number of times that a meaning recurs",
)
AMI_ARITHMETIC = replace(
    AMI,
    name="ami_arithmetic",
    about="ami, normalised by the mean entropy",
    title="adjusted mutual information, arithmetic mean",
)


@metric(AMI, AMI_ARITHMETIC)
def ami(corpus: Corpus, options: Options) -> list[Score]:
    """Adjusted mutual information of messages M and meanings L, by two normalisers.

    AMI = (I(M, L) - E I(M, L)) / (N - E I(M, L)), after Vinh et al. (2009). N is max(H(M), H(L)) in `ami`, as in
    Carmeli et al. (2024), equation 3, and their mean in `ami_arithmetic`, the default of scikit-learn and so what the
    program of Mu & Goodman (2021) reports; the latter is never below the former if they are above 0. E I is the mean
    over all permutations of the meanings; 0 is the chance level, 1 is one message per meaning. Messages (without EOS)
    and meanings are compared as wholes; a meaning is the tuple of all attribute values or, in a corpus without
    attributes, the set of concepts.

    Undefined if the messages, or the meanings, are all equal or all different, as every permutation then has the same
    mutual information. So meanings must recur; the score grows with the number of repetitions, so compare only corpora
    of the same size.

    Null distribution: single messages exchanged; its mean is 0 by construction. Interval: see
    `resampling.resample`; none if half of the rows may have no repetition at all.
    """
    kind, meanings = labels_of_meanings(corpus)
    scores = [
        unscored(traits, normaliser=normaliser, label=kind, eos="strip")
        for traits, normaliser in ((AMI, "max"), (AMI_ARITHMETIC, "arithmetic"))
    ]
    messages = message_labels(corpus)
    if meanings is None or (reason := _without_recurrence(message=messages, meaning=meanings)):
        return [score(value=None, reason=NO_CONCEPTS if meanings is None else reason) for score in scores]
    num_rows = len(messages)
    expected = expected_information(np.bincount(messages), np.bincount(meanings))
    values = adjusted_information(messages, meanings, expected)

    def statistic(rows: Ints, partners: Ints) -> Floats:
        is_whole = len(rows) == num_rows  # E I is then that of the corpus
        return adjusted_information(messages[rows], meanings[partners], expected if is_whole else None)

    found = resample(
        statistic,
        values.tolist(),
        num_rows=num_rows,
        exchange=single_rows(num_rows, messages, meanings),
        seed=options.seed,
        work=20 * num_rows,
        bounds=(-1.0, 1.0),
    )
    return [
        score(value=value, ci95=of_value.ci95, chance=of_value.chance, details=of_value.details)
        for score, value, of_value in zip(scores, values.tolist(), found, strict=True)
    ]


def _without_recurrence(**labels: NDArray[np.integer[Any]]) -> str | None:
    """The reason why AMI is undefined if each label of one kind occurs once, or all are equal."""
    for what, label in labels.items():
        num_distinct = num_labels(label)
        if num_distinct <= 1:
            return f"there is only one distinct {what}: every permutation has the same score"
        if num_distinct == len(label):
            return f"no {what} occurs twice: every permutation has the same score"
    return None


@cached_per_corpus
def labels_of_meanings(corpus: Corpus) -> tuple[str, NDArray[np.integer[Any]] | None]:
    """What defines a meaning, `attributes`, `concepts` or `none`, and a label for each whole one, (num_rows,).

    The labels are as those of `message_labels`.
    """
    if corpus.meanings is not None and has_attributes(corpus.meanings):
        return "attributes", meaning_labels(corpus)
    concepts = concept_sets(corpus)
    return ("none", None) if concepts is None else ("concepts", halved(row_labels(concepts)))


def expected_information(first: Ints, second: Ints) -> float:
    """E I in nats over all pairings of two labellings: Vinh et al. (2009), equation 24a.

    It depends only on the class sizes, and there are few distinct sizes, so each pair of sizes is computed once;
    scikit-learn loops over all pairs of classes, which takes minutes for 10^5 messages.

    Args:
        first: Class sizes of one labelling, shape (num_classes,).
        second: Class sizes of the other labelling, with the same sum.
    """
    total = int(first.sum())
    largest = int(first.max()) + int(second.max())
    log_factorial = _log_factorials(total, min(total, 1 << largest.bit_length()))
    (sizes, repeats), (others, other_repeats) = (
        counted(each[each > 0], int(each.max()) + 1) for each in (first, second)
    )
    expected = 0.0
    for size, repeat in zip(sizes.tolist(), repeats.tolist(), strict=True):
        least = np.maximum(1, size + others - total)
        widths = np.minimum(size, others) - least + 1
        other = np.repeat(others, widths)
        common = np.arange(len(other)) + np.repeat(least - (np.cumsum(widths) - widths), widths)
        log_chance = (
            log_factorial(size)
            + log_factorial(other)
            + log_factorial(total - size)
            + log_factorial(total - other)
            - log_factorial(total)
            - log_factorial(common)
            - log_factorial(size - common)
            - log_factorial(other - common)
            - log_factorial(total - size - other + common)
        )
        terms = common / total * np.log(total * common / (size * other)) * np.exp(log_chance)
        expected += repeat * float(terms @ np.repeat(other_repeats, widths))
    return expected


def adjusted_information(message: NDArray[Any], meaning: NDArray[Any], expected: float | None) -> Floats:
    """AMI of two labellings, each (num_rows,), by both normalisers; NaN if every permutation has the same score."""
    num_rows, num_meanings = len(message), int(meaning.max()) + 1
    codes = message * np.int64(num_meanings)
    codes += meaning
    num_messages = int(message.max()) + 1
    if num_messages <= 2 * num_rows:
        of_message, together = _sizes(message), counts_in_order(codes, num_messages * num_meanings)
    else:  # as of few rows of a large corpus
        pairs, together = counted(codes, num_messages * num_meanings)
        starts = np.flatnonzero(np.diff(pairs // num_meanings, prepend=-1))
        of_message = np.add.reduceat(together, starts)
    del codes
    of_meaning = _sizes(meaning)
    if {len(of_message), len(of_meaning)} & {1, num_rows}:
        return np.full(2, np.nan)
    in_message, in_meaning, in_both = (_nats(counts) for counts in (of_message, of_meaning, together))
    if expected is None:
        expected = expected_information(of_message, of_meaning)
    normalisers = np.array([max(in_message, in_meaning), (in_message + in_meaning) / 2])
    return (in_message + in_meaning - in_both - expected) / (normalisers - expected)


def _sizes(labels: NDArray[Any]) -> Ints:
    """The number of rows of each label that occurs, in ascending order of the labels."""
    bound = int(labels.max()) + 1
    if bound > 2 * len(labels):  # as of few rows of a large corpus
        return counted(labels, bound)[1]
    counts = np.bincount(labels)
    return counts[counts > 0]


@functools.lru_cache(maxsize=1)
def _log_factorials(most: int, near: int) -> Callable[[Any], Floats]:
    """The natural logarithm of the factorial of numbers from 0 to `near`, and of those from `most - near` to `most`.

    The last function is kept, as most draws have the same arguments.
    """
    low: Floats = gammaln(np.arange(1.0, near + 2.0))
    high: Floats = gammaln(np.arange(most - near + 1.0, most + 2.0))

    def of(number: Any) -> Floats:
        values: Floats = low[number] if np.max(number) <= near else high[number - (most - near)]
        return values

    return of


def _nats(counts: Ints) -> float:
    """Plug-in entropy in nats of the distribution given by positive counts."""
    share = counts / counts.sum()
    return -float(share @ np.log(share))
