"""The nine tasks of XTREME: their languages and metrics (Hu et al. 2020, table 1)."""

from dataclasses import dataclass
from typing import Literal

from ecsuite.parts.config import read_presets

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


TASKS = read_presets(Task, "ecsuite.eval.xtreme.scoring", "tasks.yaml")
"""By name, in the order of the paper's tables."""

METRIC_TITLES = {"accuracy": "accuracy", "f1": "F1", "exact_match": "EM"}
"""Names of metrics in tables."""
SHORT_TITLES = {"pawsx": "PAWS", "tydiqa": "TyDi", "tatoeba": "Tato."}
"""Short titles of tasks for narrow columns."""
