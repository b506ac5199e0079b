"""Topographic similarity: correlation of the distances between meanings and between messages.

The value depends on both distances, their normalisation and the treatment of EOS. Published values differ in each of
these, so the signature has them all. A `Distance` is made from all rows and called with pairs of rows. Rank correlation
depends on ties, so distances have no rounding errors: equal distances are equal numbers.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Annotated, Any, Literal

import numpy as np
from msgspec import Meta, structs
from numpy.typing import NDArray
from rapidfuzz import process
from rapidfuzz.distance import Levenshtein
from scipy.sparse import csr_array

import ecsuite.parts.own_code as own_code
from ecsuite.corpus import Corpus
from ecsuite.eval.counts.counting import (
    attribute_codes,
    concept_sets,
    flat,
    has_attributes,
    meaning_labels,
    message_labels,
    narrow_content,
    row_of,
)
from ecsuite.eval.counts.exchange import of_concepts, of_meanings, sorted_rows
from ecsuite.eval.metrics.score import Options, Score, unscored
from ecsuite.eval.metrics.traits import Traits, metric, non_default_options
from ecsuite.eval.metrics.word_statistics import THRESHOLD, segmented
from ecsuite.eval.statistics import resampling
from ecsuite.eval.statistics.chance import Chance
from ecsuite.eval.statistics.contingency import (
    Floats,
    Ints,
    first_rows,
    joined,
    labels_of_codes,
    num_labels,
    renumbered,
)
from ecsuite.eval.statistics.estimates import ALPHA, normal_quantile
from ecsuite.eval.statistics.pair_correlation import MeaningPairs, RowPairs
from ecsuite.eval.statistics.resampling import Labels, half_sample, jackknife_interval, num_draws
from ecsuite.runtime.errors import ConfigError, PartError, unknown_name
from ecsuite.runtime.ragged import Ragged

Distance = Callable[[Ints, Ints], Floats]
"""Function from left rows and right rows, each (num_pairs,), to the distances of the pairs, (num_pairs,)."""

Divisor = Literal["mean", "larger", "none"]
"""Divisor of the number of edits."""

_BLOCK = 4_096
"""Pairs of feature vectors that are compared in one block, to limit memory."""
_MOST_MEMBERS = 1 << 18
"""Members of sets that are compared in one block."""


def edit_distance(rows: Ragged, divisor: Divisor = "mean") -> Distance:
    """Levenshtein distance, divided by the mean or the larger of the two lengths or not divided; 0 for two empty rows.

    Args:
        rows: Symbols, or other items in order, of each row.
        divisor: Divisor of the number of edits.
    """

    def distance(left: Ints, right: Ints) -> Floats:
        place, used = renumbered(np.concatenate([left, right]), len(rows))
        some, _ = rows.take(used).reindexed()
        # As strings: rapidfuzz compares items of other types by hashes, which can collide.
        text = some.values.astype("<u4").tobytes().decode("utf-32-le", "surrogatepass")
        texts = [text[begin:end] for begin, end in pairwise(some.offsets.tolist())]
        queries, choices = ([texts[row] for row in side.tolist()] for side in np.split(place, 2))
        edits = process.cpdist(queries, choices, scorer=Levenshtein.distance, dtype=np.int32)
        first, second = some.lengths[place[: len(left)]], some.lengths[place[len(left) :]]
        if divisor == "none":
            return np.asarray(edits, float)
        if divisor == "larger":
            return np.asarray(edits / np.maximum(1, np.maximum(first, second)))
        return np.asarray(2.0 * edits / np.maximum(1, first + second))

    return distance


def hamming_distance(attributes: NDArray[Any]) -> Distance:
    """Number of attributes that differ.

    Args:
        attributes: Values or their codes, shape (num_rows, num_attributes).
    """

    def distance(left: Ints, right: Ints) -> Floats:
        differing = np.zeros(len(left))
        for column in attributes.T:
            differing += column[left] != column[right]
        return differing

    return distance


def cosine_distance(features: NDArray[Any]) -> Distance:
    """One minus the cosine, to nine decimals; a zero vector has distance 1 to every other vector.

    Args:
        features: Finite numbers, shape (num_rows, num_features).
    """
    largest = np.abs(features).max(axis=1, initial=0, keepdims=True).astype(float)
    bounded = features / np.where(largest > 0, largest, 1)  # avoids overflow of squares
    norms = np.linalg.norm(bounded, axis=1, keepdims=True)
    unit = bounded / np.where(norms > 0, norms, 1)

    def distance(left: Ints, right: Ints) -> Floats:
        blocks = [slice(begin, begin + _BLOCK) for begin in range(0, len(left), _BLOCK)]
        cosines = [np.einsum("pf,pf->p", unit[left[block]], unit[right[block]]) for block in blocks]
        return np.round(1.0 - np.concatenate(cosines), 9)

    return distance


def euclidean_distance(features: NDArray[Any]) -> Distance:
    """Length of the difference of two vectors, rounded to nine decimals of the largest number in all vectors.

    Args:
        features: Finite numbers, shape (num_rows, num_features).
    """
    scale = float(np.abs(features).max(initial=0)) or 1.0

    def distance(left: Ints, right: Ints) -> Floats:
        blocks = [slice(begin, begin + _BLOCK) for begin in range(0, len(left), _BLOCK)]
        between = [(features[left[block]].astype(float) - features[right[block]]) / scale for block in blocks]
        lengths = np.concatenate([np.sqrt(np.einsum("pf,pf->p", each, each)) for each in between])
        return np.round(lengths, 9) * scale

    return distance


def length_distance(rows: Ragged) -> Distance:
    """Difference of the two lengths."""
    lengths = rows.lengths
    return lambda left, right: np.abs(lengths[left] - lengths[right]).astype(float)


def position_distance(rows: Ragged) -> Distance:
    """Number of positions at which two rows differ; positions after the end of one row differ."""
    width = int(rows.lengths.max(initial=0))
    table = np.full((len(rows), width), -1, np.int64)
    table[np.arange(width) < rows.lengths[:, None]] = rows.values
    return hamming_distance(table)


def distinct_sets(rows: Ragged) -> Ragged:
    """The values of each row, as ascending ids from 0 without repetition."""
    dense, ids = rows.reindexed()
    keys = np.unique(row_of(dense) * max(1, len(ids)) + dense.values)
    lengths = np.bincount(keys // max(1, len(ids)), minlength=len(rows))
    return Ragged.from_lengths((keys % max(1, len(ids))).astype(np.int32), lengths)


def set_distance(sets: Ragged, of_counts: Callable[[Ints, Ints, Ints], Floats]) -> Distance:
    """A distance of two sets from the numbers of their members.

    Args:
        sets: Rows of ids without repetition.
        of_counts: Computes distances from the sizes of both sets and of their intersections, each (num_pairs,).
    """
    sizes = sets.lengths
    shape = len(sizes), int(sets.values.max(initial=0)) + 1  # not inferred, as all sets may be empty
    members = csr_array((np.ones(len(sets.values), np.int64), sets.values, sets.offsets), shape)
    step = max(1, _MOST_MEMBERS // int(sizes.max(initial=1)))

    def in_common(left: Ints, right: Ints) -> Ints:
        place, used = renumbered(np.concatenate([left, right]), len(sizes))
        if len(used) ** 2 <= 4 * len(left):  # most pairs of these rows occur
            some = members[used]
            table: Ints = (some @ some.T).toarray()
            return table[place[: len(left)], place[len(left) :]]
        common = np.empty(len(left), np.int64)
        for block in (slice(begin, begin + step) for begin in range(0, len(left), step)):
            common[block] = members[left[block]].multiply(members[right[block]]).sum(axis=1)
        return common

    def distance(left: Ints, right: Ints) -> Floats:
        return np.asarray(of_counts(sizes[left], sizes[right], in_common(left, right)), float)

    return distance


def set_difference(first: Ints, second: Ints, common: Ints) -> Floats:
    """Number of members that are in one set only: the Hamming distance of vectors of zeros and ones."""
    return np.asarray(first + second - 2 * common, float)


def set_euclidean(first: Ints, second: Ints, common: Ints) -> Floats:
    """The Euclidean distance of vectors of zeros and ones."""
    return np.asarray(np.sqrt(set_difference(first, second, common)))


def set_cosine(first: Ints, second: Ints, common: Ints) -> Floats:
    """One minus the cosine of vectors of zeros and ones, to nine decimals; 1 if one is empty."""
    return np.asarray(np.round(1.0 - common / np.sqrt(np.maximum(1, first * second)), 9))


def jaccard_distance(sets: Ragged) -> Distance:
    """One minus the size of the intersection divided by the size of the union; 0 for two empty sets.

    Args:
        sets: Rows of ids without repetition.
    """
    return set_distance(sets, set_jaccard)


def set_jaccard(first: Ints, second: Ints, common: Ints) -> Floats:
    """One minus the size of the intersection divided by that of the union; 0 for two empty sets."""
    together = first + second - common
    return np.asarray((together - common) / np.maximum(1, together))


EDITS: dict[str, Divisor] = {"edit/mean": "mean", "edit": "none", "edit/max": "larger"}
"""Divisor of each edit distance."""
OF_MESSAGES = {
    "edit/mean": "edits of symbols (Levenshtein), divided by the mean of the two lengths",
    "edit": "number of edits of symbols (Levenshtein)",
    "edit/max": "edits of symbols (Levenshtein), divided by the larger of the two lengths",
    "hamming": "number of positions with different symbols, including positions after the end of one message",
    "jaccard": "share of the symbols of both messages that are in one only, without order and repetition",
}
"""Distances of messages, each with a description."""
OF_MEANINGS = ("auto", "hamming", "cosine", "euclidean", "jaccard", "levenshtein")
OF_SETS = {
    "hamming": set_difference,
    "cosine": set_cosine,
    "euclidean": set_euclidean,
    "jaccard": set_jaccard,
}
OWN = "./mine.py:my_distance"


@dataclass(frozen=True, kw_only=True, slots=True)
class TopsimOptions:
    """Distances that topographic similarity compares, and their correlation."""

    meaning_distance: Annotated[str, Meta(description=f"{', '.join(OF_MEANINGS)}, or {OWN}")] = "auto"
    """Distance of two meanings; auto: hamming of attribute values, cosine of features, jaccard of sets of concepts."""
    message_distance: Annotated[str, Meta(description=f"{', '.join(OF_MESSAGES)}, or {OWN}")] = "edit/mean"
    """Distance of two messages without EOS; edits are divided by the mean or the larger of their lengths, or not."""
    correlation: Literal["spearman", "pearson"] = "spearman"
    """Correlation of both distances, over pairs of messages."""
    attribute: Annotated[int, Meta(ge=0)] | Literal["each"] | None = None
    """Restrict the meaning distance to this attribute, from 0; each: one score per attribute."""
    units: Literal["symbols", "segments"] = "symbols"
    """Units of edits. segments: those of Harris's articulation scheme, at the threshold of `has` (W-TopSim:
    Ueda et al. 2023)."""
    given: Literal["nothing", "length", "attributes", "both"] = "nothing"
    """Partial correlation: control for the difference of lengths, the distance of the other attributes, or both."""

    def __post_init__(self) -> None:
        """Validate the names, and that `given` has an attribute."""
        for name, choices in (("meaning_distance", OF_MEANINGS), ("message_distance", OF_MESSAGES)):
            value = getattr(self, name)
            if value not in choices and not own_code.is_foreign(value):
                raise ConfigError(f"{name}: {unknown_name('distance', value, (*choices, OWN))}")
        if self.given in ("attributes", "both") and self.attribute is None:
            raise ConfigError(f"given: {self.given} needs attribute=0, or attribute=each")

    def settings(self, meaning: str) -> dict[str, Any]:
        """Settings in the signature, `meaning` being the meaning distance's name; others only if not the defaults."""
        own = [each for each in (self.message_distance, self.meaning_distance) if own_code.is_foreign(each)]
        return {
            "message_distance": self.message_distance.rpartition(":")[2],
            "meaning_distance": meaning,
            **({} if self.correlation == "spearman" else {"correlation": self.correlation}),
            **({} if self.attribute is None else {"attribute": self.attribute}),
            **({} if self.given == "nothing" else {"given": self.given}),
            **({} if self.units == "symbols" else {"units": self.units, "threshold": f"{THRESHOLD:g}"}),
            **(
                {"code": "+".join(own_code.checksum(each.partition(":")[0])[:12] for each in own)}
                if own
                else {}
            ),
        }


USUAL = TopsimOptions()
"""The default options."""


@dataclass(frozen=True, kw_only=True, slots=True)
class DistanceSpec:
    """Distances of a corpus to correlate, or the reason for having none."""

    meaning: str
    """The name of the meaning distance in signatures; `none` if there is none."""
    reason: str | None = None
    """Why there is no score."""
    messages: Distance | None = None
    """Distance between messages."""
    meanings: Distance | None = None
    """Distance between meanings."""
    lengths: Distance | None = None
    """Difference of message lengths, as a covariate."""
    others: Distance | None = None
    """Distance between the other attributes, as a covariate."""
    is_of_sets: bool = True
    """Whether messages with equal symbols and equal attributes (or sets of concepts) are equal in all distances."""
    is_ranked: bool = True
    """Whether ranks are correlated instead of values."""

    def distances(self, left: Ints, right: Ints) -> list[Floats | None]:
        """Distances of pairs, (num_pairs,) each: messages, meanings, and the two covariates."""
        compared = (self.messages, self.meanings, self.lengths, self.others)
        return [None if each is None else each(left, right) for each in compared]

    def standard(
        self, pairs: RowPairs, distances: Sequence[Floats | None]
    ) -> tuple[Floats, Floats, Floats | None]:
        """Distances to correlate, with mean 0 and variance 1; NaN if the covariates determine one of them.

        Returns:
            Distances of messages without the part explained by both covariates, distances of meanings without the part
            explained by the other attributes, and the same for differences of lengths; None without that covariate.
        """
        standardised = pairs.standard_ranks if self.is_ranked else pairs.standardised
        x, y, lengths, others = (
            standardised(each) if each is not None and np.ptp(each) > 0 else None for each in distances
        )
        assert x is not None and y is not None
        if others is not None:
            y = pairs.residuals(y, [others])
            lengths = None if lengths is None else pairs.residuals(lengths, [others])
        if lengths is not None and np.isnan(lengths).any():
            lengths = None
        fixed = [each for each in (lengths, others) if each is not None]
        return pairs.residuals(x, fixed) if fixed else x, y, lengths

    @classmethod
    def of(cls, corpus: Corpus, options: TopsimOptions) -> "DistanceSpec":
        """Choose the distances for a corpus by the options."""
        features = None if corpus.meanings is None else flat(corpus.meanings)
        rest: NDArray[Any] | None = None
        name = options.meaning_distance.rpartition(":")[2]  # without the path of a user's file
        if name == "auto" and corpus.meanings is not None:
            name = "hamming" if has_attributes(corpus.meanings) else "cosine"
        elif name == "auto":
            name = "none" if concept_sets(corpus) is None else "jaccard"
        if options.attribute is not None:
            if features is None:
                return cls(meaning=name, reason="the corpus has no attributes")
            if int(options.attribute) >= features.shape[1]:
                return cls(meaning=name, reason=f"there is no attribute {options.attribute}")
            rest = np.delete(features, int(options.attribute), axis=1)
            features = features[:, [int(options.attribute)]]
        meanings = meaning_distance(corpus, features, options.meaning_distance)
        if isinstance(meanings, str):
            return cls(meaning=name, reason=meanings)
        content = narrow_content(corpus)
        others: Distance | None = None
        if options.given in ("attributes", "both"):
            found = meaning_distance(corpus, rest, options.meaning_distance)
            if isinstance(found, str):
                return cls(meaning=name, reason=found)
            others = found
        return cls(
            meaning=name,
            messages=message_distance(corpus, options.message_distance),
            meanings=meanings,
            lengths=length_distance(content) if options.given in ("length", "both") else None,
            others=others,
            is_of_sets=corpus.meanings is not None or options.meaning_distance in (*OF_SETS, "auto"),
            is_ranked=options.correlation == "spearman",
        )


def message_distance(corpus: Corpus, name: str) -> Distance:
    """Make the distance between messages with this name, or from a user's file."""
    content = narrow_content(corpus)
    if name in EDITS:
        return edit_distance(content, EDITS[name])
    if name == "hamming":
        return position_distance(content)
    if name == "jaccard":
        return jaccard_distance(distinct_sets(content))
    wide = corpus.content()
    return _own_distance(name, lambda row: wide[row])


def meaning_distance(corpus: Corpus, features: NDArray[Any] | None, name: str) -> Distance | str:
    """Make the distance between meanings with this name, or give the reason why there is none.

    Args:
        corpus: Its concepts are compared if there are no features.
        features: Attribute values or features, (num_messages, num_attributes); None without any.
        name: One of `OF_MEANINGS`, or a function in a user's file.
    """
    if features is None:
        return _concept_distance(corpus, name)
    is_values, is_numbers = has_attributes(features), features.dtype.kind in "biuf"
    if is_numbers and not np.isfinite(features).all():
        return "a feature is not finite"
    if own_code.is_foreign(name):
        return _own_distance(name, lambda row: features[row])
    if name == "hamming" or (name == "auto" and is_values):
        return hamming_distance(features)
    if name in ("auto", "cosine", "euclidean"):
        if not is_numbers:
            return f"{name} distance needs numbers, not names"
        return euclidean_distance(features) if name == "euclidean" else cosine_distance(features)
    codes = attribute_codes(replace(corpus, meanings=features))
    if codes is None:
        return f"{name} distance needs attribute values or concepts, not features"
    if name == "levenshtein":
        return edit_distance(Ragged.from_table(codes), "none")
    return jaccard_distance(Ragged.from_table(codes + np.cumsum([0, *(codes.max(0, initial=0) + 1)[:-1]])))


def _concept_distance(corpus: Corpus, name: str) -> Distance | str:
    """Make a distance between sets of concepts; levenshtein and users' functions get concepts in their order."""
    sets = concept_sets(corpus)
    if sets is None or corpus.concepts is None:
        return "the corpus has neither meanings nor concepts"
    if own_code.is_foreign(name):
        concepts, names = corpus.concepts, corpus.concept_names
        return _own_distance(
            name, lambda row: [names[each] if names else each for each in concepts[row].tolist()]
        )
    if name == "levenshtein":
        return edit_distance(corpus.concepts, "none")
    return set_distance(sets, OF_SETS["jaccard" if name == "auto" else name])


def _own_distance(name: str, row_of: Callable[[int], Any]) -> Distance:
    """Wrap a user's function, which gets two messages or two meanings and returns a number.

    Raises:
        PartError: When it is called and returns anything else.
    """
    function = own_code.named(name, "distance")

    def distance(left: Ints, right: Ints) -> np.ndarray[Any, Any]:
        found = np.empty(len(left))
        for place, (first, second) in enumerate(zip(left.tolist(), right.tolist(), strict=True)):
            value = function(row_of(first), row_of(second))
            try:
                found[place] = value
            except (TypeError, ValueError):
                found[place] = np.nan
            if not np.isfinite(found[place]):
                expected = f"{name.rpartition(':')[2]}: expected a finite number"
                raise PartError(f"{own_code.place_of(name)}: {expected}; got {value!r:.80}")
        return found

    return distance


NUM_ROWS_ALL_PAIRS = 1_000
"""Different messages with meanings up to which all pairs are used."""
NUM_SAMPLED_PAIRS = 500_000
"""Pairs drawn with replacement from larger corpora."""
NUM_LOOKED_AT = 10_000
"""Messages of a large corpus that are first searched for different ones."""
MOST_MEANINGS = 1_000
"""Meanings up to which the interval adds up pairs by meaning."""
NUM_RESAMPLES = 200
"""Half-samples for the interval."""
BOUNDS = (-1.0, 1.0)
"""Range of a correlation."""

TOPSIM = Traits(
    name="topsim",
    about="similar meanings have similar messages",
    title="topographic similarity",
    high="1 if both distances rank all pairs of messages alike; trained agents mostly have 0.1 to 0.5",
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

    Options give other distances, Pearson's correlation, a single attribute, and partial correlations: both distances
    are replaced by their residuals of a least squares fit to the covariates. The null distribution then exchanges the
    residuals of meaning distances (Legendre 2000, "Comparison of permutation methods for the partial correlation and
    partial Mantel tests"), and messages keep their lengths.

    All pairs are used if at most 1,000 messages differ in themselves or in their meaning: equal messages are counted
    instead of compared. From other corpora 500,000 pairs are drawn, independently of the order of messages.

    The interval is a jackknife over halves of the meanings: a half-sample has the pairs within it.
    For more than 1,000 meanings it is normal, with the standard error of a U-statistic,
    since half-samples of drawn pairs have too few pairs. Both compute ranks once, over all pairs. As pairs share
    messages, the textbook p-value of the correlation does not hold. The null distribution exchanges the messages of
    whole meanings, see docs/reading_a_score.md, and uses all pairs; if pairs are drawn, it uses 1,000 messages, and is
    compared with the correlation of these messages.

    Undefined for fewer than three messages, if all distances are equal, and if the covariates determine a distance.
    """
    if own.units == "segments":
        corpus = segmented(corpus, THRESHOLD)
    if own.attribute != "each":
        return [_topsim_score(corpus, options, own)]
    number = 1 if corpus.meanings is None else flat(corpus.meanings).shape[1]
    every = [replace(own, attribute=attribute) for attribute in range(number)]
    return [
        structs.replace(
            _topsim_score(corpus, options, each), name=f"{TOPSIM.name}{non_default_options(each)}"
        )
        for each in every
    ]


def _topsim_score(corpus: Corpus, options: Options, own: TopsimOptions) -> Score:
    """Score of all attributes together, or of one."""
    num_rows = len(corpus.messages)
    is_large = num_rows > NUM_ROWS_ALL_PAIRS
    compared = DistanceSpec.of(corpus, own)
    groups = _few_groups(corpus) if is_large and compared.reason is None and compared.is_of_sets else None
    is_drawn = is_large and groups is None
    which = {"pairs": NUM_SAMPLED_PAIRS, "seed": options.seed} if is_drawn else {"pairs": "all"}
    score = unscored(TOPSIM, **own.settings(compared.meaning), eos="strip", **which)
    if compared.reason is not None or num_rows < 3:
        return score(value=None, reason=compared.reason or "fewer than three messages")
    # Units of the null distribution: meanings, or sequences of concepts if the distance depends on their order.
    exchange = of_meanings(corpus) if compared.is_of_sets or corpus.concepts is None else of_concepts(corpus)
    assert exchange is not None  # otherwise there is no distance of meanings
    rows = np.arange(num_rows)
    if groups is not None:
        rows, pairs = first_rows(groups, num_labels(groups)), RowPairs.of_groups(np.bincount(groups))
    elif is_drawn:
        rows = sorted_rows(corpus, exchange)
        pairs = RowPairs.drawn(num_rows, NUM_SAMPLED_PAIRS, np.random.default_rng(options.seed))
    else:
        pairs = RowPairs.all_of(num_rows)
    distances = compared.distances(rows[pairs.left], rows[pairs.right])
    for between, what in zip(distances, ("messages", "meanings"), strict=False):
        if between is not None and np.ptp(between) == 0:
            is_single = corpus.meanings is not None and corpus.meanings.shape[1:] == (1,)
            other = ": --metrics topsim,meaning_distance=euclidean compares single numbers"
            is_cosine = what == "meanings" and compared.meaning == "cosine" and is_single
            return score(
                value=None, reason=f"all distances between {what} are equal{other if is_cosine else ''}"
            )
    by_meaning = MeaningPairs(pairs, exchange.of_row[rows], *compared.standard(pairs, distances))
    value = by_meaning.correlation
    if np.isnan(value):
        return score(value=None, reason="the covariates determine the distances")
    details = {"num_pairs": len(pairs.left) if pairs.times is None else int(pairs.times.sum())}
    rng, num_meanings = np.random.default_rng([options.seed, exchange.num_units]), exchange.num_units
    permuted, exchanged, reference, is_uneven = by_meaning, exchange, value, False
    if is_drawn or exchange.is_uneven:
        some = rows[rng.permutation(num_rows)[:NUM_ROWS_ALL_PAIRS]] if is_drawn else np.arange(num_rows)
        is_uneven = exchange.take(some).is_uneven
        if is_uneven:
            some = some[exchange.take(some).balanced(NUM_ROWS_ALL_PAIRS)]
        exchanged, every = exchange.take(some), RowPairs.all_of(len(some))
        of_some = compared.distances(some[every.left], some[every.right])
        if any(each is not None and np.ptp(each) == 0 for each in of_some[:2]):
            return score(value=value, details=details)  # almost all messages are equal
        permuted = MeaningPairs(every, exchanged.of_row, *compared.standard(every, of_some))
        reference = permuted.correlation
    number = num_draws(resampling.NUM_PERMUTATIONS, exchanged.num_units**2 // 2)
    null = permuted.permuted(exchanged.orders(rng, number), exchanged.sizes)
    if is_uneven:
        null = resampling.moved(null, np.array(reference), np.array(value), BOUNDS)
    if num_meanings <= MOST_MEANINGS:
        size = num_draws(NUM_RESAMPLES, 0) if num_meanings >= resampling.MIN_ROWS else 0
        parts = by_meaning.halves(half_sample(num_meanings, rng) for _ in range(size))
        interval = jackknife_interval(value, parts, num_meanings, BOUNDS)
        details["subsamples"] = size
    else:
        half_width = normal_quantile(1 - ALPHA / 2) * by_meaning.standard_error(exchange.num_independent)
        interval = max(BOUNDS[0], value - half_width), min(BOUNDS[1], value + half_width)
    chance = Chance.from_permutations(
        null,
        seed=options.seed,
        bounds=BOUNDS,
        compared=reference if is_drawn and not is_uneven else None,
        num_rows=NUM_ROWS_ALL_PAIRS if is_drawn else None,
        num_meanings=exchanged.num_units,
        num_pairings=exchanged.num_pairings,
    )
    return score(value=value, ci95=interval, chance=chance, details=details)


def _few_groups(corpus: Corpus) -> Labels | None:
    """Index of each distinct message with its meaning, (num_messages,); None if there are too many."""
    for number in dict.fromkeys([min(len(corpus.messages), NUM_LOOKED_AT), len(corpus.messages)]):
        is_part = number < len(corpus.messages)
        groups = _labels_of_pairs(
            corpus.take(np.linspace(0, len(corpus.messages) - 1, number).astype(int)) if is_part else corpus
        )
        if num_labels(groups) > NUM_ROWS_ALL_PAIRS:
            return None
    return groups


def _labels_of_pairs(corpus: Corpus) -> Labels:
    """Index of each distinct message with its meaning, from 0 in order of first occurrence, (num_messages,)."""
    messages = message_labels(corpus).astype(np.int64)  # a copy, which is changed
    meanings = meaning_labels(corpus)
    assert meanings is not None
    number = num_labels(meanings)
    return labels_of_codes(*joined(messages, num_labels(messages), meanings.astype(np.int64), number))
