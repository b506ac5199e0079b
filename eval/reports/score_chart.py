"""The picture of a scorecard: each score with its interval, beside its chance level and what shuffled corpora give."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from ecsuite.eval.figures.canvas import save
from ecsuite.eval.figures.intervals import Panel, Point, intervals
from ecsuite.eval.metrics.conclusions import Conclusion
from ecsuite.eval.metrics.score import Score
from ecsuite.eval.metrics.traits import QUESTIONS

LEAST, MOST = -1.0, 2.0
"""Scores outside of this have another unit, and are named above the picture."""


def draw_scores(scores: Sequence[Score], conclusions: Sequence[Conclusion], title: str, *paths: Path) -> None:
    """Draw the scores that have an interval or a chance level, by question; grey where they do not differ from chance.

    Args:
        scores: All scores of a corpus.
        conclusions: The conclusion on each.
        title: Names the corpus.
        *paths: Output files, .svg or .png.

    Raises:
        ConfigError: If matplotlib is missing, or a file is neither .svg nor .png.
    """
    lines = {
        score.name: list(_points(score, conclusion))
        for score, conclusion in sorted(
            zip(scores, conclusions, strict=True), key=lambda line: list(QUESTIONS).index(line[1].question)
        )
        if score.value is not None and (score.ci95 is not None or score.chance is not None)
    }
    drawn = [point for points in lines.values() if all(map(has_usual_unit, points)) for point in points]
    left_out = [name for name, points in lines.items() if not all(map(has_usual_unit, points))]
    save(intervals(Panel(points=drawn, axis="score"), title=title, notes=unit_notes(left_out)), *paths)


def has_usual_unit(point: Point) -> bool:
    """Whether a value and its interval can stand on an axis of shares."""
    return all(LEAST <= value <= MOST for value in (point.value, point.low, point.high) if value is not None)


def unit_notes(left_out: Sequence[str]) -> list[str]:
    """What is said of scores that are not drawn."""
    return [f"in other units, not drawn: {', '.join(left_out)}"] if left_out else []


def _points(score: Score, conclusion: Conclusion) -> Iterator[Point]:
    """A score, and its chance level."""
    low, high = score.ci95 or (None, None)
    group = QUESTIONS[conclusion.question]
    yield Point(
        row=score.name,
        group=group,
        value=score.value,
        low=low,
        high=high,
        series="score, 95 % interval",
        direction=conclusion.direction,
        text=f"{score.value:.3f}  {conclusion.word}",
        is_faint=conclusion.relation == "equal",
    )
    if (chance := score.chance) is not None:
        series = "chance: shuffled meanings, 95 % of them"
        yield Point(
            row=score.name, group=group, value=chance.level, low=chance.low, high=chance.high, series=series
        )
