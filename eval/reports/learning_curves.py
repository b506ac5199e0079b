"""Learning curves of runs: a figure of validation over the steps, a line a run."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ecsuite.config import ConfigError
from ecsuite.eval.reports.canvas import COLOURS, FONT_SIZE, label, new_figure, save
from ecsuite.games.runs import Run

STYLES = ("-", "--", ":", "-.")
"""Line styles, by which runs beyond the number of colours are told apart."""


def draw_curves(runs: Sequence[Run], measure: str, out: Path) -> None:
    """Draw a measure of several runs over their steps.

    Args:
        runs: The runs.
        measure: A measure of the evaluations, such as accuracy.
        out: A .svg or .png file.

    Raises:
        ConfigError: If a run was never evaluated, or has no such measure.
    """
    figure = new_figure(5.2, 3.4, layout="constrained")
    axes = figure.add_subplot()
    for number, run in enumerate(runs):
        log = run.log
        if not log:
            raise ConfigError(f"{run.folder}: no evaluation yet")
        key = next(
            (each for each in (measure, f"valid.{measure}", f"metrics.{measure}") if each in log), None
        )
        if key is None:
            parts = [name.partition(".") for name in log]
            known = [name for section, _, name in parts if section in ("valid", "metrics")]
            raise ConfigError(f"{run.folder}: it has no measure '{measure}'; choices: {', '.join(known)}")
        is_given = np.isfinite(log[key])
        axes.plot(
            log["step"][is_given],
            log[key][is_given],
            color=COLOURS[number % len(COLOURS)],
            linestyle=STYLES[number // len(COLOURS) % len(STYLES)],
            marker="." if is_given.sum() < 20 else None,
            label=label(run.folder.name),
        )
    axes.set_xlabel("step", fontsize=FONT_SIZE)
    axes.set_ylabel(measure if "." in measure else f"{measure} (validation)", fontsize=FONT_SIZE)
    axes.tick_params(labelsize=FONT_SIZE)
    if "accuracy" in measure:
        axes.set_ylim(0, 1.02)
    axes.grid(alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    title = (
        label(runs[0].experiment.name)
        if len({run.experiment.name for run in runs}) == 1
        else "learning curves"
    )
    axes.set_title(title, fontsize=FONT_SIZE + 1)
    axes.legend(fontsize=FONT_SIZE, frameon=False)
    save(figure, out)
