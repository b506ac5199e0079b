"""The picture of a comparison: for each score a dot for each source, with its 95 % interval."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ecsuite.eval.comparison.results import Result
from ecsuite.eval.reports.canvas import COLOURS, FONT_SIZE, TITLE_SIZE, label, new_figure, save, text_width
from ecsuite.eval.reports.score_chart import GREY, LEAST, MARGIN, MOST, PLOT_WIDTH

STEP, GAP = 0.16, 0.16
"""Distance between the sources of a score, and additional distance between scores, in inches."""
MARKERS = "osD^vPX*"
"""Markers, so that sources differ without colour, too."""
MAX_IN_LEGEND = 3
"""Most columns of the legend."""


def draw_comparison(scores: Mapping[str, Sequence[Result]], file: Path) -> None:
    """Draw the scores of several sources.

    Args:
        scores: By the name of the score, what each source has; of several scores, those in other units are left out.
        file: The output file, .svg or .png.

    Raises:
        ConfigError: If matplotlib is missing, or the file has another suffix.
    """
    drawn = {name: results for name, results in scores.items() if len(scores) == 1 or _fits(results)}
    left_out = [name for name in scores if name not in drawn]
    sources = list(dict.fromkeys(result.name for results in drawn.values() for result in results))
    names = [label(name) for name in sources]
    title = " and ".join(names) if len(names) < 3 else f"{len(names)} sources compared"
    note = "in other units, not drawn: " + ", ".join(left_out) if left_out else ""
    left = MARGIN + 0.2 + max((text_width(label(name)) for name in drawn), default=0.0)
    height = max(sum(STEP * len(results) + GAP for results in drawn.values()), 0.6)
    legend_rows = -(-len(names) // MAX_IN_LEGEND)
    top, bottom = 0.5, 0.7 + 0.17 * legend_rows + (0.2 if note else 0.0)
    width = max(left + PLOT_WIDTH + MARGIN, text_width(title, TITLE_SIZE) + 0.4, text_width(note) + 0.4)
    total = top + height + bottom
    figure = new_figure(width, total)
    inner = width - left - MARGIN
    axes = figure.add_axes((left / width, bottom / total, inner / width, height / total))
    row = GAP / 2
    ticks = []
    for name, results in drawn.items():
        ticks.append((row + STEP * len(results) / 2, label(name)))
        for result in results:
            _draw_result(axes, result, row + STEP / 2, sources.index(result.name))
            row += STEP
        row += GAP
    for index, name in enumerate(names):
        marker = MARKERS[index % len(MARKERS)]
        axes.plot([], [], marker=marker, color=COLOURS[index % len(COLOURS)], ms=5, label=name)
    axes.set_ylim(height, 0)
    axes.set_yticks([place for place, _ in ticks], [name for _, name in ticks])
    axes.tick_params(labelsize=FONT_SIZE)
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel("score, with its 95 % interval", fontsize=FONT_SIZE)
    axes.grid(axis="x", linewidth=0.5, alpha=0.5)
    axes.set_axisbelow(True)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.margins(x=0.06)
    place = (0.5, (0.3 if note else 0.08) / total)
    columns = min(MAX_IN_LEGEND, max(1, len(names)))
    figure.legend(loc="lower center", bbox_to_anchor=place, ncols=columns, frameon=False, fontsize=FONT_SIZE)
    figure.text(MARGIN / width, 0.12 / total, note, fontsize=FONT_SIZE, color=GREY)
    figure.text(MARGIN / width, 1 - 0.25 / total, title, fontsize=TITLE_SIZE, va="center", parse_math=False)
    save(figure, file)


def _draw_result(axes: Any, result: Result, height: float, index: int) -> None:
    """Draw the score of a source, its interval, and the scores of single seeds."""
    colour = COLOURS[index % len(COLOURS)]
    if result.ci95 is not None:
        axes.plot(result.ci95, [height] * 2, color=colour, linewidth=1.8)
    axes.plot([result.score], [height], MARKERS[index % len(MARKERS)], color=colour, ms=5)


def _fits(results: Sequence[Result]) -> bool:
    values = [value for result in results for value in (result.score, *(result.ci95 or ()))]
    return all(LEAST <= value <= MOST for value in values)
