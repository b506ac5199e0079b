"""Learning curves of runs: a measure in training and in validation against the step, from the logs of run folders."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from ecsuite.eval.figures.canvas import save
from ecsuite.eval.figures.curves import Curve, curves
from ecsuite.eval.results.logs import SECTIONS, read_log
from ecsuite.formats.strict_json import read_json

STEP = "step of training"
"""Name of the axis across."""


def draw_curves(folders: Sequence[Path], *paths: Path, measure: str = "accuracy") -> None:
    """Draw a measure in training and in validation against the step; of a score of the language, that alone.

    A dotted line is its chance level, if the metadata of a run have it.

    Args:
        folders: Run folders.
        *paths: Output files, .svg or .png.
        measure: A measure of the evaluations, or a score of `evaluation.metrics`; of several, separated by commas, each
            has a panel.

    Raises:
        ConfigError: If a folder is not a run folder, its log cannot be read or has no such measure, or matplotlib is
            missing.
    """
    title = _names(folders)[0] if len(folders) == 1 else "learning curves"
    measures = [each.strip() for each in measure.split(",")]
    found = [lines_of(folders, each) for each in measures]
    if len(found) == 1:
        [(lines, levels)] = found
        save(curves(lines, x=STEP, y=measure, levels=levels, limits=limits_of(measure), title=title), *paths)
        return
    panels = [
        replace(line, panel=each) for each, (lines, _) in zip(measures, found, strict=True) for line in lines
    ]
    save(curves(panels, x=STEP, y=dict(zip(measures, measures, strict=True)), title=title), *paths)


def lines_of(folders: Sequence[Path], measure: str = "accuracy") -> tuple[list[Curve], dict[str, float]]:
    """The curves of runs in each section of their logs, and chance levels by their names; see `draw_curves`."""
    names = _names(folders)
    logs = [read_log(folder, measure) for folder in folders]
    lines = [
        Curve(x=log["step"], y=log[section], name=name if len(names) > 1 else "", kind=told)
        for name, log in zip(names, logs, strict=True)
        for section, told in SECTIONS.items()
        if section in log
    ]
    return lines, chance_levels(folders, measure)


def chance_levels(folders: Sequence[Path], measure: str) -> dict[str, float]:
    """The chance levels of a measure that the metadata of runs have, by their names."""
    levels = {level for folder in folders if (level := _chance_level(folder, measure)) is not None}
    return {f"chance {level:.3g}": level for level in sorted(levels)}


def limits_of(measure: str) -> tuple[float | None, float | None]:
    """Ends of the axis of a measure: those of a share for an accuracy, else as the values need."""
    return (0, 1.02) if "accuracy" in measure else (None, None)


def _names(folders: Sequence[Path]) -> list[str]:
    """The names of run folders, with those of their parents where some are equal."""
    names = [folder.resolve().name for folder in folders]
    if len(set(names)) == len(names):
        return names
    return ["/".join(each.resolve().parts[-2:]) for each in folders]


def _chance_level(folder: Path, measure: str) -> float | None:
    """The chance level of a measure, if it is in the metadata of the run."""
    try:
        return float(read_json(folder / "metadata.json")["chance"][measure])
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
