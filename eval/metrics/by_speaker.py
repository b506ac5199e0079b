"""Metrics of a corpus with several speakers: each is scored alone, and a score is the mean over them."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ecsuite.corpus import Corpus
from ecsuite.eval.metrics.score import Metric, Options, Score
from ecsuite.eval.statistics.t_intervals import mean_and_half_width

SPEAKER = "speaker"
"""The column of a corpus that says who spoke."""
BY_SPEAKER = "by_speaker"
"""The key of the details that has the value of each speaker."""
BETWEEN = ("language_similarity",)
"""Metrics that compare speakers, and so take the corpus as a whole."""


def speakers_of(corpus: Corpus) -> list[Any]:
    """The speakers of a corpus in the order of their names; empty where it does not say who spoke."""
    return np.unique(corpus.columns[SPEAKER]).tolist() if SPEAKER in corpus.columns else []


def by_speaker(name: str, metric: Metric) -> Metric:
    """A metric that scores each speaker alone, where a corpus has several.

    A score is the mean over the speakers for whom it is defined, with Student's 95 % interval over them, and so is its
    chance level, whose interval is that of a mean of independent ones.

    Args:
        name: Of the metric.
        metric: Scores the corpus of one speaker.
    """
    if name in BETWEEN:
        return metric

    def scored(corpus: Corpus, options: Options) -> list[Score]:
        speakers = speakers_of(corpus)
        if len(speakers) < 2:
            return metric(corpus, options)
        each = [metric(corpus.where(SPEAKER, speaker), options) for speaker in speakers]
        return [mean_score(speakers, scores) for scores in zip(*each, strict=True)]

    return scored


def mean_score(speakers: Sequence[Any], scores: Sequence[Score]) -> Score:
    """One score of the scores of each speaker."""
    first = scores[0]
    values = [score.value for score in scores]
    defined = [float(value) for value in values if value is not None]
    details: dict[str, Any] = {BY_SPEAKER: dict(zip(map(str, speakers), values, strict=True))}
    signature = f"{first.signature}|speakers:{len(speakers)}"
    if not defined:
        return replace(first, signature=signature, details=details)
    value, half_width = mean_and_half_width(defined)
    return replace(
        first,
        value=value,
        ci95=None if half_width is None else (value - half_width, value + half_width),
        reason=None,
        signature=signature,
        details=details | _mean_chance([score.details for score in scores if score.value is not None]),
    )


def _mean_chance(details: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Chance level of a mean of scores, and the interval of a mean of independent ones; empty without one."""
    levels = [tuple(each.get(f"null_{part}") for part in ("mean", "low", "high")) for each in details]
    if not all(isinstance(part, int | float) for level in levels for part in level):
        return {}
    means, low, high = np.array(levels, dtype=float).T
    mean = float(means.mean())
    below, above = (math.sqrt(((end - means) ** 2).sum()) / len(means) for end in (low, high))
    return {"null_mean": mean, "null_low": mean - below, "null_high": mean + above}
