"""Learning curves of runs: a measure in training and in validation against the step, from the logs of run folders."""

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ecsuite.eval.reports.canvas import COLOURS, FONT_SIZE, TITLE_SIZE, format_curves, label, new_figure, save
from ecsuite.formats.strict_json import read_json
from ecsuite.games.run_log import require_unchanged_log
from ecsuite.runtime.errors import ConfigError, unknown_name

WIDTH = 6.4
"""Width of the figure in inches."""
STYLES = {"valid": "-", "train": "--", "metrics": "-"}
"""Line style of each section of a log."""
SECTIONS = {"valid": "validation", "train": "training", "metrics": "language"}
"""Names of these in legends."""


def draw_curves(folders: Sequence[Path], *paths: Path, measure: str = "accuracy") -> None:
    """Draw a measure in training and in validation against the step; of a score of the language, that alone.

    Args:
        folders: Run folders.
        *paths: Output files, .svg or .png.
        measure: A measure of the evaluations, or a score of `evaluation.metrics`.

    Raises:
        ConfigError: If a folder is not a run folder, its log cannot be read or has no such measure, or matplotlib is
            missing.
    """
    figure = new_figure(WIDTH, 4.2 + 0.2 * len(folders), layout="constrained")
    plot_curves(figure.subplots(), folders, measure)
    names = [label(name) for name in _names(folders)]
    title = names[0] if len(names) == 1 else "learning curves"
    figure.axes[0].set_title(title, fontsize=TITLE_SIZE, loc="left")
    save(figure, *paths)


def plot_curves(axes: Any, folders: Sequence[Path], measure: str = "accuracy") -> None:
    """Plot a measure against the step; a dotted line is its chance level, if the metadata of a run have it.

    Raises:
        ConfigError: If a folder is not a run folder, or its log cannot be read or has no such measure.
    """
    logs = [read_log(folder, measure) for folder in folders]
    for index, (name, log) in enumerate(zip(_names(folders), logs, strict=True)):
        colour = COLOURS[index % len(COLOURS)]
        marker = "o" if len(log["step"]) < 30 else None
        for section, style in STYLES.items():
            if section in log:
                axes.plot(log["step"], log[section], style, marker=marker, ms=3, color=colour)
        if len(folders) > 1:
            axes.plot([], [], color=colour, label=label(name))
    for section, style in STYLES.items():
        if any(section in log for log in logs):
            colour = "black" if len(folders) > 1 else COLOURS[0]
            axes.plot([], [], style, color=colour, label=SECTIONS[section])
    for chance in sorted(
        {level for folder in folders if (level := _chance_level(folder, measure)) is not None}
    ):
        axes.axhline(chance, color="#555555", linestyle=":", linewidth=1.2, label=f"chance {chance:.3g}")
    format_curves(axes, "step of training", measure)
    if "accuracy" in measure:
        axes.set_ylim(top=1.02)
    axes.set_xlim(left=0)
    axes.legend(loc="best", frameon=False, fontsize=FONT_SIZE)


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
