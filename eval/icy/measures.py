"""Metrics of protocol `metrics`: metrics of the suite, and variants as defined in the ICY paper."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.stats import spearmanr

from ecsuite.corpus import Corpus
from ecsuite.eval.counts.positions import attributes_or_reason, position_columns
from ecsuite.eval.metrics.disentanglement import POSDIS, bosdis, posdis
from ecsuite.eval.metrics.entropies import (
    RESIDUAL_ENTROPY,
    entropies_or_reason,
    hce,
    plain_residual_entropy,
)
from ecsuite.eval.metrics.score import Options, Score, Signature
from ecsuite.eval.metrics.topsim import (
    NUM_ROWS_ALL_PAIRS,
    NUM_SAMPLED_PAIRS,
    TOPSIM,
    hamming_distance,
    topsim,
)
from ecsuite.eval.metrics.tre import TRE7, plain_tre7
from ecsuite.grammars.geometry import Geometry
from ecsuite.grammars.icy import language

OWN_VERSION = 1
"""Version of the metrics that only ICY has, in their signatures."""
VERSIONS = (OWN_VERSION, *(traits.version for traits in (TOPSIM, POSDIS, RESIDUAL_ENTROPY, TRE7)))
"""Versions of all metrics: a stored measurement of other versions is not used."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Measure:
    """A metric of a language."""

    metric: Callable[[Corpus, Options], list[Score]]
    """Gives one score."""
    low_is_compositional: bool = False
    unit: str = ""
    """Empty if the metric lies between 0 and 1; then a figure shows it on the left-hand axis."""

    def score(self, corpus: Corpus, options: Options) -> Score:
        """The score of a corpus."""
        [score] = self.metric(corpus, options)
        return score


def topsim_hamming(corpus: Corpus, options: Options) -> list[Score]:
    """Topographic similarity with the Hamming distance between meanings and between messages.

    As in the ICY paper's program, which draws 10,000 pairs; we draw as many as `topsim` does. The metric `topsim` of
    the suite uses the edit distance between messages.
    """
    attributes = attributes_or_reason(corpus)
    num_rows = len(corpus.messages)
    is_sampled = num_rows > NUM_ROWS_ALL_PAIRS
    pairs = {"pairs": NUM_SAMPLED_PAIRS, "seed": options.seed} if is_sampled else {"pairs": "all"}
    line = Signature.of(
        "topsim_hamming",
        OWN_VERSION,
        message_distance="hamming",
        meaning_distance="hamming",
        past_end="blank",
        eos="strip",
        **pairs,
    )
    score = partial(Score, name="topsim_hamming", about="close meanings have close messages", signature=line)
    if isinstance(attributes, str):
        return [score(value=None, reason=attributes)]
    if is_sampled:
        rng = np.random.default_rng(options.seed)
        left = rng.integers(num_rows, size=NUM_SAMPLED_PAIRS)
        right = (left + 1 + rng.integers(num_rows - 1, size=NUM_SAMPLED_PAIRS)) % num_rows
    else:
        left, right = np.triu_indices(num_rows, 1)
    messages = hamming_distance(position_columns(corpus).T)(left, right)
    meanings = hamming_distance(attributes)(left, right)
    for distances, what in ((messages, "messages"), (meanings, "meanings")):
        if not len(distances) or np.ptp(distances) == 0:
            return [score(value=None, reason=f"all {what} are equally far apart")]
    return [score(value=float(spearmanr(messages, meanings).statistic))]


def resent_resnick(corpus: Corpus, options: Options) -> list[Score]:
    """Residual entropy as in the program of Resnick et al. (2020), for two symbols, in bits; only for comparison.

    It is the mean over positions, each being assigned to the attribute whose values influence it most. The influence of
    attribute i on position j is the mean over its values v of |P(j has the first symbol | v) - that probability's mean
    over the values of all attributes|: Perkins (2021), Table 8, `resent_resnick`. The program adds 1e-8 to every count
    before it takes entropies; we add nothing. Undefined unless every message has the same length, exactly two symbols
    are in use, and some attribute varies.
    """
    line = Signature.of("resent_resnick", OWN_VERSION, normalised="no", smoothing="none", eos="strip")
    about = "residual entropy in bits, by Resnick's greedy search"
    score = partial(Score, name="resent_resnick_bits", about=about, signature=line)
    entropies, content = entropies_or_reason(corpus), corpus.reindexed()[0]
    if isinstance(entropies, str) or np.ptp(content.lengths) or content.values.max() != 1:
        reason = "expected messages of equal length over exactly two symbols"
        return [score(value=None, reason=reason)]
    is_first = (position_columns(corpus) == 1).astype(np.float64)
    shares = [
        np.stack([is_first[:, values == value].mean(axis=1) for value in np.unique(values)])
        for values in entropies.attributes
    ]
    mean = np.concatenate(shares).mean(axis=0)
    influence = [np.abs(share - mean).mean(axis=0) for share in shares]
    partition = tuple(np.argmax(np.round(influence, 9), axis=0).tolist())  # rounding errors break no ties
    return [score(value=float(entropies.residuals(partition).mean()))]


def _bits(metric: Callable[[Corpus, Options], list[Score]]) -> Callable[[Corpus, Options], list[Score]]:
    """The residual entropy of a metric in bits, before normalisation."""

    def score(corpus: Corpus, options: Options) -> list[Score]:
        [full] = metric(corpus, options)
        line = full.signature.replace("normalised:yes", "normalised:no")
        name, bits, about = f"{full.name}_bits", full.details.get("residual_bits"), "residual entropy in bits"
        return [Score(name=name, value=bits, reason=full.reason, about=about, signature=line)]

    return score


def _one_less_hce(corpus: Corpus, options: Options) -> list[Score]:
    [full] = hce(corpus, options)
    value, about = None if full.value is None else 1.0 - full.value, "normalised residual entropy"
    line = f"1-{full.signature}"
    return [Score(name="1-hce", value=value, reason=full.reason, about=about, signature=line)]


MEASURES: dict[str, Measure] = {
    "topsim": Measure(metric=topsim),
    "topsim_hamming": Measure(metric=topsim_hamming),
    "posdis": Measure(metric=posdis),
    "bosdis": Measure(metric=bosdis),
    "hce": Measure(metric=hce),
    "residual_entropy": Measure(metric=plain_residual_entropy, low_is_compositional=True),
    "tre7": Measure(metric=plain_tre7, low_is_compositional=True, unit="error per message"),
    "resent_ours": Measure(metric=plain_residual_entropy, low_is_compositional=True),
    "resent_relax": Measure(metric=_one_less_hce, low_is_compositional=True),
    "resent_ours_bits": Measure(metric=_bits(plain_residual_entropy), low_is_compositional=True, unit="bits"),
    "resent_relax_bits": Measure(metric=_bits(hce), low_is_compositional=True, unit="bits"),
    "resent_resnick_bits": Measure(metric=resent_resnick, low_is_compositional=True, unit="bits"),
}
"""Metrics by name; names with `resent` are from the paper's Table 8; metrics in `bits` are not normalised."""


def measure_language(
    grammar: str, geometry: Geometry, seed: int, metrics: Sequence[str]
) -> dict[str, dict[str, Any]]:
    """Measure a language.

    Args:
        grammar: The grammar, see `ecsuite.grammars.icy.language`.
        geometry: Sizes of the language.
        seed: Seed of the language, and of the metrics' random draws.
        metrics: Names in `MEASURES`.

    Returns:
        value, reason (of an undefined value) and signature (of language and metric), by metric.
    """
    made = language(grammar, geometry, seed)
    corpus = made.corpus()
    scores = {name: MEASURES[name].score(corpus, Options(seed=seed)) for name in metrics}
    return {
        name: {
            "value": None if score.value is None else float(score.value),
            "reason": score.reason,
            "signature": f"{made.signature} {score.signature}",
        }
        for name, score in scores.items()
    }
