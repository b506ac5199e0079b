"""The picture of a transfer run: scores by language, grouped by family and by script (as in the paper's figure 3)."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ecsuite.downloads.languages import LANGUAGES
from ecsuite.eval.reports.canvas import COLOURS, FONT_SIZE, TITLE_SIZE, label, new_figure, save, text_width
from ecsuite.eval.xtreme.result import TransferResult
from ecsuite.eval.xtreme.scoring.tasks import METRIC_TITLES, TASKS, main_score

GREY = "#777777"
GROUPINGS = ("family", "script")
"""Grouping of languages in the left and the right panel."""
STEP, GROUP_GAP = 0.17, 0.1
"""Distance between languages, and additional distance between groups, in inches."""
MIN_WIDTH, MAX_STRETCH = 2.9, 2.5
"""Least width of a column of panels, in inches, and largest factor by which a panel is stretched to fill it."""
HEIGHT = 1.5
"""Height of a panel, in inches."""
LEFT, RIGHT, TOP, GAP = 0.55, 0.15, 0.7, 0.3
"""Margins around panels, and gap above each row of panels, in inches."""
UNDER_ZERO = 0.06
"""Share of a panel below a score of 0, so that dots at 0 are above the language codes."""
CODES_HEIGHT = 0.26
"""Space below a panel for language codes, in inches."""
SMALL = FONT_SIZE - 1
"""Font size of codes and groups, in points."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Arrangement:
    """Order and positions of the languages of a panel."""

    order: tuple[int, ...]
    """Indices of the task's languages from left to right."""
    positions: tuple[float, ...]
    """Horizontal positions of these languages, in inches."""
    groups: tuple[tuple[str, float, float], ...]
    """Name with number of languages in brackets, and positions of the first and the last language, by group."""

    @property
    def width(self) -> float:
        """Width in inches."""
        return self.positions[-1] + STEP


def arrange(codes: Sequence[str], grouping: str) -> Arrangement:
    """Order languages by group (`family` or `script`), large groups first."""
    group_of = [str(getattr(LANGUAGES[code], grouping)) if code in LANGUAGES else "unknown" for code in codes]
    order = sorted(
        range(len(codes)), key=lambda each: (-group_of.count(group_of[each]), group_of[each], codes[each])
    )
    positions: list[float] = []
    groups: list[tuple[str, float, float]] = []
    for rank, each in enumerate(order):
        is_new = rank == 0 or group_of[each] != group_of[order[rank - 1]]
        positions.append(positions[-1] + STEP + GROUP_GAP * is_new if positions else STEP)
        first = positions[-1] if is_new else groups.pop()[1]
        groups.append((f"{group_of[each]} ({group_of.count(group_of[each])})", first, positions[-1]))
    return Arrangement(order=tuple(order), positions=tuple(positions), groups=tuple(groups))


def draw(result: TransferResult, *paths: Path) -> None:
    """Draw one row of panels per task: dots are means over seeds, vertical lines are the range over seeds.

    Raises:
        ConfigError: If matplotlib is missing, or a file is neither .svg nor .png.
    """
    panels = {
        task: [arrange(codes, grouping) for grouping in GROUPINGS] for task, codes in result.languages.items()
    }
    names = [label(backbone) for backbone in result.bodies]
    legend = sum(text_width(name) + 0.4 for name in [*names, "baseline", "chance"])
    widths = [
        max(MIN_WIDTH, *(arrangement[side].width for arrangement in panels.values()))
        for side in range(len(GROUPINGS))
    ]
    title = f"{names[0]}: XTREME scores by language"
    width = LEFT + max(sum(widths) + GAP, legend, text_width(title, TITLE_SIZE)) + RIGHT
    below = {
        task: CODES_HEIGHT
        + max(text_width(name, SMALL) for each in arrangement for name, _, _ in each.groups)
        for task, arrangement in panels.items()
    }
    total = TOP + sum(HEIGHT + GAP + room for room in below.values()) + 0.1
    figure = new_figure(width, total)
    bottom = total - TOP
    for task, arrangement in panels.items():
        bottom -= GAP + HEIGHT
        for side, each in enumerate(arrangement):
            start = LEFT + side * (widths[0] + GAP)
            stretched = min(widths[side], each.width * MAX_STRETCH)
            index = (start / width, bottom / total, stretched / width, HEIGHT / total)
            axes = figure.add_axes(index)
            _draw_panel(result, task, each, axes)
            _name_languages(result.languages[task], each, axes)
            axes.set_title(f"{TASKS[task].title} by {GROUPINGS[side]}", fontsize=FONT_SIZE, loc="left")
            if side:
                axes.set_yticklabels([])
            else:
                metrics = " and ".join(METRIC_TITLES[metric] for metric in TASKS[task].main)
                axes.set_ylabel(metrics, fontsize=FONT_SIZE)
        bottom -= below[task]
    figure.text(0.1 / width, 1 - 0.2 / total, title, fontsize=TITLE_SIZE, va="center", parse_math=False)
    handles, texts = figure.axes[0].get_legend_handles_labels()
    figure.legend(
        handles,
        texts,
        loc="upper left",
        bbox_to_anchor=(0.05 / width, 1 - 0.32 / total),
        borderaxespad=0,
        ncols=len(texts),
        frameon=False,
        fontsize=FONT_SIZE,
        columnspacing=1.0,
        handlelength=1.0,
    )
    save(figure, *paths)


def _draw_panel(result: TransferResult, task: str, arrangement: Arrangement, axes: Any) -> None:
    """Draw scores by backbone, the corpus on top, and lines for baseline and chance level."""
    order, positions = list(arrangement.order), np.array(arrangement.positions)
    for index, (_, first, last) in enumerate(arrangement.groups):
        if index % 2 == 0:
            axes.axvspan(
                first - STEP / 2 - GROUP_GAP / 2, last + STEP / 2 + GROUP_GAP / 2, color="#f2f2f2", lw=0
            )
    for rank, backbone in enumerate(result.bodies):
        scores = result.language_scores(backbone, task)[:, order]  # (num_seeds, num_languages)
        colour = COLOURS[rank % len(COLOURS)]
        axes.vlines(positions, scores.min(0), scores.max(0), color=colour, linewidth=0.8, alpha=0.6)
        size = 4.5 if rank == 0 else 3.0
        axes.plot(
            positions,
            scores.mean(0),
            "o",
            ms=size,
            color=colour,
            mew=0,
            clip_on=False,
            zorder=4 - rank / 10,
            label=label(backbone),
        )
    for name, reference, colour in (("baseline", result.baselines, "black"), ("chance", result.chance, GREY)):
        metrics = result.tested(reference, task)
        if metrics is not None:  # a short horizontal line per language
            levels = [main_score(task, of_one) for of_one in metrics.values()]
            heights, reach = [levels[each] for each in order], 0.45 * STEP
            axes.hlines(
                heights,
                positions - reach,
                positions + reach,
                color=colour,
                linewidth=1.2,
                label=name,
                zorder=5,
                clip_on=False,
            )
    axes.set_xlim(0, arrangement.width)
    axes.set_ylim(bottom=-UNDER_ZERO * axes.get_ylim()[1])
    axes.tick_params(labelsize=SMALL)
    axes.grid(axis="y", linewidth=0.4, alpha=0.5)
    axes.spines[["top", "right"]].set_visible(False)


def _name_languages(codes: Sequence[str], arrangement: Arrangement, axes: Any) -> None:
    """Write language codes below the panel, and rotated group names below them."""
    axes.set_xticks(arrangement.positions, [codes[each] for each in arrangement.order])
    axes.tick_params(axis="x", length=0, pad=2)
    for name, first, last in arrangement.groups:
        axes.text(
            (first + last) / 2,
            -CODES_HEIGHT * 0.75 / HEIGHT,
            name,
            rotation=90,
            ha="center",
            va="top",
            fontsize=SMALL,
            color=GREY,
            transform=axes.get_xaxis_transform(),
        )
