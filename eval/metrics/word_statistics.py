"""Statistics of words without meanings: segments (Harris), Zipf's law of abbreviation, sizes and entropies of ELCC."""

import hashlib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Annotated, Any, Literal

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from ecsuite.corpus import Corpus
from ecsuite.eval.counts.counting import dense_content, num_distinct_rows, row_labels
from ecsuite.eval.metrics.score import Options, Score, Signature, unscored
from ecsuite.eval.metrics.traits import CORRECTED, Traits, metric
from ecsuite.eval.statistics.cache import cached_by
from ecsuite.eval.statistics.contingency import (
    Counts,
    Floats,
    Ints,
    chao_shen,
    entropy,
    first_rows,
    index_type,
    labels_of_codes,
    num_labels,
)
from ecsuite.eval.statistics.estimates import average_ranks
from ecsuite.eval.statistics.resampling import Labels, Uncertainty, in_batches, resample
from ecsuite.runtime.ragged import Ragged

_NOISE = 1e-9
"""Increases below this, in bits, are rounding errors."""
_SMALL_TABLE, _MAX_TABLE = 1 << 16, 1 << 25
"""Table entries of substrings: up to the first, a table is always used; above the second, sorting."""


def boundaries(messages: Ragged, *thresholds: float) -> list[NDArray[np.bool_]]:
    """Segment boundaries inside messages: Ueda et al. (2023), https://arxiv.org/abs/2305.05939.

    The branching entropy h(s) of a substring s is the entropy of the next symbol over all occurrences of s in the
    corpus that are followed by a symbol. There is a boundary before position j of a message if, for any start
    i < j - 1, h(x_i … x_j-1) - h(x_i … x_j-2) exceeds the threshold. All starts and all lengths are used; a substring
    that occurs once has entropy 0, so longer substrings from the same start need not be considered.

    While a corpus is scored, segmentations are cached: several metrics segment the same permutations and half-samples.

    Args:
        messages: Messages without EOS, with dense ids.
        thresholds: Thresholds in bits.

    Returns:
        For each threshold, whether a segment begins at each symbol, shape (num_values,); False at the start of a
        message.
    """
    kept: dict[tuple[bytes, float], NDArray[np.uint8]] | None = cached_by(boundaries, dict)
    if kept is None:  # boundaries as bits, by the digest of the messages and the threshold
        return _boundaries([messages], thresholds)
    keys = [(_digest(messages), threshold) for threshold in thresholds]
    missing = [key for key in keys if key not in kept]
    for key, begins in zip(
        missing, _boundaries([messages], [threshold for _, threshold in missing]), strict=True
    ):
        kept[key] = np.packbits(begins)
    return [np.unpackbits(kept[key], count=len(messages.values)).view(bool) for key in keys]


def _digest(messages: Ragged) -> bytes:
    digest = hashlib.blake2b(np.ascontiguousarray(messages.values).data)
    digest.update(messages.offsets.data)
    return digest.digest()


def _boundaries_of_draws(draws: Sequence[Ragged], threshold: float) -> NDArray[np.bool_]:
    """Boundaries of several draws, each segmented alone, concatenated; draws not in the cache are computed together."""
    if len(draws) == 1:
        return boundaries(draws[0], threshold)[0]
    cached: dict[tuple[bytes, float], NDArray[np.uint8]] | None = cached_by(boundaries, dict)
    kept = {} if cached is None else cached
    keys = [(_digest(each), threshold) for each in draws]
    missing = {key: each for key, each in zip(keys, draws, strict=True) if key not in kept}
    if missing:
        [begins] = _boundaries(list(missing.values()), [threshold])
        ends = np.cumsum([len(each.values) for each in missing.values()])
        kept |= dict(zip(missing, map(np.packbits, np.split(begins, ends[:-1])), strict=True))
    found = [np.unpackbits(kept[key], count=len(each.values)) for key, each in zip(keys, draws, strict=True)]
    return np.concatenate(found).view(bool)


def _joined(draws: Sequence[Ragged]) -> tuple[Ragged, Ints]:
    """Messages of several draws end to end, and the end of the values of each draw, (num_draws,)."""
    if len(draws) == 1:
        return draws[0], draws[0].offsets[-1:]
    values = np.concatenate([each.values for each in draws])
    ends = np.cumsum([len(each.values) for each in draws])
    shifts = [each.offsets[1:] + end - len(each.values) for each, end in zip(draws, ends, strict=True)]
    return Ragged(values, np.concatenate([np.zeros(1, np.int64), *shifts])), ends


def _boundaries(draws: Sequence[Ragged], thresholds: Sequence[float]) -> list[NDArray[np.bool_]]:
    """Boundaries of several draws, concatenated; substrings are counted within each draw."""
    messages, ends = _joined(draws)
    values, num_symbols = messages.values, int(messages.values.max(initial=0)) + 1
    begins = [np.zeros(len(values), bool) for _ in thresholds]
    if not thresholds:
        return begins
    start, left = _starts(messages)
    substring: NDArray[Any] = values[start]
    if len(draws) > 1:
        substring = substring + np.searchsorted(ends, start, side="right") * num_symbols
    num_substrings, width, before = num_symbols * len(draws), 1, None
    while len(start):
        bound = num_substrings * num_symbols
        blocks = [slice(begin, begin + _block(bound)) for begin in range(0, len(start), _block(bound))]

        def codes_of(block: slice) -> Ints:
            codes: Ints = substring[block] * np.int64(num_symbols)  # noqa: B023 - called in this round
            codes += values[start[block] + width]  # noqa: B023
            return codes

        if bound > max(_SMALL_TABLE, min(16 * len(start), _MAX_TABLE)):
            originals, codes, count = np.unique(
                np.concatenate([codes_of(block) for block in blocks]), return_inverse=True, return_counts=True
            )
            codes_in: Callable[[slice], Ints] = codes.__getitem__
            present, bound = np.arange(len(originals)), len(originals)
        else:
            table = np.zeros(bound, np.int64)
            for block in blocks:
                table += np.bincount(codes_of(block), minlength=bound)
            originals = present = np.flatnonzero(table)
            count, codes_in = table[present], codes_of
        entropy = _branching(originals // num_symbols, count, num_substrings)
        if before is not None:  # a substring of one symbol is never an increase
            for threshold, begin in zip(thresholds, begins, strict=True):
                rises = entropy - before > threshold + _NOISE
                for block in blocks:
                    begin[start[block][rises[substring[block]]] + width] = True
        recurs = count > 1
        number = np.full(bound, -1, np.int32)
        num_substrings = int(recurs.sum())
        number[present[recurs]] = np.arange(num_substrings)
        longer, filled = np.empty(len(start), np.min_scalar_type(num_substrings)), 0
        for block in blocks:  # overwrites earlier entries in place, which limits memory
            own = number[codes_in(block)]
            goes_on = np.flatnonzero((own >= 0) & (left[block] > width))
            place = slice(filled, filled + len(goes_on))
            longer[place] = own[goes_on]
            start[place], left[place] = start[block][goes_on], left[block][goes_on]
            filled = place.stop
        start, left, substring = start[:filled], left[:filled], longer[:filled]
        width, before = width + 1, entropy[originals[recurs] // num_symbols]
    return begins


def _starts(messages: Ragged) -> tuple[NDArray[Any], NDArray[Any]]:
    """Indices of symbols with a successor in their message, and the number of successors, in the smallest types."""
    place = index_type(len(messages.values))
    narrow = np.min_scalar_type(int(messages.lengths.max(initial=0)))
    starts, lefts = [np.zeros(0, place)], [np.zeros(0, narrow)]
    begin = 0
    for rows in messages.blocks():
        left = np.repeat(rows.offsets[1:], rows.lengths) - np.arange(1, len(rows.values) + 1)
        followed = np.flatnonzero(left)
        starts.append((followed + begin).astype(place))
        lefts.append(left[followed].astype(narrow))
        begin += len(rows.values)
    return np.concatenate(starts), np.concatenate(lefts)


def _block(bound: int) -> int:
    """Number of substrings in a block, for a table of `bound` entries."""
    return max(1 << 18, bound // 2)


def segments(messages: Ragged, begins: NDArray[np.bool_]) -> Ragged:
    """Cut messages into segments; empty messages have none.

    Args:
        messages: The messages.
        begins: The result of `boundaries`.
    """
    starts = begins.copy()
    starts[messages.offsets[: np.searchsorted(messages.offsets, len(starts))]] = True  # but not at the end
    return Ragged(messages.values, np.append(np.flatnonzero(starts), len(starts)))


def segmented(corpus: Corpus, threshold: float) -> Corpus:
    """The corpus with segments in the place of symbols: ids from 1 in order of first occurrence, without EOS."""
    content, _ = dense_content(corpus)
    [begins] = boundaries(content, threshold)
    begins = begins.copy()
    begins[content.offsets[:-1][content.lengths > 0]] = True
    offsets = np.concatenate([[0], np.cumsum(begins)])[content.offsets]
    parts = Ragged(content.values, np.append(np.flatnonzero(begins), len(begins)))
    return replace(corpus, messages=Ragged((row_labels(parts) + 1).astype(np.int32), offsets))


def _branching(substring: Ints, count: Ints, num_substrings: int) -> NDArray[np.float64]:
    """Branching entropy in bits of each substring, from the count of each (substring, next symbol) pair."""
    total = np.bincount(substring, count, num_substrings)
    spent = np.bincount(substring, count * np.log2(count), num_substrings)
    return np.log2(np.maximum(total, 1)) - spent / np.maximum(total, 1)


THRESHOLD = 0.8
"""Increase of the branching entropy, in bits, above which there is a boundary."""
OTHER_THRESHOLDS = (0.0, 0.4, 1.2)
"""Further thresholds reported in the details, as the number of boundaries depends strongly on the threshold."""
LEVELS = 24
"""Table entries per symbol that a segmentation counts, the mean over several measured languages."""


@dataclass(frozen=True, kw_only=True, slots=True)
class HasOptions:
    """How messages are cut into segments."""

    threshold: Annotated[float, Meta(ge=0, le=64)] = THRESHOLD
    """Increase of the branching entropy, in bits, above which there is a boundary."""


HAS = Traits(
    name="has",
    about="word boundaries per message",
    title="Harris's articulation scheme",
    high="far above its shuffled control: messages are made of recurring segments; neither is better",
    question="natural",
    version=2,
    chance="shuffled symbols",
    least_messages=5000,
    has_reliable_interval=False,
    depends_on_size="branching entropies are counted over all messages",
    shares="segments",
    options=HasOptions,
    details={
        "segments": "different segments",
        "segment_length": "mean symbols of a segment",
        "shuffled": "means with shuffled symbols",
    },
)


@metric(HAS)
def has(corpus: Corpus, options: Options, own: HasOptions = HasOptions()) -> list[Score]:
    """Harris's articulation scheme: boundaries per message, Ueda et al. (2023), https://arxiv.org/abs/2305.05939.

    The mean number of boundaries inside a message at a threshold of 0.8 bits. The
    details have the numbers at other thresholds, the number of distinct segments, and the mean segment length over
    occurrences. Range 0 to the message length minus 2. It measures whether messages have word-like parts, not whether
    these have meanings, and can be interpreted only relative to the control.

    The control and the null distribution: the symbols of the whole corpus shuffled over all positions, which preserves
    lengths and frequencies and removes any words; `shuffled` has the mean figures. The p-value is two-sided, as for all
    metrics. Each boundary depends on all messages, so the values hold for corpora of this size.

    Undefined if every message is empty; 0 if no message has three symbols.
    """
    how = {"threshold": f"{own.threshold:g}", "starts": "all", "eos": "strip"}
    score = unscored(HAS, **how)
    content, _ = dense_content(corpus)
    if not len(content.values):
        return [score(value=None, reason="every message is empty")]
    begins, *others = boundaries(content, own.threshold, *OTHER_THRESHOLDS)
    by_threshold = [
        [bits, float(other.sum() / len(content))]
        for bits, other in zip(OTHER_THRESHOLDS, others, strict=True)
    ]
    del others  # of a large corpus they take much memory
    [[value, num_segments, length]] = _figures([content], begins).tolist()
    del begins

    def figures(draws: list[Ragged]) -> Floats:
        return _figures(draws, _boundaries_of_draws(draws, own.threshold))

    (found, shuffled_segments, shuffled_length) = resample(
        None,
        [value, num_segments, length],
        num_rows=len(content),
        seed=options.seed,
        work=LEVELS * len(content.values),
        bounds=(0.0, float(max(0, content.lengths.max() - 2))),
        **_draws_of(content, figures),
    )
    details = {
        "segments": num_segments,
        "segment_length": length,
        "shuffled": {
            "segments": _level(shuffled_segments),
            "segment_length": _level(shuffled_length),
        },
        "by_threshold": by_threshold,
    }
    return [score(value=value, ci95=found.ci95, chance=found.chance, details=details | found.details)]


def _level(found: Uncertainty) -> float:
    """Mean over shuffles, which always have a chance level."""
    assert found.chance is not None
    return found.chance.level


def shuffle_symbols(messages: Ragged, rows: Ints, rng: np.random.Generator) -> Ragged:
    """Messages with the lengths of the given ascending rows, and their symbols in random order."""
    some = messages if len(rows) == len(messages) else messages.take(rows)
    return Ragged(rng.permutation(some.values), some.offsets)


def _draws_of(messages: Ragged, figures: Callable[[list[Ragged]], Floats]) -> dict[str, Any]:
    """Arguments of `resample`: figures of subsets of the messages, and of shuffled symbols."""
    of_draws = in_batches(figures, len(messages.values))
    return {
        "of_pairings": lambda pairings: of_draws(messages.take(rows) for rows, _ in pairings),
        "nulls": lambda rng, every: of_draws(shuffle_symbols(messages, rows, rng) for rows in every),
    }


def _figures(draws: Sequence[Ragged], begins: NDArray[np.bool_]) -> Floats:
    """Boundaries per message, number of distinct segments, and mean segment length (0 without segments) of each draw.

    Args:
        draws: Messages.
        begins: Whether a segment begins at each symbol, all draws concatenated.

    Returns:
        Shape (num_draws, 3).
    """
    messages, ends = _joined(draws)
    parts, sizes = segments(messages, begins), np.diff(ends, prepend=0)
    numbers = [np.count_nonzero(each) for each in np.split(begins, ends[:-1])]
    if len(draws) == 1:
        num_parts, num_distinct = np.array([len(parts)]), np.array([num_distinct_rows(parts)])
    else:
        draw = np.searchsorted(ends, parts.offsets[:-1], side="right")
        num_parts = np.bincount(draw, minlength=len(draws))
        label = _labels_in_draws(parts, draw)
        num_distinct = np.bincount(draw[first_rows(label, num_labels(label))], minlength=len(draws))
    per_message = np.array(numbers) / [len(each) for each in draws]
    return np.stack([per_message, num_distinct, sizes / np.maximum(1, num_parts)], axis=1)


def _labels_in_draws(units: Ragged, draw: Labels) -> Labels:
    """Number each distinct unit within its draw; numbers of a draw begin after the numbers of the draw before."""
    label = row_labels(units)
    if not len(draw) or draw[0] == draw[-1]:
        return label
    number = num_labels(label)
    return labels_of_codes(draw.astype(np.int64) * number + label, (int(draw[-1]) + 1) * number)


@dataclass(frozen=True, kw_only=True, slots=True)
class ZlaOptions:
    """How messages are cut into units, and how frequency and length are correlated."""

    threshold: Annotated[float, Meta(ge=0, le=64)] = THRESHOLD
    """Increase of the branching entropy, in bits, above which a segment ends."""
    correlation: Literal["spearman", "pearson"] = "spearman"
    """Correlation of frequency and length, over different units."""


ZLA_MESSAGES = Traits(
    name="zla_messages",
    about="frequent messages are short",
    title="Zipf's law of abbreviation, of messages",
    high="below 0 and below its shuffled control: frequent messages are short, as words of human languages",
    question="natural",
    direction="lower",
    version=2,
    bounds=(-1.0, 1.0),
    chance="shuffled symbols",
    depends_on_size="larger corpora have more distinct messages and more that recur",
    shares="segments",
    options=ZlaOptions,
)
ZLA_SEGMENTS = replace(
    ZLA_MESSAGES,
    name="zla_segments",
    about="frequent segments are short",
    title="Zipf's law of abbreviation, of segments",
    high="below 0 and below its shuffled control: frequent segments are short, as words of human languages",
)


@metric(ZLA_SEGMENTS, ZLA_MESSAGES)
def zla(corpus: Corpus, options: Options, own: ZlaOptions = ZlaOptions()) -> list[Score]:
    """Zipf's law of abbreviation: Zipf (1935); for segments Ueda et al. (2023), https://arxiv.org/abs/2305.05939.

    Spearman's correlation of the frequency and the length (number of symbols) of units, over the distinct units: for
    whole messages (`zla_messages`), and for the segments found in them by Harris's articulation scheme
    (`zla_segments`). Range -1 to 1; below 0 if frequent units are short, as in human languages.

    Random symbols also follow the law, since long random strings rarely recur. So for the null distribution the symbols
    of the corpus are shuffled over all positions, with message lengths unchanged, and segmented again. The p-value is
    two-sided, as for all metrics. Undefined if all units have the same length or the same frequency.
    """
    content, _ = dense_content(corpus)
    how = {} if own.correlation == "spearman" else {"correlation": own.correlation}
    scores = {
        "segments": unscored(
            ZLA_SEGMENTS, units="segments", threshold=f"{own.threshold:g}", **how, eos="strip"
        ),
        "messages": unscored(ZLA_MESSAGES, units="messages", **how, eos="strip"),
    }
    if not len(content.values):
        return [score(value=None, reason="every message is empty") for score in scores.values()]

    def figures(draws: list[Ragged]) -> Floats:
        messages, ends = _joined(draws)
        parts = segments(messages, _boundaries_of_draws(draws, own.threshold))
        of_parts = np.searchsorted(ends, parts.offsets[:-1], side="right").astype(np.int32)
        of_messages = np.repeat(np.arange(len(draws), dtype=np.int32), list(map(len, draws)))
        both = ((parts, of_parts), (messages, of_messages))
        return np.stack([_correlations(*each, len(draws), own.correlation) for each in both], axis=1)

    values = figures([content])[0].tolist()
    found: list[Uncertainty | None] = [None, None]
    if not np.isnan(values).all():
        found[:] = resample(
            None,
            values,
            num_rows=len(content),
            seed=options.seed,
            work=LEVELS * len(content.values),
            bounds=(-1.0, 1.0),
            **_draws_of(content, figures),
        )
    return [
        score(value=None, reason=f"all {kind} have the same length or the same frequency")
        if of_kind is None or np.isnan(value)
        else score(value=value, ci95=of_kind.ci95, chance=of_kind.chance, details=of_kind.details)
        for (kind, score), value, of_kind in zip(scores.items(), values, found, strict=True)
    ]


def _correlations(
    units: Ragged, draw: Labels, num_draws: int, kind: Literal["spearman", "pearson"]
) -> list[float]:
    """Correlation of frequency and length over the distinct units of each draw; NaN if either is constant.

    Args:
        units: Messages or segments.
        draw: The draw of each unit, ascending, (num_units,).
        num_draws: Number of draws.
        kind: The correlation.
    """
    label = _labels_in_draws(units, draw)
    frequencies = np.bincount(label)
    first = first_rows(label, len(frequencies))
    lengths = units.offsets[first + 1] - units.offsets[first]
    found = []
    for begin, end in pairwise(np.searchsorted(draw[first], np.arange(num_draws + 1)).tolist()):
        frequency, length = frequencies[begin:end], lengths[begin:end]
        if len(length) < 2 or not np.ptp(length) or not np.ptp(frequency):
            found.append(float("nan"))
            continue
        pair = [frequency, length] if kind == "pearson" else [average_ranks(frequency), average_ranks(length)]
        found.append(float(np.clip(np.corrcoef(*pair)[0, 1], -1, 1)))
    return found


_MEASURES = {
    "Token Count": "symbols, including EOS",
    "Line Count": "non-empty messages",
    "Tokens per Line": "mean length of a message",
    "Tokens per Line SD": "standard deviation of message lengths",
    "Unique Tokens": "distinct symbols",
    "Unique Lines": "distinct messages",
    "1-gram Entropy": "bits per symbol, without context",
    "1-gram Normalized Entropy": "evenness of symbol use, 0 to 1",
    "2-gram Entropy": "bits per pair of adjacent symbols",
    "2-gram Conditional Entropy": "bits per symbol, given the previous one",
    "Entropy per Line": "bits per message, symbols independent",
    "EoS Token Present": "all messages end with the same symbol",
    "EoS Padding": "messages are padded with EOS",
}
"""The measures and their meanings, with the names and the order of the collection's JSON."""


_UNSIZED = ("Tokens per Line", "Tokens per Line SD", "EoS Token Present", "EoS Padding")
_ENTROPIES = ("1-gram Entropy", "2-gram Entropy", "2-gram Conditional Entropy", "Entropy per Line")
TRAITS = tuple(
    Traits(
        name=name,
        about=about,
        question="sizes",
        version=2,
        draws=False,
        depends_on_size=None
        if name in _UNSIZED
        else "plug-in entropies are too low in small corpora"
        if "Entropy" in name
        else "it counts all messages",
        details={"chao_shen": CORRECTED} if name in _ENTROPIES else {},
    )
    for name, about in _MEASURES.items()
)


@metric(*TRAITS)
def elcc(corpus: Corpus, options: Options) -> list[Score]:
    """Measure sizes and entropies as in Boldt and Mortensen, ELCC (2024), https://arxiv.org/abs/2407.04158.

    With H1 and H2 the plug-in entropies of symbols and of pairs of adjacent symbols, T symbols, L lines and V distinct
    symbols: normalized entropy is H1 / log2 V, conditional entropy H2 - H1, entropy per line H1 T / L. An EOS token is
    present if all lines end with the same symbol and no other symbol follows its first occurrence in a line; padding
    means that it also pads all lines to the same length. The standard deviation is of a population (divisor L); pairs
    do not cross lines; empty messages are left out, as in the collection. The details of the entropies have estimates
    with less bias (`chao_shen`; Chao and Shen 2003).

    If the corpus has an EOS, symbols after the first EOS of a message count for `EoS Padding` only. The collection
    counts padding as symbols: read the corpus with no EOS to get its figures (`--eos none`).

    Returns:
        Thirteen scores, named and ordered as in the collection.
    """
    ended = corpus.ended()
    values, corrected = _measure(ended)
    if ended is not corpus.messages:
        values["EoS Padding"] = _measure(corpus.messages)[0]["EoS Padding"]
    line = Signature.of("elcc", TRAITS[0].version, eos="kept")
    scores = []
    for traits in TRAITS:
        value = values.get(traits.name, "every message is empty")
        known = {"value": None, "reason": value} if isinstance(value, str) else {"value": value}
        details = {"chao_shen": corrected[traits.name]} if traits.name in corrected else {}
        scores.append(Score(name=traits.name, about=traits.about, signature=line, details=details, **known))
    return scores


def _measure(messages: Ragged) -> tuple[dict[str, float | int | bool | str], dict[str, float]]:
    """Measures of a corpus, with a string as the reason for an undefined one; and entropies with less bias."""
    lengths = messages.lengths
    has_empty = not lengths.all()
    if has_empty:
        lengths = lengths[lengths > 0]
    num_tokens, num_lines = len(messages.values), len(lengths)
    values: dict[str, float | int | bool | str] = {"Token Count": num_tokens, "Line Count": num_lines}
    if not num_tokens:
        return values | {"Unique Tokens": 0, "Unique Lines": 0}, {}
    spread, is_level = float(lengths.std()), bool((lengths == lengths[0]).all())
    del lengths
    messages, ids = messages.narrowed().reindexed()
    num_types, last = len(ids), int(messages.values[-1])
    counts, pair_counts = Counts(num_types), Counts(num_types**2)
    eos_present = True
    for block in messages.blocks():
        tokens = block.values.astype(np.int64)
        counts.add(tokens)
        is_last = np.zeros(len(tokens), bool)
        is_last[block.offsets[1:][np.diff(block.offsets) > 0] - 1] = True
        inner = ~is_last[:-1]  # the next token is in the same line
        pair_counts.add((tokens[:-1] * num_types + tokens[1:])[inner])
        is_eos = tokens == last
        eos_present &= bool(is_eos[is_last].all()) and not bool((inner & is_eos[:-1] & ~is_eos[1:]).any())
    of_tokens, of_pairs = counts.of_codes(), pair_counts.of_codes()
    token_entropy, pair_entropy = entropy(of_tokens), entropy(of_pairs)
    no_evenness, no_pairs = "there is only one distinct symbol", "no message has two symbols"
    of_token = chao_shen(of_tokens)
    corrected = {"1-gram Entropy": of_token, "Entropy per Line": of_token * num_tokens / num_lines}
    if len(of_pairs):
        of_pair = chao_shen(of_pairs)
        corrected |= {"2-gram Entropy": of_pair, "2-gram Conditional Entropy": max(0.0, of_pair - of_token)}
    return values | {
        "Tokens per Line": num_tokens / num_lines,
        "Tokens per Line SD": spread,
        "Unique Tokens": num_types,
        "Unique Lines": num_distinct_rows(messages) - has_empty,
        "1-gram Entropy": token_entropy,
        "1-gram Normalized Entropy": token_entropy / math.log2(num_types) if num_types > 1 else no_evenness,
        "2-gram Entropy": pair_entropy if len(of_pairs) else no_pairs,
        "2-gram Conditional Entropy": pair_entropy - token_entropy if len(of_pairs) else no_pairs,
        "Entropy per Line": token_entropy * num_tokens / num_lines,
        "EoS Token Present": eos_present,
        "EoS Padding": eos_present and is_level and int(of_tokens[last]) > num_lines,
    }, corrected
