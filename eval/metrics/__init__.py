"""Metrics of a corpus. Each metric is a pure function `(corpus, options) -> list[Score]`.

To add one, write the function in a new module and add it to both tables below.
"""

from importlib import import_module

from ecsuite.config import look_up
from ecsuite.eval.metrics.score import Metric

METRICS: dict[str, str] = {
    "elcc": "ecsuite.eval.metrics.elcc:elcc",
    "cbm": "ecsuite.eval.metrics.cbm:cbm",
    "cbm_types": "ecsuite.eval.metrics.cbm:cbm_types",
    "topsim": "ecsuite.eval.metrics.topsim:topsim",
    "posdis": "ecsuite.eval.metrics.posdis_bosdis:posdis",
    "bosdis": "ecsuite.eval.metrics.posdis_bosdis:bosdis",
    "ami": "ecsuite.eval.metrics.ami:ami",
    "ncnpmi": "ecsuite.eval.metrics.npmi:ncnpmi",
    "context_independence": "ecsuite.eval.metrics.context_independence:context_independence",
    "synonymy": "ecsuite.eval.metrics.synonymy:synonymy",
    "conflict_count": "ecsuite.eval.metrics.conflict_count:conflict_count",
    "has": "ecsuite.eval.metrics.has:has",
    "zla": "ecsuite.eval.metrics.zla:zla",
    "hce": "ecsuite.eval.metrics.residual_entropy:hce",
    "residual_entropy": "ecsuite.eval.metrics.residual_entropy:residual_entropy",
    "tre7": "ecsuite.eval.metrics.tre:tre7",
    "xferbench": "ecsuite.eval.xferbench.transfer:xferbench",
}
"""Location of each metric, `module:function`, fastest first; imported on first use."""

DESCRIPTIONS: dict[str, str] = {
    "elcc": "13 sizes and entropies of the corpus, as reported by the ELCC collection",
    "cbm": "concept best matching: share of words that match a one-to-one map of words to concepts",
    "cbm_types": "concept best matching; repeated words or concepts of a sample count once",
    "topsim": "topographic similarity: correlation of meaning distances and message distances",
    "posdis": "positional disentanglement: does each position encode one attribute?",
    "bosdis": "bag-of-symbols disentanglement: does the count of each symbol encode one attribute?",
    "ami": "adjusted mutual information between whole messages and whole meanings",
    "ncnpmi": "non-compositional NPMI: does each whole message co-occur with one whole meaning?",
    "context_independence": "context independence: does each concept have its own word?",
    "synonymy": "synonymy and polysemy: words per concept, concepts per word, as entropies",
    "conflict_count": "number of times that a symbol occurs without its main meaning",
    "has": "Harris's articulation scheme: do messages have word-like segments?",
    "zla": "Zipf's law of abbreviation: are frequent units short?",
    "hce": "human compositional entropy: do the positions assigned to an attribute determine it?",
    "residual_entropy": "entropy of the attributes that remains under the best assignment of positions",
    "tre7": "tree reconstruction error: are messages sums of one part per attribute value?",
    "xferbench": "transfer of a language model pretrained on the corpus to other languages",
}
"""One-line description of each metric."""


def load_metric(name: str) -> Metric:
    """Import a metric.

    Raises:
        ValueError: If no metric has that name; the message suggests the nearest one.
    """
    module, function = look_up("metric", name, METRICS).split(":")
    metric: Metric = getattr(import_module(module), function)
    return metric
