"""The registry of metrics: a `Metric` is called with a corpus, or with a run if it needs the agents.

    metric = find_metric("topsim,message_distance=jaccard")
    scores = metric(corpus, seed=1)

To add one, write a function with its traits (`traits.metric`) in the file of its subject, and add a line to `METRICS`
and its scores to `METRIC_OF`. A metric's file is imported when the metric is first used.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ecsuite.games.tasks.directions import DIRECTIONS, ENDS, measure_bound
from ecsuite.parts.own_code import is_foreign
from ecsuite.parts.own_functions import options_in, own_function
from ecsuite.parts.registry import Registry
from ecsuite.runtime.errors import ConfigError

if TYPE_CHECKING:
    from ecsuite.eval.metrics.score import Score
    from ecsuite.eval.metrics.traits import Metric, Traits
    from ecsuite.eval.statistics.estimates import Bound, Interval

METRICS = Registry(
    word="metric",
    parts={
        "elcc": (
            "ecsuite.eval.metrics.word_statistics:elcc",
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
            "ecsuite.eval.metrics.disentanglement:posdis",
            "positional disentanglement: does each position encode one attribute?",
        ),
        "bosdis": (
            "ecsuite.eval.metrics.disentanglement:bosdis",
            "bag-of-symbols disentanglement: does the count of each symbol encode one attribute?",
        ),
        "mig": (
            "ecsuite.eval.metrics.disentanglement:mig",
            "mutual information gap: is each attribute encoded by one position? (asked for by name)",
        ),
        "dci": (
            "ecsuite.eval.metrics.disentanglement:dci",
            "disentanglement, completeness and informativeness of positions (asked for by name)",
        ),
        "variation": (
            "ecsuite.eval.metrics.variation:variation",
            "synonymy, homonymy, freedom and entanglement of positions (Conklin & Smith; asked for by name)",
        ),
        "ami": (
            "ecsuite.eval.metrics.associations:ami",
            "adjusted mutual information between whole messages and whole meanings",
        ),
        "ncnpmi": (
            "ecsuite.eval.metrics.associations:ncnpmi",
            "non-compositional NPMI: does each whole message co-occur with one whole meaning?",
        ),
        "npmi": (
            "ecsuite.eval.metrics.associations:npmi",
            "normalised pointwise mutual information of words and concepts (asked for by name)",
        ),
        "context_independence": (
            "ecsuite.eval.metrics.associations:context_independence",
            "context independence: does each concept have its own word?",
        ),
        "word_entropy": (
            "ecsuite.eval.metrics.associations:word_entropy",
            "words per concept and concepts per word, as entropies",
        ),
        "conflict_count": (
            "ecsuite.eval.metrics.disentanglement:conflict_count",
            "number of times that a symbol occurs without its main meaning",
        ),
        "has": (
            "ecsuite.eval.metrics.word_statistics:has",
            "Harris's articulation scheme: do messages have word-like segments?",
        ),
        "zla": (
            "ecsuite.eval.metrics.word_statistics:zla",
            "Zipf's law of abbreviation: are frequent units short?",
        ),
        "hce": (
            "ecsuite.eval.metrics.entropies:hce",
            "human compositional entropy: do the positions assigned to an attribute determine it?",
        ),
        "residual_entropy": (
            "ecsuite.eval.metrics.entropies:residual_entropy",
            "entropy of the attributes that remains under the best assignment of positions",
        ),
        "tre7": (
            "ecsuite.eval.metrics.tre:tre7",
            "tree reconstruction error: are messages sums of one part per attribute value?",
        ),
        "generalisation": (
            "ecsuite.eval.run_metrics.accuracies:generalisation",
            "how well agents understand each other about held-out meanings (of a run)",
        ),
        "rsa": (
            "ecsuite.eval.run_metrics.representations:rsa",
            "do representations of sender, receiver and objects correlate (of a run)",
        ),
        "transfer": (
            "ecsuite.eval.run_metrics.representations:transfer",
            "attributes that linear models read from the agents' vectors (of a run)",
        ),
        "noise_objects": (
            "ecsuite.eval.run_metrics.accuracies:noise_objects",
            "do agents understand each other about noise, a control (of a run)",
        ),
        "cross_play": (
            "ecsuite.eval.run_metrics.accuracies:cross_play",
            "do senders and receivers that never met understand each other (of a run)",
        ),
        "phrasebook": (
            "ecsuite.eval.run_metrics.phrasebooks:phrasebook",
            "agents that use the morphemes of a language, with trained partners (of a run)",
        ),
        "message_entropy": (
            "ecsuite.eval.run_metrics.sender_entropies:message_entropy",
            "entropies, redundancy and effective length of messages, by the sender's probabilities (of a run)",
        ),
        "information_loss": (
            "ecsuite.eval.run_metrics.information_loss:information_loss",
            "loss of a pair, split into the sender's ambiguity and the receiver's errors (of a run)",
        ),
        "covertness": (
            "ecsuite.eval.run_metrics.covertness:covertness",
            "how much better partners understand messages than outsiders who overheard some (of a run; trains)",
        ),
        "ease_of_learning": (
            "ecsuite.eval.metrics.ease_of_learning:ease_of_learning",
            "how fast fresh receivers, and fresh senders, learn the language (trains; asked for by name)",
        ),
        "morphemes": (
            "ecsuite.eval.metrics.morphemes:morphemes",
            "morphemes: share of meanings that recurring forms express (CSAR; asked for by name)",
        ),
        "attribute_information": (
            "ecsuite.eval.metrics.entropies:attribute_information",
            "bits of information that messages carry about each attribute (asked for by name)",
        ),
        "efficiency": (
            "ecsuite.eval.metrics.efficiency:efficiency",
            "efficiency: complexity and accuracy vs. the information-bottleneck bound (asked for by name)",
        ),
        "word_order_marking": (
            "ecsuite.eval.metrics.word_order_marking:word_order_marking",
            "word order and case marking: how agents and patients are distinguished (asked for by name)",
        ),
        "csar": (
            "ecsuite.eval.metrics.morphemes:csar",
            "morphemes by CSAR without a stopping rule, as its authors' program (asked for by name)",
        ),
        "language_similarity": (
            "ecsuite.eval.metrics.language_similarity:language_similarity",
            "how alike the speakers of a society name the same meanings (asked for by name)",
        ),
        "contact": (
            "ecsuite.eval.metrics.language_similarity:contact",
            "how similar communities in contact speak, and whose words survive (asked for by name)",
        ),
        "pseudo_dyads": (
            "ecsuite.eval.metrics.language_similarity:pseudo_dyads",
            "are speakers that met more alike than pairs that never met (asked for by name)",
        ),
        "drift": (
            "ecsuite.eval.metrics.language_similarity:drift",
            "how much a speaker's messages change over evaluations and turnover (of languages.jsonl)",
        ),
        "agreement": (
            "ecsuite.eval.metrics.language_similarity:agreement",
            "success of rounds at their end and at their beginning (of rounds.jsonl)",
        ),
        "xferbench": (
            "ecsuite.eval.xferbench.metric:xferbench",
            "transfer of a language model pretrained on the corpus to other languages",
        ),
    },
)
"""Import path and description of each metric."""
DEFAULT_METRICS = (
    "elcc",
    "cbm",
    "cbm_types",
    "topsim",
    "posdis",
    "bosdis",
    "ami",
    "ncnpmi",
    "context_independence",
    "word_entropy",
    "conflict_count",
    "has",
    "zla",
    "hce",
    "residual_entropy",
    "tre7",
)
"""Default metrics, the fastest first: all that are not excluded by `Traits.is_asked_for`."""

METRIC_OF = {
    "topsim": "topsim",
    "posdis": "posdis",
    "bosdis": "bosdis",
    "mig": "mig",
    **dict.fromkeys(("dci_disentanglement", "dci_completeness", "dci_informativeness"), "dci"),
    **dict.fromkeys(
        ("variation_synonymy", "variation_homonymy", "variation_freedom", "variation_entanglement"),
        "variation",
    ),
    "hce": "hce",
    "residual_entropy": "residual_entropy",
    "tre7": "tre7",
    "conflict_count": "conflict_count",
    "morphemes": "morphemes",
    "cbm": "cbm",
    "context_independence": "context_independence",
    "npmi": "npmi",
    "word_entropy": "word_entropy",
    "concept_entropy": "word_entropy",
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
    **dict.fromkeys(("phrasebook_listener", "phrasebook_speaker", "phrasebook_npmi"), "phrasebook"),
    "message_entropy": "message_entropy",
    "conditional_entropy": "message_entropy",
    "redundancy": "message_entropy",
    "effective_length": "message_entropy",
    "information_loss": "information_loss",
    "coadaptation_loss": "information_loss",
    "covertness": "covertness",
    "matched_covertness": "covertness",
    "language_similarity": "language_similarity",
    "language_ami": "language_similarity",
    "language_topsim": "language_similarity",
    "pseudo_dyads": "pseudo_dyads",
    **dict.fromkeys(("drift", "drift_at_replacement", "drift_from_first"), "drift"),
    "agreement": "agreement",
    "early_agreement": "agreement",
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
"""Metric of each score, by name of the score; within a question in order of importance, as in tables."""
_ORDER = {name: position for position, name in enumerate(METRIC_OF)}


def find_metric(name: str) -> "Metric":
    """Import a metric: `topsim`, `topsim,correlation=pearson`, `./mine.py:my_metric`, `./mine.py:MyMetric,base=2`.

    Raises:
        ConfigError: If there is no such metric or option; the message suggests the nearest name.
        UntrustedError: If it, or one of its options, is from a file that is not trusted.
    """
    kind, comma, _ = name.partition(",")
    if kind in DIRECTIONS and kind not in METRICS.parts:
        raise ConfigError(
            f"{kind}: a measure of every evaluation, not a metric: leave it out, tables have it already"
        )
    if is_foreign(kind):
        from ecsuite.eval.metrics.traits import OwnMetric

        function, values = own_function(METRICS, name)
        return OwnMetric(function, name, values)
    metric: Metric = METRICS.load(kind)
    return metric.with_options(options_in(METRICS, name, metric.shared.options), name) if comma else metric


def traits_of(score: "str | Score") -> "Traits":
    """Traits of a score, or of the score with this name (options after commas are ignored).

    Imports only the file of its metric. Names of unknown scores have the default traits.
    """
    from ecsuite.eval.metrics.traits import Traits

    if not isinstance(score, str):
        own: Traits = traits_of(score.name) if score.traits is None else score.traits
        return own
    name = score.partition(",")[0]
    if name not in METRIC_OF:
        return Traits(name=score)
    metric: Metric = METRICS.load(METRIC_OF[name])
    return next(each for each in metric.traits if each.name == name)


def bound_of(score: "Score") -> "Bound | None":
    """Whether the value of a score or measure is a lower or upper bound of the true value, as an accuracy of 1 is."""
    if score.bound is not None or score.value is None:
        return score.bound
    if score.is_measure and (bound := measure_bound(score.name, {score.name: score.value})):
        return bound
    traits = traits_of(score)
    ends = traits.bounds if traits.is_censored_at_bounds else None
    if ends is None or ends[0] < score.value < ends[1]:
        return None
    return "upper" if score.value <= ends[0] else "lower"


def range_of(name: str) -> "Interval | None":
    """Least and greatest possible value of a score or measure by name; None if unlimited, or if the corpus decides."""
    return ENDS.get(name.rpartition(" ")[2]) or traits_of(name).bounds


def table_order(score: str) -> int:
    """Position of a score in tables, by name (options after commas are ignored); users' own scores come first."""
    return _ORDER.get(score.partition(",")[0], -1)


def metric_names(names: Iterable[str] | None) -> list[str]:
    """The metrics that a user asks for, without duplicates.

    Args:
        names: Names of metrics, or `./mine.py:my_metric`; `all` stands for `DEFAULT_METRICS`, `+xferbench` for these
            and `xferbench`; None: all.
    """
    chosen: list[str] = []
    for name in ["all"] if names is None else names:
        chosen += DEFAULT_METRICS if name == "all" or name.startswith("+") else ()
        chosen += [] if name == "all" else [name.removeprefix("+")]
    return list(dict.fromkeys(chosen))


def require_files(name: str) -> None:
    """Check, before anything is computed, that the tables named in options of a metric can be read.

    Raises:
        ConfigError: If a table can't be read.
    """
    kind, comma, _ = name.partition(",")
    if comma and not is_foreign(kind):
        from ecsuite.spaces.kinds import SpaceOptions

        options = options_in(METRICS, name, METRICS.load(kind).shared.options)
        if isinstance(options, SpaceOptions):
            options.require_files()
