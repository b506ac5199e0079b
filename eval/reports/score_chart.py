"""The picture of a scorecard: each score with its interval, beside its chance level and what shuffled corpora give."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ecsuite.eval.metrics import QUESTIONS
from ecsuite.eval.metrics.conclusions import Conclusion
from ecsuite.eval.metrics.score import Score
from ecsuite.eval.reports.canvas import COLOURS, FONT_SIZE, TITLE_SIZE, label, new_figure, save, text_width

LEAST, MOST = -1.0, 2.0
"""Scores outside of this have another unit, and are named below the picture."""
ROW = 0.24
"""Height of a line, in inches."""
PLOT_WIDTH = 3.4
"""Width of the axes, in inches."""
MARGIN = 0.2
"""Page margin, in inches."""
GREY = "#707070"
ARROWS = {"higher": " ↑", "lower": " ↓", None: ""}
"""Which way is better."""

Line = tuple[Score, Conclusion]


def draw_scores(scores: Sequence[Score], conclusions: Sequence[Conclusion], title: str, *paths: Path) -> None:
    """Draw the scores that have an interval or a chance level, by question.

    Args:
        scores: All scores of a corpus.
        conclusions: The conclusion on each.
        title: Names the corpus.
        *paths: Output files, .svg or .png.

    Raises:
        ConfigError: If matplotlib is missing, or a file is neither .svg nor .png.
    """
    lines = [
        (score, conclusion)
        for score, conclusion in zip(scores, conclusions, strict=True)
        if score.value is not None and (score.ci95 is not None or score.chance is not None)
    ]
    drawn = [line for line in lines if all(LEAST <= value <= MOST for value in _values(line[0]))]
    left_out = [score.name for score, _ in lines if (score, _) not in drawn]
    parts = {
        question: [line for line in drawn if line[1].question == question]
        for question in QUESTIONS
        if any(conclusion.question == question for _, conclusion in drawn)
    }
    note = "in other units, not drawn: " + ", ".join(left_out) if left_out else ""
    names = [_name(line) for line in drawn]
    headings = (1.15 * text_width(QUESTIONS[part]) for part in parts)  # bold is wider
    left = MARGIN + 0.15 + max((*map(text_width, names), *headings), default=0.0)
    right = 0.3 + max((text_width(_reading(line)) for line in drawn), default=0.0)
    height = ROW * (len(drawn) + len(parts))
    width = max(left + PLOT_WIDTH + right, text_width(title, TITLE_SIZE) + 0.4, text_width(note) + 0.4)
    top, bottom = 0.5, 1.05
    total = top + height + bottom
    figure = new_figure(width, total)
    axes = figure.add_axes((left / width, bottom / total, PLOT_WIDTH / width, height / total))
    row = 0
    for part, members in parts.items():
        at: dict[str, Any] = {"transform": axes.get_yaxis_transform(), "va": "center", "fontsize": FONT_SIZE}
        axes.text((MARGIN - left) / PLOT_WIDTH, row, QUESTIONS[part], weight="bold", **at)
        for place, line in enumerate(members, start=row + 1):
            _draw_line(axes, line, place)
        row += 1 + len(members)
    axes.set_ylim(max(row, 1) - 0.4, -0.6)
    axes.set_yticks([])
    axes.set_xlabel("score", fontsize=FONT_SIZE)
    axes.tick_params(labelsize=FONT_SIZE)
    axes.grid(axis="x", linewidth=0.5, alpha=0.5)
    axes.set_axisbelow(True)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.plot([], [], "o-", color=COLOURS[0], ms=5, label="score, 95 % interval")
    axes.plot([], [], "D-", color=GREY, mfc="white", ms=4, label="chance: shuffled meanings, 95 % of them")
    axes.margins(x=0.04)
    figure.legend(
        loc="lower center", bbox_to_anchor=(0.5, 0.2 / total), ncols=2, frameon=False, fontsize=FONT_SIZE
    )
    figure.text(MARGIN / width, 0.12 / total, note, fontsize=FONT_SIZE, color=GREY)
    figure.text(MARGIN / width, 1 - 0.25 / total, title, fontsize=TITLE_SIZE, va="center", parse_math=False)
    save(figure, *paths)


def _draw_line(axes: Any, line: Line, row: int) -> None:
    """Draw a score and its chance level; grey where it does not differ from chance."""
    score, conclusion = line
    beside: dict[str, Any] = {"transform": axes.get_yaxis_transform(), "va": "center", "fontsize": FONT_SIZE}
    colour = GREY if conclusion.relation == "equal" else COLOURS[0]
    axes.text(-0.03, row, _name(line), ha="right", color="black", **beside)
    axes.text(1.03, row, _reading(line), ha="left", color=colour, **beside)
    if (chance := score.chance) is not None:
        axes.plot([chance.low, chance.high], [row + 0.2] * 2, color=GREY, linewidth=1.2)
        axes.plot([chance.level], [row + 0.2], "D", color=GREY, mfc="white", ms=4)
    if score.ci95 is not None:
        axes.plot(score.ci95, [row - 0.1] * 2, color=colour, linewidth=1.8)
    axes.plot([score.value], [row - 0.1], "o", color=colour, ms=5)


def _name(line: Line) -> str:
    score, conclusion = line
    return label(score.name) + ARROWS[conclusion.direction]


def _reading(line: Line) -> str:
    score, conclusion = line
    return f"{score.value:.3f}  {conclusion.word}"


def _values(score: Score) -> list[float]:
    """All that is drawn of a score."""
    chance = score.chance
    levels = () if chance is None else (chance.level, chance.low, chance.high)
    return [float(each) for each in (score.value, *(score.ci95 or ()), *levels) if each is not None]
