"""The result of a run: stop reason, measures and chance levels; and their keys in files."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from ecsuite.games.tasks.directions import held_out_of, measure_title, time_bound
from ecsuite.jobs.signals import StopRequest
from ecsuite.parts.config import dotted_values
from ecsuite.tables.cells import MARKS

if TYPE_CHECKING:
    from ecsuite.games.config.sections import Experiment

EXTRA, EXTRA_CHANCE = "extra_evaluations", "extra_chance"
"""Keys of the extra evaluations and of their chance levels in the metadata and in `--json`."""
METRICS = "metrics"
"""Key of the language metrics in the metadata and in the log."""
SINCE_BEST = "evaluations_since_best"
"""Key of the number of evaluations since the best one in the metadata."""
NO_MEASURES = ("stopped", "step", "num_steps", "epoch", "best_step", SINCE_BEST, EXTRA, EXTRA_CHANCE, METRICS)
"""Keys of the training section of the metadata that are not evaluation measures."""
StopReason = Literal["epochs", "accuracy", "patience", "minutes", "limit", "diverged"] | StopRequest
"""Reason for the end of a run: all epochs done, accuracy reached, no longer improving, time limit, another limit,
figures that are not finite, or a request to stop."""
REMEDY = "try a smaller optimizer.lr, or training.precision=fp32"
"""Advice in messages about divergence."""
UNITS = {"loss": "nats", "length": "mean message length incl. EOS"}
"""Units of figures, by name."""
COUNTS = ("consensus_round", "num_names")
"""Measures with a chance level that are not shares."""
WITHOUT_EOS = {**UNITS, "length": "mean message length"}
"""Units of figures in plays of rounds, which have neither loss nor EOS."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RunResult:
    """Outcome of a run."""

    stopped: StopReason
    step: int
    """Steps done; if the run diverged, the step that failed."""
    num_steps: int
    """Steps of all epochs."""
    measures: dict[str, float]
    """Last evaluation, or the best one with `keep_best`: loss (nats), accuracy, length (symbols incl. EOS), and the
    task's own metrics; empty if the run diverged before the first one."""
    chance: dict[str, float]
    """Chance level of each metric."""
    extra_evaluations: dict[str, dict[str, float]]
    """Further evaluations of the final agents by name, such as `unseen concept`."""
    extra_chance: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """Chance levels of the extra evaluations, by evaluation and measure."""
    was_done: bool = False
    """Whether the folder already held this finished run."""
    metrics: Mapping[str, float | None] = field(default_factory=dict)
    """Language metrics (`evaluation.metrics`) of the same agents as the measures; None: undefined."""
    best_step: int | None = None
    """Step of the agents that measures and corpus describe, with `training.keep_best`; else None."""

    def to_json(self) -> dict[str, Any]:
        """Outcome, JSON-ready, without unused optional fields."""
        tree = asdict(self)
        tree[EXTRA] = tree.pop("extra_evaluations")
        unused = [name for name in ("metrics", "best_step", "extra_chance") if tree[name] in ({}, None)]
        return {name: value for name, value in tree.items() if name not in unused}

    def summary(self) -> str:
        """Outcome in a few lines of text."""
        how = {
            "epochs": "all epochs done",
            "accuracy": "accuracy reached",
            "patience": "no longer improving",
            "minutes": "time limit reached",
            "limit": "limit reached; --resume continues with another limit",
            "interrupt": "interrupted",
            "preempted": "stopped by a signal",
            "diverged": f"diverged; {REMEDY}",
        }[self.stopped]
        already = "already finished: " if self.was_done else ""
        lines = [f"{already}{how}, step {self.step:,} of {self.num_steps:,}"]
        if self.best_step is not None:
            lines.append(f"measures and corpus of the best state, after step {self.best_step:,}")
        about, figures = held_out_of(self.extra_evaluations), {}
        for name, value in self.measures.items():
            if name in self.chance and name not in COUNTS:
                figures[measure_title(name, about)] = share_text(value, self.chance[name])
            else:
                units = UNITS if "loss" in self.measures else WITHOUT_EOS
                mark, of_chance = (MARKS[time_bound(name, each)] for each in (self.measures, self.chance))
                note = f"chance level {of_chance}{self.chance[name]:.4g}" if name in self.chance else ""
                figures[measure_title(name, "")] = (
                    f"{f'{mark}{value:.3f}':>8}  {note or units.get(name, '')}".rstrip()
                )
        for name, extra in self.extra_evaluations.items():
            level = self.extra_chance.get(name, {}).get("accuracy")
            figures[measure_title("accuracy", name)] = share_text(extra["accuracy"], level)
        for name, score in self.metrics.items():
            figures[name] = "not defined" if score is None else f"{score:8.3f}"
        width = max(20, *(len(name) + 1 for name in figures)) if figures else 0
        return "\n".join([*lines, *(f"  {name:{width}}{figure}" for name, figure in figures.items())])


def share_text(value: float, chance: float | None) -> str:
    """Percentage, with its chance level if known."""
    return f"{value:8.1%}" if chance is None else f"{value:8.1%}  chance level {chance:.1%}"


def measures_of(training: Mapping[str, Any]) -> dict[str, Any]:
    """Evaluation measures in the training section of the metadata, by name."""
    return {name: value for name, value in training.items() if name not in NO_MEASURES}


def is_accuracy_reached(experiment: "Experiment", valid: Mapping[str, Any]) -> bool:
    """Whether an evaluation (empty: none) reaches `training.until_accuracy`."""
    until_accuracy = experiment.training.until_accuracy
    return until_accuracy is not None and valid.get("accuracy", -1) >= until_accuracy


def is_patience_over(experiment: "Experiment", training: Mapping[str, Any]) -> bool:
    """Whether a finished run has at least `training.patience` evaluations since its best one."""
    patience = experiment.training.patience
    return patience is not None and training.get(SINCE_BEST, 0) >= patience


def flat_figures(entry: Mapping[str, Any]) -> dict[str, float]:
    """Figures of a log entry without the step; figures of sections are named `section.name`."""
    values = dotted_values(entry).items()
    return {name: value for name, value in values if isinstance(value, int | float) and name != "step"}
