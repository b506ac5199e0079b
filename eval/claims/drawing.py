"""The arms of a claim with all their seeds, as a figure."""

from pathlib import Path

from ecsuite.eval.claims.claim import Claim
from ecsuite.eval.claims.figures import ArmFigure, arm_figures
from ecsuite.eval.claims.outcome import Outcome
from ecsuite.eval.views.figures.canvas import ends, save
from ecsuite.eval.views.figures.intervals import Panel, Point, intervals


def draw_claim(claim: Claim, outcome: Outcome, file: Path) -> None:
    """Draw a panel for each figure, with a row for each arm: the mean, its 95 % interval, and each seed.

    Raises:
        ConfigError: If the file is no SVG or PNG, or matplotlib is not installed.
    """
    by_figure: dict[str, list[ArmFigure]] = {}
    for each in arm_figures(claim, outcome):
        by_figure.setdefault(each.figure, []).append(each)
    panels = [
        Panel(axis=figure, points=[_point(each) for each in of_figure])
        for figure, of_figure in by_figure.items()
    ]
    save(intervals(*panels, title=claim.name), file)


def _point(each: ArmFigure) -> Point:
    low, high = ends(each.mean, each.half_width)
    return Point(row=each.arm, value=each.mean, low=low, high=high, single=each.defined)
