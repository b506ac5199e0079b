"""Metrics of a corpus. Each metric is a pure function `(corpus, options) -> list[Score]`; some are called with a run.

To add one, write the function in a new module, add a line to the registry below, and its scores to `SCORES`.
"""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from ecsuite.parts.own_code import is_foreign
from ecsuite.parts.own_functions import own_function
from ecsuite.parts.registry import Registry
from ecsuite.runtime.errors import ConfigError

if TYPE_CHECKING:
    from ecsuite.eval.metrics.score import Direction, Metric, Question, Score

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
    "run_metrics.generalisation:generalisation": (
        "how well agents understand each other about what was held out of training (of a run)"
    ),
    "run_metrics.rsa:rsa": "do sender and receiver see objects alike, and as they are (of a run)",
    "run_metrics.transfer:transfer": "attributes that linear models read from the agents' vectors (of a run)",
    "run_metrics.noise_objects:noise_objects": "do agents understand each other about noise, a control (of a run)",
    "run_metrics.cross_play:cross_play": "do senders and receivers that never met understand each other (of a run)",
    "metrics.ease_of_learning:ease_of_learning": (
        "how fast fresh receivers, and fresh senders, learn the language (trains; asked for by name)"
    ),
    "metrics.morphemes:morphemes": (
        "morphemes: how much of what is meant is said by recurring forms (CSAR; asked for by name)"
    ),
    "metrics.attribute_information:attribute_information": (
        "which attributes are messages about: bits that they tell of each (asked for by name)"
    ),
    "metrics.morphemes:csar": "morphemes by CSAR without an end, as its authors' program (asked for by name)",
    "metrics.language_similarity:language_similarity": (
        "how alike the speakers of a society name the same meanings (asked for by name)"
    ),
    "xferbench.metric:xferbench": "transfer of a language model pretrained on the corpus to other languages",
}
"""A line for people by the place of the function, whose name is that of the metric; the fastest first."""

QUESTIONS: "Mapping[Question, str]" = {
    "compositional": "Is it compositional?",
    "concepts": "Are words names of concepts?",
    "consistent": "Does a whole message tell its meaning?",
    "natural": "Is it natural-like (lengths, segments)?",
    "transfer": "Does it help learn human languages?",
    "agents": "What do its agents know?",
    "other": "Further scores",
    "sizes": "Sizes and entropies",
}
"""What scores are grouped by, in the order of tables."""

SCORES: "Mapping[str, tuple[Question, Direction | None]]" = {
    "topsim": ("compositional", "higher"),
    "posdis": ("compositional", "higher"),
    "bosdis": ("compositional", "higher"),
    "hce": ("compositional", "higher"),
    "residual_entropy": ("compositional", "lower"),
    "tre7": ("compositional", "lower"),
    "conflict_count": ("compositional", "lower"),
    "cbm": ("concepts", "higher"),
    "context_independence": ("concepts", "higher"),
    "synonymy": ("concepts", "lower"),
    "polysemy": ("concepts", "lower"),
    "cbm_types": ("concepts", "higher"),
    "ami": ("consistent", "higher"),
    "ami_arithmetic": ("consistent", "higher"),
    "ncnpmi": ("consistent", "higher"),
    "generalisation": ("agents", "higher"),
    "cross_play": ("agents", "higher"),
    "rsa": ("agents", "higher"),
    "rsa_sender": ("agents", "higher"),
    "rsa_receiver": ("agents", "higher"),
    "transfer": ("agents", "higher"),
    "transfer_sender": ("agents", "higher"),
    "noise_objects": ("agents", None),
    "ease_of_learning": ("compositional", "higher"),
    "ease_of_speaking": ("compositional", "higher"),
    "morphemes": ("compositional", "higher"),
    "attribute_information": ("consistent", None),
    "csar": ("other", None),
    "language_similarity": ("consistent", "higher"),
    "language_ami": ("consistent", "higher"),
    "language_topsim": ("consistent", "higher"),
    "zla_messages": ("natural", "lower"),
    "has": ("natural", None),
    "zla_segments": ("natural", "lower"),
    "xferbench": ("transfer", "lower"),
    "Unique Lines": ("sizes", None),
    "1-gram Entropy": ("sizes", None),
    "1-gram Normalized Entropy": ("sizes", None),
    "2-gram Conditional Entropy": ("sizes", None),
    "Tokens per Line": ("sizes", None),
    "Tokens per Line SD": ("sizes", None),
    "Unique Tokens": ("sizes", None),
    "2-gram Entropy": ("sizes", None),
    "Entropy per Line": ("sizes", None),
    "Token Count": ("sizes", None),
    "Line Count": ("sizes", None),
    "EoS Token Present": ("sizes", None),
    "EoS Padding": ("sizes", None),
}
"""By the name of a score, what it answers and which way is better; of one question, the most asked first."""

TRAINED = ("ease_of_learning", "xferbench")
"""Metrics that train models: computed only if they are named."""
OF_RUNS = ("generalisation", "rsa", "transfer", "cross_play", "noise_objects")
"""Metrics that ask the agents of a run, and are called with it: computed only if they are named."""
KEEPS_WORK = ("xferbench",)
"""Metrics that look at requests to stop, and keep what they have done; others end at once."""
ASKED_FOR = (*TRAINED, *OF_RUNS, "morphemes", "csar", "language_similarity", "attribute_information")
"""Metrics that are computed only if they are named: also those that need more messages, or several speakers, and
those whose details are wanted more than their value."""

METRICS = Registry(
    word="metric",
    parts={place.partition(":")[2]: (f"ecsuite.eval.{place}", line) for place, line in LINES.items()},
)


def direction_of(score: "Score") -> "Direction | None":
    """Which way is better; None: neither."""
    return SCORES[score.name][1] if score.name in SCORES else score.direction


def question_of(score: "Score") -> "Question":
    """What a score answers, a key of `QUESTIONS`."""
    return SCORES[score.name][0] if score.name in SCORES else score.question


def metric_names(names: Iterable[str] | None) -> list[str]:
    """The metrics that a user asks for, each once.

    Args:
        names: Names of metrics, or `./mine.py:my_metric`; `all` is every one but `ASKED_FOR`, and `+xferbench` is these
            and one more; None: all.
    """
    untrained = [name for name in METRICS.parts if name not in ASKED_FOR]
    if names is None:
        return untrained
    chosen: list[str] = []
    for name in names:
        chosen += untrained if name == "all" else [*untrained, name[1:]] if name.startswith("+") else [name]
    return list(dict.fromkeys(chosen))


def asks_agents(name: str, metric: "Metric") -> bool:
    """Whether a metric is called with a run instead of a corpus: one of `OF_RUNS`, or a user's own `my_metric(run)`."""
    return name in OF_RUNS or getattr(metric, "asks_agents", False)


def load_metric(name: str) -> "Metric":
    """Import a metric, by its name or as `./mine.py:my_metric`, `./mine.py:MyMetric,base=2`.

    Raises:
        ConfigError: If no metric has that name; the message suggests the nearest one.
        UntrustedError: If it is from a file that nobody named.
    """
    kind, comma, options = name.partition(",")
    if is_foreign(kind):
        from ecsuite.eval.metrics.own_metrics import as_metric

        function, values = own_function(METRICS, name)
        return as_metric(function, name, values)
    metric: Metric = METRICS.load(kind)
    if comma:
        raise ConfigError(f"{kind} has no options: leave out {options}")
    return metric
