"""The picture of a transfer run: scores by language, grouped by family and by script (as in the paper's figure 3)."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ecsuite.downloads.languages import LANGUAGES
from ecsuite.eval.reports.canvas import COLOURS, FONT_SIZE, label, new_figure, save, text_width
from ecsuite.eval.xtreme.result import ByTask, TransferResult
from ecsuite.eval.xtreme.scoring.averaging import main_score
from ecsuite.eval.xtreme.scoring.tasks import METRIC_TITLES, TASKS

GREY = "#777777"
GROUPINGS = ("family", "script")
"""What languages are grouped by: left and right."""
STEP, GROUP_GAP = 0.17, 0.1
"""Between languages, and what is added between groups, in inches …"""
NARROWEST, MOST_STRETCHED = 2.9, 2.5
"""… which grow where few languages would leave a column of panels narrower than this, or partly empty."""
HEIGHT = 1.5
"""Of a panel, in inches."""
LEFT, RIGHT, TOP, GAP = 0.55, 0.15, 0.45, 0.3
"""Around panels and above each row of them, in inches."""
CODES = 0.26
"""Below a panel for the codes of its languages, in inches."""
SMALL = FONT_SIZE - 1
"""Of codes and groups, in points."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Arrangement:
    """The languages of a panel from left to right."""

    order: tuple[int, ...]
    """Which of the task's languages comes when."""
    places: tuple[float, ...]
    """Where each of these stands, in inches."""
    groups: tuple[tuple[str, float, float], ...]
    """Name, number of languages in brackets, and the places of the first and the last one."""

    @property
    def width(self) -> float:
        """In inches."""
        return self.places[-1] + STEP


def arrange(codes: Sequence[str], grouping: str) -> Arrangement:
    """Put related languages side by side, large groups first.

    Args:
        codes: Languages.
        grouping: `family` or `script`.
    """
    of = [str(getattr(LANGUAGES[code], grouping)) if code in LANGUAGES else "unknown" for code in codes]
    order = sorted(range(len(codes)), key=lambda each: (-of.count(of[each]), of[each], codes[each]))
    places: list[float] = []
    groups: list[tuple[str, float, float]] = []
    for rank, each in enumerate(order):
        is_new = rank == 0 or of[each] != of[order[rank - 1]]
        places.append(places[-1] + STEP + GROUP_GAP * is_new if places else STEP)
        first = places[-1] if is_new else groups.pop()[1]
        groups.append((f"{of[each]} ({of.count(of[each])})", first, places[-1]))
    return Arrangement(order=tuple(order), places=tuple(places), groups=tuple(groups))


def draw(result: TransferResult, *paths: Path) -> None:
    """Draw a row of panels a task: dots are means over seeds, upright lines reach from the worst to the best seed.

    Raises:
        ConfigError: If matplotlib is missing, or a file is neither .svg nor .png.
    """
    panels = {
        task: [arrange(codes, grouping) for grouping in GROUPINGS] for task, codes in result.languages.items()
    }
    names = [label(body) for body in result.bodies]
    legend = sum(text_width(name) + 0.4 for name in [*names, "baseline", "chance"])
    widths = [
        max(NARROWEST, *(arranged[side].width for arranged in panels.values()))
        for side in range(len(GROUPINGS))
    ]
    width = LEFT + max(sum(widths) + GAP, legend) + RIGHT
    below = {
        task: CODES + max(text_width(name, SMALL) for each in arranged for name, _, _ in each.groups)
        for task, arranged in panels.items()
    }
    total = TOP + sum(HEIGHT + GAP + room for room in below.values()) + 0.1
    figure = new_figure(width, total)
    bottom = total - TOP
    for task, arranged in panels.items():
        bottom -= GAP + HEIGHT
        for side, each in enumerate(arranged):
            start = LEFT + side * (widths[0] + GAP)
            stretched = min(widths[side], each.width * MOST_STRETCHED)
            place = (start / width, bottom / total, stretched / width, HEIGHT / total)
            axes = figure.add_axes(place)
            _draw_panel(result, task, each, axes)
            _name_languages(result.languages[task], each, axes)
            axes.set_title(f"{TASKS[task].title} by {GROUPINGS[side]}", fontsize=FONT_SIZE, loc="left")
            if side:
                axes.set_yticklabels([])
            else:
                metrics = " and ".join(METRIC_TITLES[metric] for metric in TASKS[task].main)
                axes.set_ylabel(metrics, fontsize=FONT_SIZE)
        bottom -= below[task]
    handles, texts = figure.axes[0].get_legend_handles_labels()
    figure.legend(
        handles,
        texts,
        loc="upper left",
        bbox_to_anchor=(0.05 / width, 1 - 0.05 / total),
        borderaxespad=0,
        ncols=len(texts),
        frameon=False,
        fontsize=FONT_SIZE,
        columnspacing=1.0,
        handlelength=1.0,
    )
    save(figure, *paths)


def _draw_panel(result: TransferResult, task: str, arranged: Arrangement, axes: Any) -> None:
    """Bodies in their colours, the corpus on top, and lines for what needs no model."""
    order, places = list(arranged.order), np.array(arranged.places)
    for place, (_, first, last) in enumerate(arranged.groups):
        if place % 2 == 0:
            axes.axvspan(
                first - STEP / 2 - GROUP_GAP / 2, last + STEP / 2 + GROUP_GAP / 2, color="#f2f2f2", lw=0
            )
    for rank, body in enumerate(result.bodies):
        scores = result.language_scores(body, task)[:, order]  # (num_seeds, num_languages)
        colour = COLOURS[rank % len(COLOURS)]
        axes.vlines(places, scores.min(0), scores.max(0), color=colour, linewidth=0.8, alpha=0.6)
        size = 4.5 if rank == 0 else 3.0
        axes.plot(
            places,
            scores.mean(0),
            "o",
            ms=size,
            color=colour,
            mew=0,
            clip_on=False,
            zorder=4 - rank / 10,
            label=label(body),
        )
    for name, guess, colour in (("baseline", result.baselines, "black"), ("chance", result.chance, GREY)):
        _draw_guess(result, task, guess, arranged, axes, name, colour)
    axes.set_xlim(0, arranged.width)
    axes.set_ylim(bottom=0)
    axes.tick_params(labelsize=SMALL)
    axes.grid(axis="y", linewidth=0.4, alpha=0.5)
    axes.spines[["top", "right"]].set_visible(False)


def _draw_guess(
    result: TransferResult,
    task: str,
    by_task: ByTask,
    arranged: Arrangement,
    axes: Any,
    name: str,
    colour: str,
) -> None:
    """A short line a language."""
    metrics = result.tested(by_task, task)
    if metrics is not None:
        scores = [main_score(task, of_one) for of_one in metrics.values()]
        places = np.array(arranged.places)
        heights = [scores[each] for each in arranged.order]
        reach = 0.45 * STEP
        axes.hlines(heights, places - reach, places + reach, color=colour, linewidth=1.2, label=name)


def _name_languages(codes: Sequence[str], arranged: Arrangement, axes: Any) -> None:
    """Codes below the panel, and upright below them what the languages belong to."""
    axes.set_xticks(arranged.places, [codes[each] for each in arranged.order])
    axes.tick_params(axis="x", length=0, pad=2)
    for name, first, last in arranged.groups:
        axes.text(
            (first + last) / 2,
            -CODES * 0.75 / HEIGHT,
            name,
            rotation=90,
            ha="center",
            va="top",
            fontsize=SMALL,
            color=GREY,
            transform=axes.get_xaxis_transform(),
        )
