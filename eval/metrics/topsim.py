"""Topographic similarity: correlation of the distances between meanings and between messages.

The value depends on both distances, their normalisation and the treatment of EOS. Published values differ in
each of these, so all of them are in the signature.
"""

from dataclasses import replace

import numpy as np

from ecsuite.corpus import Corpus
from ecsuite.eval.metrics.metric_options import unusual
from ecsuite.eval.metrics.score import Options, Score, unscored
from ecsuite.eval.metrics.topsim_options import USUAL, Compared, TopsimOptions
from ecsuite.eval.metrics.traits import Traits, metric
from ecsuite.eval.statistics import resampling
from ecsuite.eval.statistics.chance import of_draws
from ecsuite.eval.statistics.contingency import joined
from ecsuite.eval.statistics.counting import (
    Floats,
    Ints,
    concept_sets,
    first_rows,
    flat,
    meaning_codes,
    num_labels,
    row_labels,
)
from ecsuite.eval.statistics.differences import ALPHA
from ecsuite.eval.statistics.distributions import normal_quantile
from ecsuite.eval.statistics.equal_codes import labels_of_codes
from ecsuite.eval.statistics.message_labels import message_labels
from ecsuite.eval.statistics.pair_correlation import Influence, Pairs
from ecsuite.eval.statistics.resampling import half_sample, jackknife_interval, num_draws
from ecsuite.runtime.ragged import Ragged

NUM_ROWS_ALL_PAIRS = 1_000
"""Up to this many different messages with their meanings all pairs are used."""
NUM_SAMPLED_PAIRS = 500_000
"""Pairs drawn with replacement if there are more."""
NUM_LOOKED_AT = 10_000
"""Messages of a large corpus in which different ones are counted at first."""
NUM_RESAMPLES = 200
"""Half-samples for the interval."""
BOUNDS = (-1.0, 1.0)
"""Range of a correlation."""

TOPSIM = Traits(
    name="topsim",
    about="similar meanings have similar messages",
    title="topographic similarity",
    high="1 if both distances rank all pairs of messages alike; of trained agents mostly 0.1 to 0.5",
    question="compositional",
    direction="higher",
    version=3,
    bounds=BOUNDS,
    chance="shuffled meanings",
    needs=("meanings",),
    options=TopsimOptions,
)


@metric(TOPSIM)
def topsim(corpus: Corpus, options: Options, own: TopsimOptions = USUAL) -> list[Score]:
    """Spearman's correlation between the distances of meanings and the distances of their messages.

    Brighton and Kirby (2006); for trained agents Lazaridou et al. (2018), https://arxiv.org/abs/1804.03984.
    Distances: messages (without EOS): edit distance divided by the mean of the two lengths; attribute values:
    number of different values (Hamming); features: cosine distance; corpora with concepts only: Jaccard distance
    of the sets of concepts. Range -1 to 1; 1 if both distances rank the pairs identically.

    Options have other distances, Pearson's correlation, one attribute, and partial correlations: those of what least
    squares on the distances held fixed leave of both, which the null distribution shuffles, too (Legendre 2000,
    "Comparison of permutation methods for the partial correlation and partial Mantel tests").

    All pairs of messages are used where at most 1,000 messages differ, in themselves or in their meaning: equal ones
    are counted, and not compared. Of other corpora 500,000 pairs are drawn.

    The interval of up to 1,000 messages is that of `resampling.jackknife_interval`: the pairs of a half-sample are
    those within it. That of more is normal, with the standard error of `Influence`, since half-samples of drawn pairs
    have too few. Both compute ranks once, over all pairs. As pairs share messages, the textbook p-value of the
    correlation does not hold. The null distribution shuffles meanings over messages and uses all pairs; for more than
    1,000 messages it uses 1,000 of them, drawn at random, and is then slightly too wide.

    Undefined for fewer than three messages, if all distances are equal, and if those held fixed determine one.
    """
    if own.attribute != "each":
        return [_score(corpus, options, own)]
    number = 1 if corpus.meanings is None else flat(corpus.meanings).shape[1]
    every = [replace(own, attribute=attribute) for attribute in range(number)]
    return [replace(_score(corpus, options, each), name=f"{TOPSIM.name}{unusual(each)}") for each in every]


def _score(corpus: Corpus, options: Options, own: TopsimOptions) -> Score:
    """The score of all attributes together, or of one."""
    num_rows = len(corpus.messages)
    is_large = num_rows > NUM_ROWS_ALL_PAIRS
    compared = Compared.of(corpus, own)
    groups = _few_groups(corpus) if is_large and compared.reason is None and compared.is_of_sets else None
    is_drawn = is_large and groups is None
    which = {"pairs": NUM_SAMPLED_PAIRS, "seed": options.seed} if is_drawn else {"pairs": "all"}
    score = unscored(TOPSIM, **own.settings(compared.meaning), eos="strip", **which)
    if compared.reason is not None:
        return score(value=None, reason=compared.reason)
    if num_rows < 3:
        return score(value=None, reason="fewer than three messages")

    rng = np.random.default_rng(options.seed)
    rows = np.arange(num_rows)
    if groups is not None:
        rows, pairs = first_rows(groups, num_labels(groups)), Pairs.of_groups(np.bincount(groups))
    else:
        pairs = Pairs.drawn(num_rows, NUM_SAMPLED_PAIRS, rng) if is_drawn else Pairs.all_of(num_rows)
    distances = compared.distances(rows[pairs.left], rows[pairs.right])
    for between, what in zip(distances, ("messages", "meanings"), strict=False):
        if np.ptp(between) == 0:
            return score(value=None, reason=f"all distances between {what} are equal")
    x, y = compared.standard(pairs, distances)
    if not (np.isfinite(x).all() and np.isfinite(y).all()):
        return score(value=None, reason="what is held fixed determines the distances")
    value = pairs.correlation(x, y)
    details = {"num_pairs": len(x) if pairs.times is None else int(pairs.times.sum())}
    if not is_large:
        parts = _half_samples(pairs, x, y, num_rows, rng)
        interval = jackknife_interval(value, parts, num_rows, BOUNDS)
        null, num_shuffled = _null(x, y, num_rows, rng), None
        details["subsamples"] = len(parts)
    else:
        num_shuffled = NUM_ROWS_ALL_PAIRS
        drawn, some = np.sort(rng.permutation(num_rows)[:num_shuffled]), Pairs.all_of(num_shuffled)
        u, v = compared.standard(some, compared.distances(drawn[some.left], drawn[some.right]))
        if groups is None:
            influence = Influence.of(some, u, v, np.ones(num_shuffled, np.int64))
        else:
            influence = Influence.of(pairs, x, y, np.bincount(groups))
        error = influence.standard_error(num_rows, NUM_SAMPLED_PAIRS if is_drawn else None)
        half_width = normal_quantile(1 - ALPHA / 2) * error
        interval = max(BOUNDS[0], value - half_width), min(BOUNDS[1], value + half_width)
        null = _null(u, v, num_shuffled, rng)
    chance = of_draws(null, seed=options.seed, bounds=BOUNDS, num_rows=num_shuffled)
    return score(value=value, ci95=interval, chance=chance, details=details)


def _few_groups(corpus: Corpus) -> Ints | None:
    """The number of each different message with its meaning, (num_messages,); None if there are too many."""
    for number in dict.fromkeys([min(len(corpus.messages), NUM_LOOKED_AT), len(corpus.messages)]):
        is_part = number < len(corpus.messages)
        groups = _groups(
            corpus.take(np.linspace(0, len(corpus.messages) - 1, number).astype(int)) if is_part else corpus
        )
        if num_labels(groups) > NUM_ROWS_ALL_PAIRS:
            return None
    return groups


def _groups(corpus: Corpus) -> Ints:
    """A number for each different message with its meaning, from 0 in order of first occurrence, (num_messages,)."""
    messages = message_labels(corpus).astype(np.int64)  # a copy, which is changed
    if corpus.meanings is None:
        sets = concept_sets(corpus)
        assert sets is not None
        meanings = row_labels(sets)
    elif (codes := meaning_codes(corpus)) is not None:
        meanings = labels_of_codes(*codes)
    else:
        features = flat(corpus.meanings)
        words = np.ascontiguousarray(features).view(np.int16).astype(np.int32)
        meanings = row_labels(Ragged.from_lengths(words.ravel(), np.full(len(words), words.shape[1])))
    return labels_of_codes(*joined(messages, num_labels(messages), meanings, num_labels(meanings)))


def _null(x: Floats, y: Floats, num_rows: int, rng: np.random.Generator) -> Floats:
    """Correlations with shuffled meanings, (num_draws,), from standard ranks in the order of `triu_indices`."""
    between_messages, between_meanings = (np.zeros((num_rows, num_rows), np.float32) for _ in range(2))
    above = np.triu_indices(num_rows, 1)
    between_messages[above] = x
    between_meanings[above] = y
    between_meanings += between_meanings.T
    rows, shuffled = np.empty_like(between_meanings), np.empty_like(between_meanings)
    draws = []
    for _ in range(num_draws(resampling.NUM_PERMUTATIONS, num_rows**2 // 2)):
        order = rng.permutation(num_rows)
        np.take(between_meanings, order, axis=0, out=rows, mode="clip")  # which copies nothing
        np.take(rows, order, axis=1, out=shuffled, mode="clip")
        draws.append(np.vdot(between_messages, shuffled) / len(x))
    return np.array(draws, np.float64)


def _half_samples(pairs: Pairs, x: Floats, y: Floats, num_rows: int, rng: np.random.Generator) -> Floats:
    """Correlations over the pairs within half of the rows, (num_samples,); NaN if these have equal distances.

    All pairs are given with the standard ranks of both distances, x and y.
    """
    moments = np.stack([np.ones_like(x), x, y, x * x, y * y, x * y], axis=1)
    parts = np.full(num_draws(NUM_RESAMPLES, 0) if num_rows >= resampling.MIN_ROWS else 0, np.nan)
    has_left, has_right, weights = np.empty(len(x), bool), np.empty(len(x), bool), np.empty(len(x))
    for place in range(len(parts)):
        is_drawn = np.zeros(num_rows, bool)
        is_drawn[half_sample(num_rows, rng)] = True
        np.take(is_drawn, pairs.left, out=has_left, mode="clip")  # which copies nothing
        np.take(is_drawn, pairs.right, out=has_right, mode="clip")
        np.copyto(weights, np.logical_and(has_left, has_right, out=has_left))
        total, *sums = weights @ moments
        mean_x, mean_y, mean_xx, mean_yy, mean_xy = (value / total for value in sums)
        variance = (mean_xx - mean_x**2) * (mean_yy - mean_y**2)
        if variance >= 1e-12:
            parts[place] = (mean_xy - mean_x * mean_y) / np.sqrt(variance)
    return parts
