"""Figures of a corpus: translation graph, sensitivity to the corpus size, and accuracy in training.

Every function draws one figure and writes it to all given files, as SVG or PNG by their suffix.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ecsuite.config import ConfigError
from ecsuite.corpus import Corpus
from ecsuite.eval.metrics.cbm_sensitivity import sensitivity
from ecsuite.eval.reports.canvas import (
    COLOURS,
    FONT_SIZE,
    TITLE_SIZE,
    corpus_name,
    label,
    new_figure,
    save,
    text_width,
    whole_numbers,
)
from ecsuite.eval.reports.translation_plots import draw_heatmap, draw_translation

_WIDTH = 6.4
"""Width of figures of curves in inches."""
_STYLES = {"valid": "-", "train": "--"}
"""Line style of each accuracy in the log of a run."""
_SPLITS = {"valid": "validation", "train": "training"}
"""Names of these in legends."""


def draw_score(corpus: Corpus, folder: Path, formats: Iterable[str] = ("svg", "png")) -> list[Path]:
    """Draw all available figures of a corpus into a folder, which is created if there is at least one figure.

    `translation` and `heatmap` need concepts, `sensitivity` needs more than one segment of samples, and `accuracy`
    needs a corpus that was read from a run folder.

    Args:
        corpus: The corpus.
        folder: Output folder.
        formats: Suffixes of the files, `svg` or `png`.

    Returns:
        The written files; empty if there is nothing to draw.

    Raises:
        ConfigError: If matplotlib is missing, or a format is neither svg nor png.
    """
    formats = tuple(formats)
    new_figure(1, 1)  # fails before anything is written
    written: list[Path] = []

    def files(name: str) -> list[Path]:
        folder.mkdir(parents=True, exist_ok=True)
        written.extend(named := [folder / f"{name}.{suffix}" for suffix in formats])
        return named

    if corpus.concepts is not None and corpus.concepts.values.size:
        draw_translation(corpus, *files("translation"))
        if corpus.content().values.size:
            draw_heatmap(corpus, *files("heatmap"))
        curves = sensitivity(corpus)
        if len(curves["sizes"]) > 1:
            draw_sensitivity({corpus_name(corpus): curves}, *files("sensitivity"))
    source = Path(str(corpus.metadata.get("source_path", "")))
    run = source if source.is_dir() else source.parent
    if "source_path" in corpus.metadata and (run / "log.jsonl").is_file():
        draw_curves([run], *files("accuracy"))
    return written


def draw_sensitivity(curves: Mapping[str, Mapping[str, Any]], *paths: Path) -> None:
    """Draw the score against the number of samples, as in figure 4 of Carmeli et al. (2024).

    Args:
        curves: Results of `sensitivity` by the name of the corpus.
        *paths: Output files.

    Raises:
        ConfigError: If matplotlib is missing, or a file is neither .svg nor .png.
    """
    figure = new_figure(_WIDTH, 4 + 0.4 * len(curves), layout="constrained")
    axes = figure.subplots()
    for index, (name, curve) in enumerate(curves.items()):
        colour = COLOURS[index % len(COLOURS)]
        of = f"{label(name)}: " if len(curves) > 1 else ""
        sizes = np.array(curve["sizes"])
        segments = f"{curve['step']:,} samples each"
        for key, style, what in (("accumulated", "-", "the first samples"), ("segmented", "--", segments)):
            scores = np.array(curve[key], dtype=float)  # None becomes NaN, a gap
            spread = "" if curve[f"{key}_sd"] is None else f" (SD {curve[f'{key}_sd']:.3f})"
            text = of + what + spread
            axes.plot(sizes[: len(scores)], scores, style, marker="o", ms=3, color=colour, label=text)
    format_curves(axes, "samples", "CBM (concept best matching)")
    names = ", ".join(map(label, curves)) if len(curves) < 3 else f"{len(curves)} corpora"
    axes.set_title(f"{names}: sensitivity to the corpus size", fontsize=TITLE_SIZE, loc="left")
    _legend_below(figure, axes)
    save(figure, *paths)


def draw_curves(folders: Sequence[Path], *paths: Path) -> None:
    """Draw accuracy in training and in validation against the step, from the `log.jsonl` of each run folder.

    Raises:
        ConfigError: If a folder is not a run folder, its log cannot be read, or matplotlib is missing.
    """
    figure = new_figure(_WIDTH, 4.2 + 0.2 * len(folders), layout="constrained")
    axes = figure.subplots()
    plot_accuracy(axes, folders)
    names = [label(name) for name in _names(folders)]
    axes.set_title(names[0] if len(names) == 1 else "learning curves", fontsize=TITLE_SIZE, loc="left")
    save(figure, *paths)


def plot_accuracy(axes: Any, folders: Sequence[Path]) -> None:
    """Plot accuracy in training and in validation against the step, from the `log.jsonl` of each run folder.

    A dotted line is the chance level, if it is in the metadata of the run.

    Raises:
        ConfigError: If a folder is not a run folder, or its log cannot be read.
    """
    logs = [read_log(folder) for folder in folders]
    for index, (name, log) in enumerate(zip(_names(folders), logs, strict=True)):
        colour = COLOURS[index % len(COLOURS)]
        marker = "o" if len(log["step"]) < 30 else None
        for split, style in _STYLES.items():
            axes.plot(log["step"], log[split], style, marker=marker, ms=3, color=colour)
        if len(folders) > 1:
            axes.plot([], [], color=colour, label=label(name))
    for split, style in _STYLES.items():
        axes.plot([], [], style, color="black" if len(folders) > 1 else COLOURS[0], label=_SPLITS[split])
    for chance in sorted({chance for folder in folders if (chance := chance_level(folder)) is not None}):
        axes.axhline(chance, color="#555555", linestyle=":", linewidth=1.2, label=f"chance {chance:.3g}")
    format_curves(axes, "step of training", "accuracy")
    axes.set_ylim(top=1.02)
    axes.set_xlim(left=0)
    axes.legend(loc="best", frameon=False, fontsize=FONT_SIZE)


def _names(folders: Sequence[Path]) -> list[str]:
    """The names of run folders, with those of their parents where some are equal."""
    names = [folder.resolve().name for folder in folders]
    return (
        names if len(set(names)) == len(names) else ["/".join(each.resolve().parts[-2:]) for each in folders]
    )


def read_log(folder: Path) -> dict[str, list[float]]:
    """Steps and accuracies of a run; an incomplete last line, of a run that is still writing, is ignored."""
    file = folder / "log.jsonl"
    if not file.is_file():
        raise ConfigError(f"{folder}: expected a run folder with a log.jsonl")
    log: dict[str, list[float]] = {"step": [], "train": [], "valid": []}
    for number, line in enumerate(file.read_bytes().split(b"\n")[:-1], start=1):
        try:
            entry = json.loads(line)
            if entry.get("stopped") == "diverged":
                continue  # its figures are of steps before
            row = [float(entry["step"]), *(float(entry[split]["accuracy"]) for split in ("train", "valid"))]
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            expected = "expected an evaluation with a step and the accuracies of train and valid"
            raise ConfigError(f"{file}:{number}: {expected}") from None
        for values, value in zip(log.values(), row, strict=True):
            values.append(value)
    if not log["step"]:
        raise ConfigError(f"{file}: expected at least one evaluation, got none")
    return log


def chance_level(folder: Path) -> float | None:
    """The chance level of the accuracy, if it is in the metadata of the run."""
    try:
        return float(json.loads((folder / "metadata.json").read_bytes())["chance"]["accuracy"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


def format_curves(axes: Any, x: str, y: str) -> None:
    """Format the axes of curves: both from 0, and thousands with commas."""
    axes.set_xlabel(x, fontsize=FONT_SIZE)
    axes.set_ylabel(y, fontsize=FONT_SIZE)
    axes.tick_params(labelsize=FONT_SIZE)
    axes.set_ylim(bottom=0)
    axes.grid(linewidth=0.5, alpha=0.5)
    axes.spines[["top", "right"]].set_visible(False)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.xaxis.set_major_locator(whole_numbers())


def _legend_below(figure: Any, axes: Any) -> None:
    """Draw a legend below, with as many columns as fit."""
    widest = max(map(text_width, axes.get_legend_handles_labels()[1]))
    num_columns = max(1, int(_WIDTH / (widest + 0.6)))
    figure.legend(loc="outside lower center", ncols=num_columns, frameon=False, fontsize=FONT_SIZE)
