"""The runs of a claim: settings, seed, figures, how each ended and how long it took."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ecsuite.eval.claims.claim import Success
from ecsuite.eval.claims.criterion import Arm

CORPUS = "corpus"
"""The setting of a run that is a corpus: its name."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Run:
    """A run, also one that failed."""

    settings: Mapping[str, Any]
    """Values by setting: what varies in a sweep; model, grammar and channel of ICY; the row of CBM."""
    seed: int
    """Its seed."""
    values: Mapping[str, float | None]
    """Figures by name; None: undefined."""
    status: str
    """How it ended: done, failed, capped or diverged; see `ecsuite.eval.results.sources.Status`."""
    failure: str | None = None
    """Why it failed."""
    seconds: float | None = None
    """Time of its training and its scores."""

    def is_of(self, arm: Arm) -> bool:
        """Whether it has the settings of an arm."""
        return has_settings(self.settings, arm)

    def is_successful(self, success: Success | None) -> bool:
        """Whether the paper's own rule counts it; without a rule, each run that did not fail counts."""
        if success is None:
            return self.failure is None
        value = self.values.get(success.measure)
        return value is not None and value >= success.at_least

    def to_json(self) -> dict[str, Any]:
        """The run as JSON-ready data."""
        return asdict(self)


def unit_of(runs: Sequence[Run]) -> str:
    """What the runs of an arm differ in: seeds, corpora that are there, or groups of related ones."""
    settings = next((run.settings for run in runs if CORPUS in run.settings), None)
    if settings is None:
        return "seeds"
    return "corpora" if len(settings) == 1 else "groups of related corpora"


def has_settings(settings: Mapping[str, Any], arm: Arm) -> bool:
    """Whether settings have the values of an arm."""
    return all(key in settings and settings[key] == value for key, value in arm.items())
