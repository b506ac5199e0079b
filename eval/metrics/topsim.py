"""Topographic similarity: correlation of the distances between meanings and between messages.

The value depends on both distances, their normalisation and the treatment of EOS. Published values differ in
each of these, so all of them are in the signature.
"""

import numpy as np

from ecsuite.corpus import Corpus
from ecsuite.eval.metrics.distances import (
    Distance,
    cosine_distance,
    edit_distance,
    hamming_distance,
    jaccard_distance,
)
from ecsuite.eval.metrics.score import Options, Score, unscored
from ecsuite.eval.metrics.traits import Traits, metric
from ecsuite.eval.statistics import resampling
from ecsuite.eval.statistics.chance import of_draws
from ecsuite.eval.statistics.counting import Floats, Ints, concept_sets, flat, has_attributes, narrow_content
from ecsuite.eval.statistics.distributions import average_ranks
from ecsuite.eval.statistics.resampling import half_sample, jackknife_interval, num_draws

NUM_ROWS_ALL_PAIRS = 1_000
"""Up to this many messages all pairs are used."""
NUM_SAMPLED_PAIRS = 500_000
"""Pairs drawn with replacement if there are more messages."""
NUM_RESAMPLES = 200
"""Half-samples for the interval."""
BOUNDS = (-1.0, 1.0)
"""Range of a correlation."""

TOPSIM = Traits(
    name="topsim",
    about="similar meanings have similar messages",
    title="topographic similarity",
    high="1 if both distances rank all pairs of messages alike; trained agents mostly reach 0.2 to 0.5",
    question="compositional",
    direction="higher",
    version=2,
    bounds=BOUNDS,
    chance="shuffled meanings",
    needs=("meanings",),
)


@metric(TOPSIM)
def topsim(corpus: Corpus, options: Options) -> list[Score]:
    """Spearman's correlation between the distances of meanings and the distances of their messages.

    Brighton and Kirby (2006); for trained agents Lazaridou et al. (2018), https://arxiv.org/abs/1804.03984.
    Distances: messages (without EOS): edit distance divided by the mean of the two lengths; attribute values:
    number of different values (Hamming); features: cosine distance; corpora with concepts only: Jaccard distance
    of the sets of concepts. Range -1 to 1; 1 if both distances rank the pairs identically.

    The interval is that of `resampling.jackknife_interval`: the pairs of a half-sample are those within it; ranks are
    computed once, over all pairs. As pairs share messages, the textbook p-value of the correlation does not hold. The
    null distribution shuffles meanings over messages and uses all pairs; for more than 1,000 messages it uses 1,000 of
    them, drawn at random, and is then slightly too wide.

    Undefined for fewer than three messages and if all distances are equal.
    """
    num_rows = len(corpus.messages)
    sampled = num_rows > NUM_ROWS_ALL_PAIRS
    meaning, meaning_distance = _meaning_distance(corpus)
    pairs = {"pairs": NUM_SAMPLED_PAIRS, "seed": options.seed} if sampled else {"pairs": "all"}
    how = {"dist": "lev/mean", "mdist": meaning, "eos": "strip", **pairs}
    score = unscored(TOPSIM, **how)
    if isinstance(meaning_distance, str):
        return [score(value=None, reason=meaning_distance)]
    if num_rows < 3:
        return [score(value=None, reason="fewer than three messages")]

    rng = np.random.default_rng(options.seed)
    left, right = _draw_pairs(num_rows, rng) if sampled else np.triu_indices(num_rows, 1)
    message_distance = edit_distance(narrow_content(corpus))
    between_messages = message_distance(left, right)
    between_meanings = meaning_distance(left, right)
    for distances, what in ((between_messages, "messages"), (between_meanings, "meanings")):
        if np.ptp(distances) == 0:
            return [score(value=None, reason=f"all distances between {what} are equal")]
    x, y = _standard_ranks(between_messages), _standard_ranks(between_meanings)
    value = float(np.clip(x @ y / len(x), -1, 1))
    parts = _half_samples(left, right, x, y, num_rows, rng)
    if sampled:
        drawn = np.sort(rng.permutation(num_rows)[:NUM_ROWS_ALL_PAIRS])
        left, right = (drawn[side] for side in np.triu_indices(NUM_ROWS_ALL_PAIRS, 1))
        x, y = (_standard_ranks(distance(left, right)) for distance in (message_distance, meaning_distance))
    null = _null(x, y, min(num_rows, NUM_ROWS_ALL_PAIRS), rng)
    return [
        score(
            value=value,
            ci95=jackknife_interval(value, parts, num_rows, BOUNDS),
            chance=of_draws(
                null, seed=options.seed, bounds=BOUNDS, num_rows=NUM_ROWS_ALL_PAIRS if sampled else None
            ),
            details={"num_pairs": NUM_SAMPLED_PAIRS if sampled else len(left), "subsamples": len(parts)},
        )
    ]


def _meaning_distance(corpus: Corpus) -> tuple[str, Distance | str]:
    """The name and the function of the distance for this type of meanings, or the reason for having none."""
    if corpus.meanings is not None and has_attributes(corpus.meanings):
        return "hamming", hamming_distance(flat(corpus.meanings))
    if corpus.meanings is not None:
        features = flat(corpus.meanings)
        is_finite = bool(np.isfinite(features).all())
        return "cosine", cosine_distance(features) if is_finite else "a feature is not finite"
    concepts = concept_sets(corpus)
    if concepts is not None:
        return "jaccard", jaccard_distance(concepts)
    return "none", "the corpus has neither meanings nor concepts"


def _draw_pairs(num_rows: int, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """Pairs of two different rows, drawn with replacement: left rows and right rows, each (num_pairs,)."""
    left = rng.integers(num_rows, size=NUM_SAMPLED_PAIRS)
    right = rng.integers(num_rows - 1, size=NUM_SAMPLED_PAIRS)
    return left, right + (right >= left)


def _standard_ranks(distances: Floats) -> Floats:
    """Ranks (ties averaged) with mean 0 and variance 1: their mean product is Spearman's correlation."""
    ranks = average_ranks(distances)
    ranks -= ranks.mean()
    return np.asarray(ranks / ranks.std())


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


def _half_samples(
    left: Ints, right: Ints, x: Floats, y: Floats, num_rows: int, rng: np.random.Generator
) -> Floats:
    """Correlations over the pairs within half of the rows, (num_samples,); NaN if these have equal distances.

    The pairs are given by their rows, left and right, and by the standard ranks of both distances, x and y.
    """
    moments = np.stack([np.ones_like(x), x, y, x * x, y * y, x * y], axis=1)
    parts = np.full(num_draws(NUM_RESAMPLES, 0) if num_rows >= resampling.MIN_ROWS else 0, np.nan)
    # Only rows of pairs are drawn: of a large corpus a part, whose number in a half-sample is hypergeometric.
    is_paired = np.zeros(num_rows, bool)
    is_paired[left] = is_paired[right] = True
    number = np.cumsum(is_paired) - 1
    left, right, num_paired = number[left], number[right], int(number[-1]) + 1
    has_left, has_right, weights = np.empty(len(x), bool), np.empty(len(x), bool), np.empty(len(x))
    for place in range(len(parts)):
        size = num_rows // 2
        if num_paired < num_rows:
            size = int(rng.hypergeometric(num_paired, num_rows - num_paired, size))
        is_drawn = np.zeros(num_paired, bool)
        is_drawn[half_sample(num_paired, rng, size)] = True
        np.take(is_drawn, left, out=has_left, mode="clip")  # which copies nothing
        np.take(is_drawn, right, out=has_right, mode="clip")
        np.copyto(weights, np.logical_and(has_left, has_right, out=has_left))
        total, *sums = weights @ moments
        mean_x, mean_y, mean_xx, mean_yy, mean_xy = (value / total for value in sums)
        variance = (mean_xx - mean_x**2) * (mean_yy - mean_y**2)
        if variance >= 1e-12:
            parts[place] = (mean_xy - mean_x * mean_y) / np.sqrt(variance)
    return parts
