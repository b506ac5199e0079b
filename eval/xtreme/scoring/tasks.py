"""The nine tasks of XTREME: their languages and metrics (Hu et al. 2020, table 1)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Kind = Literal["pairs", "tagging", "questions", "retrieval"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Task:
    """A task of the benchmark."""

    name: str
    """Name of its folder in the benchmark."""
    title: str
    """Name in tables."""
    group: str
    """Group of tasks over which scores are averaged."""
    kind: Kind
    """Kind of prediction: a label per pair, a tag per word, a span of a context, or a translation."""
    languages: tuple[str, ...]
    """Codes of the test languages; for retrieval those paired with English."""
    metrics: tuple[str, ...]
    """Metrics that the benchmark's program reports."""
    main: tuple[str, ...]
    """The metrics whose mean is the task's score."""


def _task(name: str, title: str, group: str, kind: Kind, languages: str, metrics: str, main: str) -> Task:
    return Task(
        name=name,
        title=title,
        group=group,
        kind=kind,
        languages=tuple(languages.split()),
        metrics=tuple(metrics.split()),
        main=tuple(main.split()),
    )


_POS = "af ar bg de el en es et eu fa fi fr he hi hu id it ja kk ko mr nl pt ru ta te th tl tr ur vi yo zh"
_NER = (
    "ar he vi id jv ms tl eu ml ta te af nl en de el bn hi mr ur fa fr it pt es bg ru ja ka ko th sw yo my zh kk tr et "
    "fi hu"
)
_TATOEBA = "ar he vi id jv tl eu ml ta te af nl de el bn hi mr ur fa fr it pt es bg ru ja ka ko th sw zh kk tr et fi hu"

TASKS: Mapping[str, Task] = {
    task.name: task
    for task in (
        _task(
            "xnli", "XNLI", "classification", "pairs",
            "ar bg de el en es fr hi ru sw th tr ur vi zh", "accuracy", "accuracy",
        ),
        _task("pawsx", "PAWS-X", "classification", "pairs", "de en es fr ja ko zh", "accuracy", "accuracy"),
        _task("udpos", "POS", "tagging", "tagging", _POS, "f1 precision recall", "f1"),
        _task("panx", "NER", "tagging", "tagging", _NER, "f1 precision recall", "f1"),
        _task(
            "xquad", "XQuAD", "qa", "questions", "en es de el ru tr ar vi th zh hi", "exact_match f1",
            "exact_match f1",
        ),
        _task("mlqa", "MLQA", "qa", "questions", "en es de ar hi vi zh", "exact_match f1", "exact_match f1"),
        _task(
            "tydiqa", "TyDiQA-GoldP", "qa", "questions", "en ar bn fi id ko ru sw te", "exact_match f1",
            "exact_match f1",
        ),
        _task("bucc2018", "BUCC", "retrieval", "retrieval", "de fr ru zh", "f1 precision recall", "f1"),
        _task("tatoeba", "Tatoeba", "retrieval", "retrieval", _TATOEBA, "accuracy", "accuracy"),
    )
}  # fmt: skip
"""By name, in the order of the paper's tables."""

METRIC_TITLES = {"accuracy": "accuracy", "f1": "F1", "exact_match": "EM"}
"""Names of metrics in tables."""
SHORT_TITLES = {"pawsx": "PAWS", "tydiqa": "TyDi", "tatoeba": "Tato."}
"""Short titles of tasks for narrow columns."""
