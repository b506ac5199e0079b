"""How a run of training ended."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from ecsuite.games.directions import held_out_of, measure_title
from ecsuite.games.run_folder import EXTRA, REMEDY, StopReason

UNITS = {"loss": "nats", "length": "mean message length incl. EOS"}
"""What a figure is in, by its name."""
WITHOUT_EOS = {**UNITS, "length": "mean message length"}
"""The same of plays of rounds, which have no loss, and whose messages no EOS."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Result:
    """How a run ended."""

    stopped: StopReason
    step: int
    """Steps done; of a run that diverged, the step that failed."""
    num_steps: int
    """Steps of all epochs."""
    measures: dict[str, float]
    """The last evaluation: loss (nats), accuracy, length (symbols incl. EOS), and the task's own metrics; that of the
    best state where it is kept; empty if the run diverged before the first one."""
    chance: dict[str, float]
    """Chance level of each metric."""
    extra_evaluations: dict[str, dict[str, float]]
    """Further evaluations of the final agents by name, such as `unseen concept`; empty where there are none."""
    extra_chance: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """Chance level of each of their measures that has one."""
    was_done: bool = False
    """Whether the folder already held this run, finished."""
    metrics: Mapping[str, float | None] = field(default_factory=dict)
    """Scores of the language by `evaluation.metrics`, of the same agents as the measures; None: not defined."""
    best_step: int | None = None
    """Steps of the agents that the measures and the corpus are of, where `training.keep_best` names a figure."""

    def to_json(self) -> dict[str, Any]:
        """How the run ended, JSON-ready."""
        tree = asdict(self)
        tree[EXTRA] = tree.pop("extra_evaluations")
        unused = [name for name in ("metrics", "best_step", "extra_chance") if tree[name] in ({}, None)]
        return {name: value for name, value in tree.items() if name not in unused}

    def summary(self) -> str:
        """How the run ended, in a few lines of text."""
        how = {
            "epochs": "all epochs done",
            "accuracy": "accuracy reached",
            "patience": "no longer improving",
            "minutes": "time limit reached",
            "limit": "limit reached; --resume goes on with another one",
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
            if name in self.chance:
                figures[measure_title(name, about)] = share_text(value, self.chance[name])
            else:
                units = UNITS if "loss" in self.measures else WITHOUT_EOS
                figures[measure_title(name, "")] = f"{value:8.3f}  {units.get(name, '')}".rstrip()
        for name, extra in self.extra_evaluations.items():
            level = self.extra_chance.get(name, {}).get("accuracy")
            figures[measure_title("accuracy", name)] = share_text(extra["accuracy"], level)
        for name, score in self.metrics.items():
            figures[name] = "not defined" if score is None else f"{score:8.3f}"
        width = max(20, *(len(name) + 1 for name in figures)) if figures else 0
        return "\n".join([*lines, *(f"  {name:{width}}{figure}" for name, figure in figures.items())])


def share_text(value: float, chance: float | None) -> str:
    """A share with its chance level, where that is known."""
    return f"{value:8.1%}" if chance is None else f"{value:8.1%}  chance level {chance:.2g}"
