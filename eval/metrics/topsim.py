"""Topographic similarity: correlation of the distances between meanings and between messages.

The value depends on both distances, their normalisation and the treatment of EOS. Published values differ in
each of these, so all of them are in the signature.
"""

from dataclasses import replace

import numpy as np

from ecsuite.corpus import Corpus
from ecsuite.eval.counts.counting import flat, message_labels
from ecsuite.eval.counts.exchange import meaning_labels, of_concepts, of_meanings, sorted_rows
from ecsuite.eval.metrics.metric_options import unusual
from ecsuite.eval.metrics.score import Options, Score, unscored
from ecsuite.eval.metrics.topsim_options import USUAL, Compared, TopsimOptions
from ecsuite.eval.metrics.traits import Traits, metric
from ecsuite.eval.statistics import resampling
from ecsuite.eval.statistics.chance import of_draws
from ecsuite.eval.statistics.contingency import Ints, first_rows, joined, labels_of_codes, num_labels
from ecsuite.eval.statistics.estimates import ALPHA, normal_quantile
from ecsuite.eval.statistics.pair_correlation import MeaningPairs, Pairs
from ecsuite.eval.statistics.resampling import Exchange, half_sample, jackknife_interval, num_draws

NUM_ROWS_ALL_PAIRS = 1_000
"""Up to this many different messages with their meanings all pairs are used."""
NUM_SAMPLED_PAIRS = 500_000
"""Pairs drawn with replacement if there are more."""
NUM_LOOKED_AT = 10_000
"""Messages of a large corpus in which different ones are counted at first."""
MOST_MEANINGS = 1_000
"""Meanings up to which pairs are added up by meanings, for the interval."""
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
    version=4,
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
    squares on the distances held fixed leave of both. The null distribution then exchanges what distances of other
    attributes leave of those of meanings (Legendre 2000, "Comparison of permutation methods for the partial correlation
    and partial Mantel tests"), and messages keep their lengths.

    All pairs of messages are used where at most 1,000 messages differ, in themselves or in their meaning: equal ones
    are counted, and not compared. Of other corpora 500,000 pairs are drawn, whatever the order of messages.

    The interval is that of `resampling.jackknife_interval` over halves of the meanings: the pairs of a half-sample are
    those within it. That of more than 1,000 meanings is normal, with the standard error of a U-statistic
    (`MeaningPairs.standard_error`), since half-samples of drawn pairs have too few. Both compute ranks once, over all
    pairs. As pairs share messages, the textbook p-value of the correlation does not hold. The null distribution
    exchanges the messages of whole meanings, see `resampling.resample`, and uses all pairs; where pairs are drawn, it
    is that of 1,000 messages, and their correlation is compared with it.

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

    exchange = _exchange(corpus, compared)
    rows = np.arange(num_rows)
    if groups is not None:
        rows, pairs = first_rows(groups, num_labels(groups)), Pairs.of_groups(np.bincount(groups))
    elif is_drawn:
        rows = sorted_rows(corpus, exchange)
        pairs = Pairs.drawn(num_rows, NUM_SAMPLED_PAIRS, np.random.default_rng(options.seed))
    else:
        pairs = Pairs.all_of(num_rows)
    distances = compared.distances(rows[pairs.left], rows[pairs.right])
    for between, what in zip(distances, ("messages", "meanings"), strict=False):
        if between is not None and np.ptp(between) == 0:
            return score(value=None, reason=f"all distances between {what} are equal")
    x, y, fixed = compared.standard(pairs, distances)
    rest = y if fixed is None else pairs.residuals(y, [fixed])
    if not (np.isfinite(x).all() and np.isfinite(rest).all()):
        return score(value=None, reason="what is held fixed determines the distances")
    value = pairs.correlation(x, rest)
    details = {"num_pairs": len(x) if pairs.times is None else int(pairs.times.sum())}

    rng, num_meanings = np.random.default_rng([options.seed, exchange.num_units]), exchange.num_units
    by_meaning = MeaningPairs(pairs, exchange.of_row[rows], num_meanings, x, y, fixed)
    permuted, exchanged, reference = by_meaning, exchange, value
    if is_drawn:
        some, every = rows[rng.permutation(num_rows)[:NUM_ROWS_ALL_PAIRS]], Pairs.all_of(NUM_ROWS_ALL_PAIRS)
        exchanged = exchange.take(some)
        of_some = compared.distances(some[every.left], some[every.right])
        if any(each is not None and np.ptp(each) == 0 for each in of_some[:2]):
            return score(value=value, details=details)  # hardly any message differs from most
        permuted = MeaningPairs(
            every, exchanged.of_row, exchanged.num_units, *compared.standard(every, of_some)
        )
        reference = permuted.correlation
    number = num_draws(resampling.NUM_PERMUTATIONS, exchanged.num_units**2 // 2)
    null = permuted.permuted(exchanged.orders(rng, number), exchanged.sizes)
    if num_meanings <= MOST_MEANINGS:
        size = num_draws(NUM_RESAMPLES, 0) if num_meanings >= resampling.MIN_ROWS else 0
        parts = by_meaning.halves(half_sample(num_meanings, rng) for _ in range(size))
        interval = jackknife_interval(value, parts, num_meanings, BOUNDS)
        details["subsamples"] = size
    else:
        error = by_meaning.standard_error(exchange.num_independent)
        half_width = normal_quantile(1 - ALPHA / 2) * error
        interval = max(BOUNDS[0], value - half_width), min(BOUNDS[1], value + half_width)
    chance = of_draws(
        null,
        seed=options.seed,
        bounds=BOUNDS,
        compared=reference if is_drawn else None,
        num_rows=NUM_ROWS_ALL_PAIRS if is_drawn else None,
        num_meanings=exchanged.num_units,
        num_pairings=exchanged.num_pairings,
    )
    return score(value=value, ci95=interval, chance=chance, details=details)


def _exchange(corpus: Corpus, compared: Compared) -> Exchange:
    """Units of the null distribution: meanings, or where the order of concepts is compared, these in order."""
    exchange = of_meanings(corpus) if compared.is_of_sets or corpus.concepts is None else of_concepts(corpus)
    assert exchange is not None  # otherwise there is no distance of meanings
    return exchange


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
    meanings = meaning_labels(corpus)
    assert meanings is not None
    number = num_labels(meanings)
    return labels_of_codes(*joined(messages, num_labels(messages), meanings.astype(np.int64), number))
