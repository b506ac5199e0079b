"""Metrics of a corpus. Each metric is a pure function `(corpus, options) -> list[Score]`; some are called with a run.

To add one, write the function with its traits (`traits.metric`) in a new module, and add a line to `_USUAL` or
`_ASKED_FOR` and its scores to `METRIC_OF`.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ecsuite.eval.metrics.traits import Traits, traits_in
from ecsuite.parts.own_code import is_foreign
from ecsuite.parts.own_functions import options_in, own_function
from ecsuite.parts.registry import Registry

if TYPE_CHECKING:
    from ecsuite.eval.metrics.score import Metric, Score

_USUAL = {
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
}
"""Of those that are computed without being named, a line for people by the place of the function, whose name is that of
the metric; the fastest first."""
_ASKED_FOR = {
    "run_metrics.generalisation:generalisation": (
        "how well agents understand each other about what was held out of training (of a run)"
    ),
    "run_metrics.rsa:rsa": "do sender and receiver see objects alike, and as they are (of a run)",
    "run_metrics.transfer:transfer": "attributes that linear models read from the agents' vectors (of a run)",
    "run_metrics.noise_objects:noise_objects": "do agents understand each other about noise, a control (of a run)",
    "run_metrics.cross_play:cross_play": "do senders and receivers that never met understand each other (of a run)",
    "run_metrics.sender_entropies:message_entropy": (
        "entropies, redundancy and useful length of messages, by the sender's probabilities (of a run)"
    ),
    "metrics.ease_of_learning:ease_of_learning": (
        "how fast fresh receivers, and fresh senders, learn the language (trains; asked for by name)"
    ),
    "metrics.morphemes:morphemes": (
        "morphemes: how much of what is meant is said by recurring forms (CSAR; asked for by name)"
    ),
    "metrics.attribute_information:attribute_information": (
        "which attributes are messages about: bits that they tell of each (asked for by name)"
    ),
    "metrics.efficiency:efficiency": (
        "efficiency: complexity and accuracy beside the information-bottleneck bound (asked for by name)"
    ),
    "metrics.word_order_marking:word_order_marking": (
        "word order and case marking: how agents and patients are told apart (asked for by name)"
    ),
    "metrics.morphemes:csar": "morphemes by CSAR without an end, as its authors' program (asked for by name)",
    "metrics.language_similarity:language_similarity": (
        "how alike the speakers of a society name the same meanings (asked for by name)"
    ),
    "metrics.contact:contact": (
        "how alike communities speak that meet, and whose words survive (asked for by name)"
    ),
    "xferbench.metric:xferbench": "transfer of a language model pretrained on the corpus to other languages",
}
"""The same of those that are computed only if they are named, which `Traits.is_asked_for` says, too: so none of their
modules is imported for the others."""

METRICS = Registry(
    word="metric",
    parts={
        place.partition(":")[2]: (f"ecsuite.eval.{place}", line)
        for place, line in (_USUAL | _ASKED_FOR).items()
    },
)

METRIC_OF = {
    "topsim": "topsim",
    "posdis": "posdis",
    "bosdis": "bosdis",
    "hce": "hce",
    "residual_entropy": "residual_entropy",
    "tre7": "tre7",
    "conflict_count": "conflict_count",
    "morphemes": "morphemes",
    "cbm": "cbm",
    "context_independence": "context_independence",
    "synonymy": "synonymy",
    "polysemy": "synonymy",
    "cbm_types": "cbm_types",
    "ami": "ami",
    "ami_arithmetic": "ami",
    "ncnpmi": "ncnpmi",
    "attribute_information": "attribute_information",
    "efficiency_loss": "efficiency",
    "complexity": "efficiency",
    "semantic_accuracy": "efficiency",
    "optimal_distance": "efficiency",
    **dict.fromkeys(
        ("agent_first", "order_entropy", "case_marking", "marking_entropy", "role_uncertainty"),
        "word_order_marking",
    ),
    "ease_of_learning": "ease_of_learning",
    "ease_of_speaking": "ease_of_learning",
    "generalisation": "generalisation",
    "cross_play": "cross_play",
    "rsa": "rsa",
    "rsa_sender": "rsa",
    "rsa_receiver": "rsa",
    "transfer": "transfer",
    "transfer_sender": "transfer",
    "noise_objects": "noise_objects",
    "message_entropy": "message_entropy",
    "conditional_entropy": "message_entropy",
    "redundancy": "message_entropy",
    "useful_length": "message_entropy",
    "language_similarity": "language_similarity",
    "language_ami": "language_similarity",
    "language_topsim": "language_similarity",
    "similarity_within": "contact",
    "similarity_between": "contact",
    "survival": "contact",
    "distinct_messages": "contact",
    "csar": "csar",
    "zla_messages": "zla",
    "has": "has",
    "zla_segments": "zla",
    "xferbench": "xferbench",
    **dict.fromkeys(
        (
            "Unique Lines",
            "1-gram Entropy",
            "1-gram Normalized Entropy",
            "2-gram Conditional Entropy",
            "Tokens per Line",
            "Tokens per Line SD",
            "Unique Tokens",
            "2-gram Entropy",
            "Entropy per Line",
            "Token Count",
            "Line Count",
            "EoS Token Present",
            "EoS Padding",
        ),
        "elcc",
    ),
}
"""The metric that gives a score, by the name of the score, so that one module is imported for its traits; of one
question, the most asked first."""


def traits_of(score: "str | Score") -> Traits:
    """The traits of a score, or of the score of a name, with options after commas or none.

    Nothing but the module of its metric is imported. A name that is none of ours has the defaults.
    """
    if not isinstance(score, str):
        return score.traits or traits_of(score.name)
    name = score.partition(",")[0]
    if name not in METRIC_OF:
        return Traits(name=score)
    return next(each for each in traits_in(METRICS.load(METRIC_OF[name])) if each.name == name)


def place_of(score: str) -> int:
    """The place in tables of the score of a name, with options after commas or none; users' own come first."""
    return _PLACES.get(score.partition(",")[0], -1)


_PLACES = {name: place for place, name in enumerate(METRIC_OF)}


def traits_of_metric(name: str) -> Traits:
    """The traits that all scores of a metric share, by its name as of `load_metric`; see there."""
    return next(iter(traits_in(load_metric(name))), Traits(name=name))


def metric_names(names: Iterable[str] | None) -> list[str]:
    """The metrics that a user asks for, each once.

    Args:
        names: Names of metrics, or `./mine.py:my_metric`; `all` is every one that is not only computed if it is named,
            and `+xferbench` is these and one more; None: all.
    """
    chosen: list[str] = []
    for name in ["all"] if names is None else names:
        is_all, is_more = name == "all", name.startswith("+")
        chosen += usual_metrics() if is_all or is_more else []
        chosen += [] if is_all else [name.removeprefix("+")]
    return list(dict.fromkeys(chosen))


def usual_metrics() -> list[str]:
    """The metrics that are computed without being named, the fastest first."""
    return [place.partition(":")[2] for place in _USUAL]


def require_files(name: str) -> None:
    """Check that the tables that options of a metric name can be read, before anything is computed.

    Raises:
        ConfigError: If one can't.
    """
    kind, comma, _ = name.partition(",")
    if comma and not is_foreign(kind):
        from ecsuite.spaces.kinds import SpaceOptions

        options = options_in(METRICS, name, traits_in(METRICS.load(kind))[0].options)
        if isinstance(options, SpaceOptions):
            options.require_files()


def load_metric(name: str) -> "Metric":
    """Import a metric: `topsim`, `topsim,correlation=pearson`, `./mine.py:my_metric`, `./mine.py:MyMetric,base=2`.

    Raises:
        ConfigError: If no metric has that name, or it has no such option; the message suggests the nearest one.
        UntrustedError: If it, or one of its options, is from a file that nobody named.
    """
    kind, comma, _ = name.partition(",")
    if is_foreign(kind):
        from ecsuite.eval.metrics.own_metrics import as_metric

        function, values = own_function(METRICS, name)
        return as_metric(function, name, values)
    metric: Metric = METRICS.load(kind)
    if not comma:
        return metric
    from ecsuite.eval.metrics.metric_options import with_options

    return with_options(metric, name, options_in(METRICS, name, traits_in(metric)[0].options))
