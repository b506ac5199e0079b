"""Learning curves of runs: a measure in training and in validation against the step, from the logs of run folders."""

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ecsuite.eval.figures.canvas import save
from ecsuite.eval.figures.curves import Curve, curves
from ecsuite.formats.strict_json import read_json
from ecsuite.games.run_log import require_unchanged_log
from ecsuite.runtime.errors import ConfigError, unknown_name

SECTIONS = {"valid": "validation", "train": "training", "metrics": "language"}
"""Names of the sections of a log in legends."""
STEP = "step of training"
"""Name of the axis across."""


def draw_curves(folders: Sequence[Path], *paths: Path, measure: str = "accuracy") -> None:
    """Draw a measure in training and in validation against the step; of a score of the language, that alone.

    A dotted line is its chance level, if the metadata of a run have it.

    Args:
        folders: Run folders.
        *paths: Output files, .svg or .png.
        measure: A measure of the evaluations, or a score of `evaluation.metrics`.

    Raises:
        ConfigError: If a folder is not a run folder, its log cannot be read or has no such measure, or matplotlib is
            missing.
    """
    lines, levels = lines_of(folders, measure)
    title = _names(folders)[0] if len(folders) == 1 else "learning curves"
    save(curves(lines, x=STEP, y=measure, levels=levels, limits=limits_of(measure), title=title), *paths)


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


def read_log(folder: Path, measure: str = "accuracy") -> dict[str, list[float]]:
    """The steps of a run's evaluations, and a measure by section; NaN where it is not defined.

    An incomplete last line, of a run that is still writing, is ignored, and so is the last one of a run that diverged.

    Raises:
        ConfigError: If it is no run folder, the log cannot be read, or no evaluation has such a measure.
    """
    file = folder / "log.jsonl"
    if not folder.is_dir() or not (file.is_file() or (folder / "config.yaml").is_file()):
        raise ConfigError(f"{folder}: expected a run folder with a log.jsonl")
    require_unchanged_log(folder)
    lines = file.read_bytes().split(b"\n")[:-1] if file.is_file() else []
    entries = [_entry(line, f"{file}:{number}") for number, line in enumerate(lines, start=1)]
    entries = [entry for entry in entries if entry.get("stopped") != "diverged"]
    if not entries:
        raise ConfigError(f"{folder}: no evaluation yet")
    section, dot, name = measure.partition(".")
    name = name if dot and section in SECTIONS else measure
    found = [each for each in SECTIONS if any(name in entry.get(each, {}) for entry in entries)]
    if not found:
        known = dict.fromkeys(
            each for entry in entries for key in ("valid", "metrics") for each in entry.get(key, {})
        )
        raise ConfigError(f"{folder}: {unknown_name('measure', measure, known)}")
    log = {each: [_number(entry.get(each, {}).get(name)) for entry in entries] for each in found}
    return {"step": [float(entry["step"]) for entry in entries], **log}


def _entry(line: bytes, place: str) -> dict[str, Any]:
    """An evaluation of a log."""
    try:
        entry = json.loads(line)
        is_valid = type(entry["step"]) is int and all(
            isinstance(entry.get(each, {}), Mapping) for each in SECTIONS
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        is_valid = False
    if not is_valid:
        raise ConfigError(f"{place}: expected an evaluation with a step and figures of train and valid")
    return dict(entry)


def _number(value: Any) -> float:
    return float(value) if type(value) in (int, float) else math.nan


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
