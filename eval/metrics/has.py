"""How Harris's articulation scheme divides the messages: boundaries, segments, and a shuffled control."""

from functools import partial

import numpy as np

from ecsuite.corpus import Corpus, Ragged
from ecsuite.eval.metrics.score import Options, Score, signature
from ecsuite.eval.metrics.segmentation import boundaries, segments
from ecsuite.eval.statistics.counting import Floats, Ints, row_labels
from ecsuite.eval.statistics.resampling import resample, take_rows

VERSION = 1
THRESHOLD = 0.8
"""Bits by which branching entropy must rise at a boundary."""
OTHER_THRESHOLDS = (0.0, 0.4, 1.2)
"""What the details show besides: the number of boundaries depends on little else."""
LEVELS = 24
"""Table entries a symbol that one segmentation counts, on the average of languages tried."""


def has(corpus: Corpus, options: Options) -> list[Score]:
    """Harris's articulation scheme: boundaries a message, Ueda et al. (2023), https://arxiv.org/abs/2305.05939.

    The mean number of boundaries inside a message (see `segmentation.boundaries`) at a threshold of 0.8 bits; the
    details have the numbers at other thresholds, how many different segments there are, and their mean
    length over occurrences. From 0 to the length of a message less 2. It asks whether messages have word-like
    parts at all, not whether these mean anything, and needs the control to be read.

    The control and the null: the symbols of the whole corpus shuffled over its places, which keeps lengths and
    frequencies and leaves no words; `shuffled` has the mean figures of it. The p-value
    is the share of draws with as many boundaries. Whether there is a boundary depends on all messages, so the
    figures are those of corpora of this size.

    Undefined where every message is empty; 0 where none has three symbols.
    """
    line = signature("has", VERSION, threshold=f"{THRESHOLD:g}", starts="all", eos="strip")
    score = partial(Score, name="has", about="word boundaries in a message", signature=line)
    content, _ = corpus.reindexed()
    if not len(content.values):
        return [score(value=None, reason="every message is empty")]
    value, num_segments, length = _figures(content, THRESHOLD)

    def statistic(rows: Ints, partners: Ints) -> Floats:
        return np.array(_figures(take_rows(content, rows), THRESHOLD))

    (found, shuffled_segments, shuffled_length) = resample(
        statistic,
        [value, num_segments, length],
        num_rows=len(content),
        seed=options.seed,
        work=LEVELS * len(content.values),
        tails=["high", "high", "high"],
        bounds=(0.0, float(max(0, content.lengths.max() - 2))),
        null=lambda rng: np.array(_figures(shuffle_symbols(content, rng), THRESHOLD)),
    )
    details = {
        "segments": num_segments,
        "segment_length": length,
        "shuffled": {
            "segments": shuffled_segments.details["null_mean"],
            "segment_length": shuffled_length.details["null_mean"],
        },
        "by_threshold": [[bits, _figures(content, bits)[0]] for bits in OTHER_THRESHOLDS],
    }
    return [score(value=value, ci95=found.ci95, details=details | found.details)]


def shuffle_symbols(messages: Ragged, rng: np.random.Generator) -> Ragged:
    """Messages of the same lengths with the same symbols, each anywhere in the corpus."""
    return Ragged(rng.permutation(messages.values), messages.offsets)


def _figures(messages: Ragged, threshold: float) -> tuple[float, float, float]:
    """Boundaries a message, the number of different segments, and the mean length of segments (0 of none)."""
    begins = boundaries(messages, threshold)
    parts = segments(messages, begins)
    num_different = int(row_labels(parts).max(initial=-1)) + 1
    return float(begins.sum() / len(messages)), float(num_different), len(parts.values) / max(1, len(parts))
