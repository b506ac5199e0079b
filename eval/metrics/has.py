"""Harris's articulation scheme: boundaries and segments of messages, with a shuffled control."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from ecsuite.corpus import Corpus
from ecsuite.eval.counts.counting import narrow_content, num_distinct_rows
from ecsuite.eval.metrics.score import Options, Score, unscored
from ecsuite.eval.metrics.segmentation import boundaries, segments
from ecsuite.eval.metrics.traits import Traits, metric
from ecsuite.eval.statistics.contingency import Floats, Ints
from ecsuite.eval.statistics.resampling import Uncertainty, resample
from ecsuite.runtime.ragged import Ragged

THRESHOLD = 0.8
"""Increase of the branching entropy, in bits, above which there is a boundary."""
OTHER_THRESHOLDS = (0.0, 0.4, 1.2)
"""Further thresholds reported in the details, as the number of boundaries depends strongly on the threshold."""
LEVELS = 24
"""Table entries per symbol that one segmentation counts, measured as a mean over several languages."""


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
    depends_on_size="branching entropies are counted over all messages",
    shares="segments",
    options=HasOptions,
    details={
        "segments": "different segments",
        "segment_length": "mean symbols of a segment",
        "shuffled": "the same with shuffled symbols",
    },
)


@metric(HAS)
def has(corpus: Corpus, options: Options, own: HasOptions = HasOptions()) -> list[Score]:
    """Harris's articulation scheme: boundaries per message, Ueda et al. (2023), https://arxiv.org/abs/2305.05939.

    The mean number of boundaries inside a message (see `segmentation.boundaries`) at a threshold of 0.8 bits. The
    details have the numbers at other thresholds, the number of distinct segments, and the mean segment length over
    occurrences. Range 0 to the message length minus 2. It measures whether messages have word-like parts, not whether
    these have meanings, and can be interpreted only relative to the control.

    The control and the null distribution: the symbols of the whole corpus shuffled over all positions, which keeps
    lengths and frequencies and removes any words; `shuffled` has the means of its figures. The p-value is two-sided,
    as of all metrics. Each boundary depends on all messages, so the values hold for corpora of this size.

    Undefined if every message is empty; 0 if no message has three symbols.
    """
    how = {"threshold": f"{own.threshold:g}", "starts": "all", "eos": "strip"}
    score = unscored(HAS, **how)
    content, _ = narrow_content(corpus).reindexed()
    if not len(content.values):
        return [score(value=None, reason="every message is empty")]
    begins, *others = boundaries(content, own.threshold, *OTHER_THRESHOLDS)
    by_threshold = [
        [bits, float(other.sum() / len(content))]
        for bits, other in zip(OTHER_THRESHOLDS, others, strict=True)
    ]
    del others  # of a large corpus they take much memory
    value, num_segments, length = _figures_of(content, begins)
    del begins

    def statistic(rows: Ints, partners: Ints) -> Floats:
        return np.array(_figures(content.take(rows), own.threshold))

    (found, shuffled_segments, shuffled_length) = resample(
        statistic,
        [value, num_segments, length],
        num_rows=len(content),
        seed=options.seed,
        work=LEVELS * len(content.values),
        bounds=(0.0, float(max(0, content.lengths.max() - 2))),
        null=lambda rng, rows: np.array(_figures(shuffle_symbols(content, rows, rng), own.threshold)),
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
    """The mean of shuffles, which all have the figures of segments."""
    assert found.chance is not None
    return found.chance.level


def shuffle_symbols(messages: Ragged, rows: Ints, rng: np.random.Generator) -> Ragged:
    """Messages of the lengths of some, by their ascending rows, with the symbols of these in random order."""
    some = messages if len(rows) == len(messages) else messages.take(rows)
    return Ragged(rng.permutation(some.values), some.offsets)


def _figures(messages: Ragged, threshold: float) -> tuple[float, float, float]:
    """Boundaries per message, number of distinct segments, and mean segment length (0 without segments)."""
    [begins] = boundaries(messages, threshold)
    return _figures_of(messages, begins)


def _figures_of(messages: Ragged, begins: NDArray[np.bool_]) -> tuple[float, float, float]:
    """The same of boundaries."""
    parts = segments(messages, begins)
    return (
        float(begins.sum() / len(messages)),
        float(num_distinct_rows(parts)),
        len(parts.values) / max(1, len(parts)),
    )
