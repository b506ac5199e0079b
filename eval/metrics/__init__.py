"""Metrics of a corpus. Each metric is a pure function `(corpus, options) -> list[Score]`.

To add one, write the function in a new module and add a line to the registry below.
"""

from ecsuite.components import Registry
from ecsuite.eval.metrics.own_metrics import as_metric
from ecsuite.eval.metrics.score import Metric
from ecsuite.foreign import is_foreign

METRICS = Registry(
    word="metric",
    parts={
        "elcc": (
            "ecsuite.eval.metrics.elcc:elcc",
            "13 sizes and entropies of the corpus, as reported by the ELCC collection",
        ),
        "cbm": (
            "ecsuite.eval.metrics.cbm:cbm",
            "concept best matching: share of words that match a one-to-one map of words to concepts",
        ),
        "cbm_types": (
            "ecsuite.eval.metrics.cbm:cbm_types",
            "concept best matching; repeated words or concepts of a sample count once",
        ),
        "topsim": (
            "ecsuite.eval.metrics.topsim:topsim",
            "topographic similarity: correlation of meaning distances and message distances",
        ),
        "posdis": (
            "ecsuite.eval.metrics.posdis_bosdis:posdis",
            "positional disentanglement: does each position encode one attribute?",
        ),
        "bosdis": (
            "ecsuite.eval.metrics.posdis_bosdis:bosdis",
            "bag-of-symbols disentanglement: does the count of each symbol encode one attribute?",
        ),
        "ami": (
            "ecsuite.eval.metrics.ami:ami",
            "adjusted mutual information between whole messages and whole meanings",
        ),
        "ncnpmi": (
            "ecsuite.eval.metrics.npmi:ncnpmi",
            "non-compositional NPMI: does each whole message co-occur with one whole meaning?",
        ),
        "context_independence": (
            "ecsuite.eval.metrics.context_independence:context_independence",
            "context independence: does each concept have its own word?",
        ),
        "synonymy": (
            "ecsuite.eval.metrics.synonymy:synonymy",
            "synonymy and polysemy: words per concept, concepts per word, as entropies",
        ),
        "conflict_count": (
            "ecsuite.eval.metrics.conflict_count:conflict_count",
            "number of times that a symbol occurs without its main meaning",
        ),
        "has": (
            "ecsuite.eval.metrics.has:has",
            "Harris's articulation scheme: do messages have word-like segments?",
        ),
        "zla": (
            "ecsuite.eval.metrics.zla:zla",
            "Zipf's law of abbreviation: are frequent units short?",
        ),
        "hce": (
            "ecsuite.eval.metrics.residual_entropy:hce",
            "human compositional entropy: do the positions assigned to an attribute determine it?",
        ),
        "residual_entropy": (
            "ecsuite.eval.metrics.residual_entropy:residual_entropy",
            "entropy of the attributes that remains under the best assignment of positions",
        ),
        "tre7": (
            "ecsuite.eval.metrics.tre:tre7",
            "tree reconstruction error: are messages sums of one part per attribute value?",
        ),
        "xferbench": (
            "ecsuite.eval.xferbench.metric:xferbench",
            "transfer of a language model pretrained on the corpus to other languages",
        ),
    },
)
"""The metrics, fastest first."""


def load_metric(name: str) -> Metric:
    """Import a metric, by its name or as `./mine.py:my_metric`.

    Raises:
        ConfigError: If no metric has that name; the message suggests the nearest one.
        UntrustedError: If it is from a file that nobody named.
    """
    found = METRICS.load(name)
    if is_foreign(name):
        return as_metric(found, name)
    metric: Metric = found
    return metric
