"""Metrics of a corpus. Each metric is a pure function `(corpus, options) -> list[Score]`.

To add one, write the function in a new module and add a line to the registry below.
"""

from ecsuite.components import Registry, own_function
from ecsuite.config import ConfigError
from ecsuite.eval.metrics.own_metrics import as_metric
from ecsuite.eval.metrics.score import Metric
from ecsuite.foreign import is_foreign

LINES = {
    "metrics.elcc:elcc": "13 sizes and entropies of the corpus, as reported by the ELCC collection",
    "metrics.cbm:cbm": (
        "concept best matching: share of words that match a one-to-one map of words to concepts"
    ),
    "metrics.cbm:cbm_types": "concept best matching; repeated words or concepts of a sample count once",
    "metrics.topsim:topsim": "topographic similarity: correlation of meaning distances and message distances",
    "metrics.posdis_bosdis:posdis": "positional disentanglement: does each position encode one attribute?",
    "metrics.posdis_bosdis:bosdis": (
        "bag-of-symbols disentanglement: does the count of each symbol encode one attribute?"
    ),
    "metrics.ami:ami": "adjusted mutual information between whole messages and whole meanings",
    "metrics.npmi:ncnpmi": "non-compositional NPMI: does each whole message co-occur with one whole meaning?",
    "metrics.context_independence:context_independence": (
        "context independence: does each concept have its own word?"
    ),
    "metrics.synonymy:synonymy": "synonymy and polysemy: words per concept, concepts per word, as entropies",
    "metrics.conflict_count:conflict_count": "number of times that a symbol occurs without its main meaning",
    "metrics.has:has": "Harris's articulation scheme: do messages have word-like segments?",
    "metrics.zla:zla": "Zipf's law of abbreviation: are frequent units short?",
    "metrics.residual_entropy:hce": (
        "human compositional entropy: do the positions assigned to an attribute determine it?"
    ),
    "metrics.residual_entropy:residual_entropy": (
        "entropy of the attributes that remains under the best assignment of positions"
    ),
    "metrics.tre:tre7": "tree reconstruction error: are messages sums of one part per attribute value?",
    "xferbench.metric:xferbench": "transfer of a language model pretrained on the corpus to other languages",
}
"""A line for people by the place of the function, whose name is that of the metric; the fastest first."""

METRICS = Registry(
    word="metric",
    parts={place.partition(":")[2]: (f"ecsuite.eval.{place}", line) for place, line in LINES.items()},
)


def load_metric(name: str) -> Metric:
    """Import a metric, by its name or as `./mine.py:my_metric`, `./mine.py:MyMetric,base=2`.

    Raises:
        ConfigError: If no metric has that name; the message suggests the nearest one.
        UntrustedError: If it is from a file that nobody named.
    """
    kind, comma, options = name.partition(",")
    if is_foreign(kind):
        function, values = own_function(METRICS, name)
        return as_metric(function, name, values)
    metric: Metric = METRICS.load(kind)
    if comma:
        raise ConfigError(f"{kind} has no options: leave out {options}")
    return metric
