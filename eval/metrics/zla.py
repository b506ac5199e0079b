"""Zipf's law of abbreviation: are frequent units short?"""

from dataclasses import dataclass, replace
from typing import Annotated, Literal

import numpy as np
from msgspec import Meta

from ecsuite.corpus import Corpus
from ecsuite.eval.counts.counting import narrow_content, row_labels
from ecsuite.eval.metrics.has import LEVELS, THRESHOLD, shuffle_symbols
from ecsuite.eval.metrics.score import Options, Score, unscored
from ecsuite.eval.metrics.segmentation import boundaries, segments
from ecsuite.eval.metrics.traits import Traits, metric
from ecsuite.eval.statistics.contingency import Floats, Ints, first_rows
from ecsuite.eval.statistics.correlation import average_ranks
from ecsuite.eval.statistics.resampling import Uncertainty, resample
from ecsuite.runtime.ragged import Ragged


@dataclass(frozen=True, kw_only=True, slots=True)
class ZlaOptions:
    """How units are found, and what of them is correlated."""

    threshold: Annotated[float, Meta(ge=0, le=64)] = THRESHOLD
    """Increase of the branching entropy, in bits, above which a segment ends."""
    correlation: Literal["spearman", "pearson"] = "spearman"
    """Of frequency and length, over different units."""


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
    depends_on_size="more messages recur, and more different ones are counted",
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
    of the corpus are shuffled over all positions, with the message lengths kept, and segmented again. The p-value is
    two-sided, as of all metrics. Undefined if all units have the same length or the same frequency.
    """
    content, _ = narrow_content(corpus).reindexed()
    how = {} if own.correlation == "spearman" else {"corr": own.correlation}
    scores = {
        "segments": unscored(ZLA_SEGMENTS, units="has", threshold=f"{own.threshold:g}", **how, eos="strip"),
        "messages": unscored(ZLA_MESSAGES, units="messages", **how, eos="strip"),
    }
    if not len(content.values):
        return [score(value=None, reason="every message is empty") for score in scores.values()]

    def figures(messages: Ragged) -> Floats:
        [begins] = boundaries(messages, own.threshold)
        parts = segments(messages, begins)
        return np.array([_correlation(parts, own.correlation), _correlation(messages, own.correlation)])

    def statistic(rows: Ints, partners: Ints) -> Floats:
        return figures(content.take(rows))

    values = figures(content).tolist()
    found: list[Uncertainty | None] = [None, None]
    if not np.isnan(values).all():
        found[:] = resample(
            statistic,
            values,
            num_rows=len(content),
            seed=options.seed,
            work=LEVELS * len(content.values),
            bounds=(-1.0, 1.0),
            null=lambda rng, rows: figures(shuffle_symbols(content, rows, rng)),
        )
    return [
        score(value=None, reason=f"all {kind} have the same length or the same frequency")
        if of_kind is None or np.isnan(value)
        else score(value=value, ci95=of_kind.ci95, chance=of_kind.chance, details=of_kind.details)
        for (kind, score), value, of_kind in zip(scores.items(), values, found, strict=True)
    ]


def _correlation(units: Ragged, kind: Literal["spearman", "pearson"]) -> float:
    """The correlation of frequency and length over the distinct units; NaN if either is constant."""
    label = row_labels(units)
    frequency = np.bincount(label)
    length = units.lengths[first_rows(label, len(frequency))]
    if len(length) < 2 or not np.ptp(length) or not np.ptp(frequency):
        return float("nan")
    pair = [frequency, length] if kind == "pearson" else [average_ranks(frequency), average_ranks(length)]
    return float(np.clip(np.corrcoef(*pair)[0, 1], -1, 1))
