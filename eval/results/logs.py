"""The log of a run: one evaluation per line, a step with figures in sections `train`, `valid` and `metrics`."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ecsuite.eval.metrics import bound_of
from ecsuite.eval.metrics.score import Score
from ecsuite.eval.statistics.estimates import Bound
from ecsuite.games.runs.run_folder import LOG, RunFolder
from ecsuite.games.tasks.directions import measure_bound
from ecsuite.runtime.errors import ConfigError, unknown_name

SECTIONS = {"valid": "validation", "train": "training", "metrics": "language"}
"""Legend labels of the sections of a log."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Evaluation:
    """A line of a log."""

    step: int
    """Number of the training step."""
    sections: Mapping[str, Mapping[str, float]]
    """Numbers by section and name."""
    stopped: str | None = None
    """Reason why the training ended here; None if it did not."""

    @property
    def figures(self) -> dict[str, float]:
        """Numbers by `section.name`."""
        return {
            f"{section}.{name}": value
            for section, values in self.sections.items()
            for name, value in values.items()
        }


def evaluations(content: bytes, place: str = LOG) -> list[Evaluation]:
    """Parse the evaluations of a log; an incomplete last line, from a run that is still writing, is left out.

    Args:
        content: Bytes of the file.
        place: Path in error messages.

    Raises:
        ConfigError: If a line is not an evaluation.
    """
    found = []
    for number, line in enumerate(content.split(b"\n")[:-1], start=1):
        try:
            entry = json.loads(line)
            sections = {
                section: {
                    name: float(value)
                    for name, value in entry[section].items()
                    if isinstance(value, int | float)
                }
                for section in entry
                if section in SECTIONS
            }
            if type(entry["step"]) is not int:
                raise TypeError
            found.append(Evaluation(step=entry["step"], sections=sections, stopped=entry.get("stopped")))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            message = "expected an evaluation with a step and figures of train and valid"
            raise ConfigError(f"{place}:{number}: {message}") from None
    return found


def read_evaluations(folder: Path) -> list[Evaluation]:
    """Read the evaluations of a run folder, except the last one of a diverged run.

    Raises:
        ConfigError: If it is not a run folder, the log cannot be read, or it has no evaluation yet.
        DamagedError: If the log was changed.
    """
    run = RunFolder(folder)
    file = run.log
    if not folder.is_dir() or not (file.is_file() or run.is_run):
        raise ConfigError(f"{folder}: expected a run folder with a {LOG}")
    run.check_log()
    log = evaluations(file.read_bytes() if file.is_file() else b"", str(file))
    log = [evaluation for evaluation in log if evaluation.stopped != "diverged"]
    if not log:
        raise ConfigError(f"{folder}: no evaluation yet")
    return log


def first_measure(folder: Path) -> str:
    """Main measure of a run: its accuracy, or the first measure of its evaluations."""
    names = read_evaluations(folder)[-1].sections.get("valid", {})
    return "accuracy" if "accuracy" in names or not names else next(iter(names))


@dataclass(frozen=True, kw_only=True, slots=True)
class MeasureLog:
    """A measure over the evaluations of a run."""

    steps: list[float]
    """Step of each evaluation."""
    values: Mapping[str, list[float]]
    """Values by section; NaN if undefined."""
    bounds: Mapping[str, list[Bound | None]]
    """Whether each value is a bound of the true value; None: it is not."""


def read_log(folder: Path, measure: str = "accuracy") -> MeasureLog:
    """Read a measure over a run's evaluations, in the sections of its log that have it.

    Args:
        folder: The run folder.
        measure: Name with or without section: `valid.accuracy`.

    Raises:
        ConfigError: As for `read_evaluations`, or if no evaluation has this measure.
    """
    log = read_evaluations(folder)
    section, dot, name = measure.partition(".")
    name = name if dot and section in SECTIONS else measure
    figures = {each: [evaluation.sections.get(each, {}) for evaluation in log] for each in SECTIONS}
    sections = [each for each in SECTIONS if any(name in own for own in figures[each])]
    if not sections:
        known = dict.fromkeys(key for each in ("valid", "metrics") for own in figures[each] for key in own)
        raise ConfigError(f"{folder}: {unknown_name('measure', measure, known)}")
    return MeasureLog(
        steps=[float(evaluation.step) for evaluation in log],
        values={each: [own.get(name, math.nan) for own in figures[each]] for each in sections},
        bounds={each: [_bound(name, own) for own in figures[each]] for each in sections},
    )


def _bound(measure: str, figures: Mapping[str, float]) -> Bound | None:
    value = figures.get(measure)
    if value is None:
        return None
    return bound_of(Score(name=measure, value=value, is_measure=True, bound=measure_bound(measure, figures)))
