"""Zipf's law of abbreviation: are frequent units short?"""

import numpy as np

from ecsuite.corpus import Corpus, Ragged
from ecsuite.eval.metrics.has import LEVELS, THRESHOLD, shuffle_symbols
from ecsuite.eval.metrics.score import Options, Score, unscored, versioned
from ecsuite.eval.metrics.segmentation import boundaries, segments
from ecsuite.eval.statistics.counting import Floats, Ints, row_labels
from ecsuite.eval.statistics.distributions import average_ranks
from ecsuite.eval.statistics.resampling import Uncertainty, resample

VERSION = 2


@versioned(VERSION)
def zla(corpus: Corpus, options: Options) -> list[Score]:
    """Zipf's law of abbreviation: Zipf (1935); for segments Ueda et al. (2023), https://arxiv.org/abs/2305.05939.

    Spearman's correlation of the frequency and the length (number of symbols) of units, over the distinct units: for
    whole messages (`zla_messages`), and for the segments found in them by Harris's articulation scheme
    (`zla_segments`). Range -1 to 1; below 0 if frequent units are short, as in human languages.

    Random symbols also follow the law, since long random strings rarely recur. So for the null distribution the symbols
    of the corpus are shuffled over all positions, with the message lengths kept, and segmented again. The p-value is
    that of a score at most as high. Undefined if all units have the same length or the same frequency.
    """
    content, _ = corpus.reindexed()
    kinds = {"segments": {"units": "has", "threshold": f"{THRESHOLD:g}"}, "messages": {"units": "messages"}}
    scores = {
        kind: unscored(f"zla_{kind}", f"frequent {kind} are short", VERSION, **how, eos="strip")
        for kind, how in kinds.items()
    }
    if not len(content.values):
        return [score(value=None, reason="every message is empty") for score in scores.values()]

    def figures(messages: Ragged) -> Floats:
        parts = segments(messages, boundaries(messages, THRESHOLD))
        return np.array([_correlation(parts), _correlation(messages)])

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
            null=lambda rng: figures(shuffle_symbols(content, rng)),
        )
    return [
        score(value=None, reason=f"all {kind} have the same length or the same frequency")
        if of_kind is None or np.isnan(value)
        else score(value=value, ci95=of_kind.ci95, chance=of_kind.chance, details=of_kind.details)
        for (kind, score), value, of_kind in zip(scores.items(), values, found, strict=True)
    ]


def _correlation(units: Ragged) -> float:
    """Spearman's correlation of frequency and length over the distinct units; NaN if either is constant."""
    label = row_labels(units)
    _, first, frequency = np.unique(label, return_index=True, return_counts=True)
    length = units.lengths[first]
    if len(length) < 2 or not np.ptp(length) or not np.ptp(frequency):
        return float("nan")
    return float(np.clip(np.corrcoef(average_ranks(frequency), average_ranks(length))[0, 1], -1, 1))
