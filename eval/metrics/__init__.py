"""Everything that judges a corpus. Each metric is a pure function `(corpus, options) -> list[Score]`.

To add one, write the function in a file of its own and name it in both tables below.
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
"""Where each metric lives, `module:function`, cheapest first; imported when it is asked for."""

DESCRIPTIONS: dict[str, str] = {
    "elcc": "13 sizes and entropies of the symbols, as the ELCC collection reports them",
    "cbm": "concept best matching: one word for one concept, and how far the language is from that",
    "cbm_types": "concept best matching with the words of a message and its concepts as sets",
    "topsim": "topographic similarity: do close meanings get close messages?",
    "posdis": "positional disentanglement: does each position speak of one attribute?",
    "bosdis": "bag-of-symbols disentanglement: does each symbol's count speak of one attribute?",
    "ami": "adjusted mutual information between whole messages and whole meanings",
    "ncnpmi": "does each whole message go with one whole meaning?",
    "context_independence": "does each concept have a word of its own?",
    "synonymy": "synonymy and polysemy: words for a concept, concepts for a word",
    "conflict_count": "how often does a symbol not mean what it mostly means?",
    "has": "Harris's articulation scheme: do messages fall into word-like segments?",
    "zla": "Zipf's law of abbreviation: is what is frequent short?",
    "hce": "human compositional entropy: do the positions of each attribute tell it?",
    "residual_entropy": "what the best assignment of positions to attributes leaves open",
    "tre7": "tree reconstruction error: are messages sums of their attributes' parts?",
    "xferbench": "what a language model learns from the corpus that helps it with other languages",
}
"""What each metric asks, in a line."""


def load_metric(name: str) -> Metric:
    """Import a metric.

    Raises:
        ValueError: If no metric has that name; the message suggests the nearest one.
    """
    module, function = look_up("metric", name, METRICS).split(":")
    metric: Metric = getattr(import_module(module), function)
    return metric
