"""Figure of a comparison: scores with intervals, and differences to the baseline."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import isotonic_regression

from ecsuite.eval.reports.canvas import COLOURS, FONT_SIZE, label, new_figure, save, text_width
from ecsuite.eval.statistics.counting import Floats
from ecsuite.eval.xferbench.comparison.anchors import anchors_for
from ecsuite.eval.xferbench.comparison.comparison import Comparison
from ecsuite.eval.xferbench.comparison.differences import in_words

GREY = "#777777"
CONCLUSION_COLOURS = {"better": COLOURS[2], "worse": COLOURS[1], "inside the noise": GREY, "unknown": GREY}
ROW = 0.27
"""Height of a source, in inches."""
SCORES, DIFFERENCES = 3.6, 2.6
"""Widths of the two panels, in inches."""
MARGIN, BOTTOM = 0.15, 0.85
"""Margin around panels, and height below them for axes and legends, in inches."""
LABEL_GAP = 0.14
"""Distance between the centres of vertical labels, in inches."""


def draw_comparison(comparison: Comparison, *paths: Path) -> None:
    """Draw a row per source, best first, as in the paper's figure 2.

    The left panel shows the score of each source, its seeds as small circles, and the interval of the paper's procedure
    as computed by the authors' program. Comparable published scores are grey lines. With a baseline, the right panel
    shows the difference for each language, their mean, and its interval.

    Raises:
        ConfigError: If matplotlib is missing, or a file is neither .svg nor .png.
    """
    names = [label(result.name) for result in comparison.results]
    left = max(map(text_width, names)) + 0.25
    height = ROW * (len(names) + 0.6)
    anchors = anchors_for(comparison.signature)
    top = 0.35 + (
        max(text_width(_text(*anchor), FONT_SIZE - 1) for anchor in anchors.items()) + 0.2 if anchors else 0
    )
    differs = comparison.baseline is not None and bool(comparison.differences)
    width = left + SCORES + (0.3 + DIFFERENCES if differs else 0) + MARGIN
    total = top + height + BOTTOM
    figure = new_figure(width, total)

    def panel(start: float, panel_width: float) -> Any:
        axes = figure.add_axes((start / width, BOTTOM / total, panel_width / width, height / total))
        axes.set_ylim(len(names) - 0.2, -0.8)
        axes.tick_params(labelsize=FONT_SIZE)
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(axis="x", linewidth=0.5, alpha=0.4)
        axes.set_axisbelow(True)
        return axes

    scores = panel(left, SCORES)
    scores.set_yticks(range(len(names)), names)
    _draw_scores(comparison, scores)
    _draw_anchors(scores, anchors)
    _legend(scores)
    if differs:
        differences = panel(left + SCORES + 0.3, DIFFERENCES)
        differences.set_yticks(range(len(names)), [""] * len(names))
        _draw_differences(comparison, differences)
    figure.text(
        0.06 / width,
        1 - 0.2 / total,
        _fitted(_title(comparison), width - 0.12),
        fontsize=FONT_SIZE + 1,
    )
    save(figure, *paths)


def spread(places: Sequence[float], gap: float, low: float, high: float) -> Floats:
    """Move labels, with least squared shifts, so that neighbours are at least `gap` apart and all are within bounds.

    Args:
        places: Preferred positions of the labels, ascending.
        gap: Minimum distance of two labels.
        low: Minimum position.
        high: Maximum position; if there is no room for all labels, the last ones exceed it.
    """
    steps = gap * np.arange(len(places))
    fitted = isotonic_regression(np.asarray(places) - steps).x
    return np.asarray(np.maximum(low, np.minimum(fitted, high - steps[-1])) + steps)


def _draw_scores(comparison: Comparison, axes: Any) -> None:
    """Draw scores, seeds and the paper's intervals."""
    bounds = {each.name: each.program for each in comparison.normalised}
    for row, result in enumerate(comparison.results):
        interval = bounds.get(result.name)
        if interval is not None:
            axes.plot(interval, (row, row), color=COLOURS[0], linewidth=1.6)
        if len(result.seeds) > 1:
            of_seeds = result.seed_scores
            axes.plot(of_seeds, [row - 0.24] * len(of_seeds), "o", ms=3, mfc="none", mec=COLOURS[4], mew=0.8)
        axes.plot(result.score, row, "o", ms=5, color=COLOURS[0])
    axes.plot([], [], "o", ms=5, color=COLOURS[0], label="score")
    if any(bounds.values()):
        axes.plot([], [], color=COLOURS[0], linewidth=1.6, label="95 % CI, paper's program")
    if any(len(result.seeds) > 1 for result in comparison.results):
        axes.plot([], [], "o", ms=3, mfc="none", mec=COLOURS[4], mew=0.8, label="one seed")
    axes.margins(x=0.06)
    axes.set_xlabel("XferBench, nats per token (lower is better)", fontsize=FONT_SIZE)


def _draw_differences(comparison: Comparison, axes: Any) -> None:
    """Draw the difference for each language, their mean and its interval, coloured by conclusion."""
    assert comparison.baseline is not None
    of_source = {each.source: each for each in comparison.differences}
    axes.axvline(0, color="black", linewidth=0.8)
    for row, result in enumerate(comparison.results):
        each = of_source.get(result.name)
        if each is None:
            axes.text(0, row, " baseline", fontsize=FONT_SIZE - 1, va="center", color=GREY)
            continue
        colour = CONCLUSION_COLOURS[in_words(each)]
        values = list(each.details["by_target"].values())
        axes.plot(values, [row - 0.24] * len(values), "|", ms=6, mew=1.2, color=GREY, alpha=0.7)
        if each.ci95 is not None:
            axes.plot(each.ci95, (row, row), color=colour, linewidth=1.6)
        axes.plot(each.mean, row, "o", ms=5, color=colour)
    for conclusion in dict.fromkeys(in_words(each) for each in comparison.differences):
        axes.plot([], [], "o-", ms=5, color=CONCLUSION_COLOURS[conclusion], label=conclusion)
    axes.plot([], [], "|", ms=6, mew=1.2, color=GREY, alpha=0.7, label="one language")
    axes.margins(x=0.06)
    axes.set_xlabel(f"difference to {label(comparison.baseline.name)}", fontsize=FONT_SIZE)
    _legend(axes)


def _draw_anchors(axes: Any, anchors: Mapping[str, float]) -> None:
    """Draw published scores as grey lines, with vertical labels above the panel."""
    if not anchors:
        return
    for score in anchors.values():
        axes.axvline(score, color=GREY, linewidth=0.7, alpha=0.7, zorder=0)
    low, high = axes.get_xlim()
    inch = (high - low) / SCORES
    ordered = sorted(anchors.items(), key=lambda anchor: anchor[1])
    places = spread([score for _, score in ordered], LABEL_GAP * inch, low, high)
    above = 1 + 0.16 / (axes.get_position().height * axes.figure.get_figheight())
    for (name, score), place in zip(ordered, places, strict=True):
        style: dict[str, Any] = {"color": GREY, "transform": axes.get_xaxis_transform(), "clip_on": False}
        axes.plot((score, place), (1, above), linewidth=0.6, **style)
        style |= {"rotation": 90, "ha": "center", "va": "bottom", "fontsize": FONT_SIZE - 1}
        axes.text(place, above, f" {_text(name, score)}", **style)
    axes.plot([], [], color=GREY, linewidth=0.7, label="published")
    axes.set_xlim(low, high)


def _legend(axes: Any) -> None:
    """Draw the legend below a panel, in two columns."""
    height = axes.get_position().height * axes.figure.get_figheight()
    axes.legend(
        loc="upper left",
        bbox_to_anchor=(0, -0.42 / height),
        borderaxespad=0,
        ncols=2,
        frameon=False,
        fontsize=FONT_SIZE,
        columnspacing=1.0,
        handlelength=1.2,
    )


def _text(name: str, score: float) -> str:
    return f"{name} {score:.3f}"


def _title(comparison: Comparison) -> str:
    """What is compared, with the settings of the signature that have a name."""
    parts = dict(part.partition(":")[::2] for part in comparison.signature.split("|"))
    settings = [parts[key] for key in ("preset", "protocol") if parts.get(key)]
    number = len(comparison.results)
    sources = label(comparison.results[0].name) if number == 1 else f"{number} sources, best first"
    return f"XferBench ({', '.join(settings)}): {sources}" if settings else f"XferBench: {sources}"


def _fitted(text: str, width: float) -> str:
    """A text truncated to a width in inches."""
    while text_width(text) > width:
        text = text[:-2] + "…"
    return text
