"""The figures of the ICY paper: bars of protocol `metrics` (figure 3), and curves of `end-to-end` (figure 7)."""

from pathlib import Path

import numpy as np

from ecsuite.eval.icy.end_to_end import PairRow
from ecsuite.eval.icy.grammar_metrics import MetricRow
from ecsuite.eval.icy.measures import MEASURES
from ecsuite.eval.icy.result import IcyResult
from ecsuite.eval.reports.canvas import COLOURS, new_figure, save
from ecsuite.eval.statistics.t_intervals import mean_and_half_width
from ecsuite.runtime.errors import ConfigError

HATCHES = ("", "//", "..", "\\\\", "xx", "--", "oo", "++")
"""Hatching, so that bars differ without colour, too."""

PANELS = {
    "loss": "loss end to end",
    "end_to_end": "accuracy end to end",
    "sender": "sender in the original language",
    "receiver": "receiver in the original language",
}
"""Panels of the curves, with their axis labels."""

STYLES = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)))
"""Line styles, so that lines differ without colour, too."""


def draw_bars(result: IcyResult, file: Path) -> None:
    """Draw a group of bars per grammar, a bar per metric, with its 95 % confidence interval, as in figure 3.

    Metrics between 0 and 1 use the left-hand axis, others the right-hand one; `none` marks an undefined metric.

    Raises:
        ConfigError: If matplotlib is not installed, or the file has another suffix.
    """
    study = result.study
    shares = [name for name in study.metrics if not MEASURES[name].unit]
    others = [name for name in study.metrics if MEASURES[name].unit]
    figure = new_figure(2 + 1.4 * len(study.grammars), 4.6, layout="constrained")
    left = figure.subplots()
    right = left.twinx() if others and shares else left
    rows = {(row.grammar, row.measure): row for row in result.rows if isinstance(row, MetricRow)}
    grammars = list(dict.fromkeys(grammar for grammar, _ in rows))
    places = np.arange(len(grammars))
    width = 0.84 / len(study.metrics)
    handles = []
    for index, name in enumerate(shares + others):
        axes = left if name in shares else right
        of_measure = [rows[grammar, name] for grammar in grammars]
        centres = places + width * (index - (len(study.metrics) - 1) / 2)
        for centre, row in zip(centres, of_measure, strict=True):
            if row.mean is None:
                left.text(centre, 0.02, "none", rotation=90, ha="center", va="bottom", fontsize=8)
        handles.append(
            axes.bar(
                centres,
                [row.mean or 0.0 for row in of_measure],
                width,
                yerr=[row.ci95 or 0.0 for row in of_measure],
                label=name + (" (right-hand axis)" if axes is not left else ""),
                color=COLOURS[index % len(COLOURS)],
                hatch=HATCHES[index % len(HATCHES)],
                edgecolor="white",
                error_kw={"elinewidth": 1, "capsize": 2},
            )
        )
    left.set_xticks(places, [grammar.upper() for grammar in grammars])
    left.set_axisbelow(True)
    left.grid(axis="y", linewidth=0.5, alpha=0.5)
    left.spines["top"].set_visible(False)
    right.spines["top"].set_visible(False)
    if shares:
        left.set_ylim(0, 1.05)
        left.set_ylabel("score, 0 to 1")
    if others:
        right.set_ylim(bottom=0)
        right.set_ylabel(", ".join(dict.fromkeys(MEASURES[name].unit for name in others)))
    seeds = "seed" if len(study.seeds) == 1 else "seeds"
    low = [name for name in study.metrics if MEASURES[name].low_is_compositional]
    notes = [
        study.config.about,
        f"{study.geometry}, {len(study.seeds)} {seeds}, 95 % CI",
        f"low is compositional: {', '.join(low)}" if low else "",
    ]
    left.set_title("\n".join(note for note in notes if note), loc="left", fontsize=9)
    figure.legend(
        handles=handles, loc="outside lower center", ncols=min(4, len(handles)), frameon=False, fontsize=9
    )
    save(figure, file)


def curves(row: PairRow) -> dict[str, dict[str, list[tuple[float, float | None]]]]:
    """By grammar and by measure of `PANELS`, the mean over the seeds and the half-width of its 95 % interval.

    There is one of each at every point of the curves (see `pairs.train_end_to_end`), also of `updates`, which the seeds
    have in common; grammars without any run are left out.
    """
    found = {}
    for cell in row.cells:
        runs = [run["curve"] for run in cell.runs if run["reason"] is None]
        if runs:
            points = {name: zip(*(run[name] for run in runs), strict=True) for name in ("updates", *PANELS)}
            found[cell.grammar] = {
                name: list(map(mean_and_half_width, each)) for name, each in points.items()
            }
    return found


def draw_curves(row: PairRow, file: Path) -> None:
    """Draw a panel per measure and a line per grammar, with the 95 % interval shaded.

    Raises:
        ConfigError: If matplotlib is not installed, the file has another suffix, or there is no run.
    """
    found = curves(row)
    if not found:
        raise ConfigError(
            "nothing to draw: no pair was pretrained to the target; raise the cap or lower the target"
        )

    figure = new_figure(10, 6.4, layout="constrained")
    panels = figure.subplots(2, 2, sharex=True).ravel()
    for axes, (name, label) in zip(panels, PANELS.items(), strict=True):
        for index, (grammar, measures) in enumerate(found.items()):
            updates = [update for update, _ in measures["updates"]]
            means, half_widths = zip(*measures[name], strict=True)
            colour, style = COLOURS[index % len(COLOURS)], STYLES[index % len(STYLES)]
            axes.plot(updates, means, color=colour, linestyle=style, label=grammar.upper())
            if None not in half_widths:
                low, high = np.subtract(means, half_widths), np.add(means, half_widths)
                axes.fill_between(updates, low, high, color=colour, alpha=0.2, linewidth=0)
        axes.set_ylabel(label, fontsize=9)
        if name != "loss":
            axes.set_ylim(0, 1.02)
        axes.grid(linewidth=0.5, alpha=0.5)
        axes.spines[["top", "right"]].set_visible(False)
    for axes in panels[2:]:
        axes.set_xlabel("updates end to end")
    seeds, shaded = f"{len(row.seeds)} seeds", ", shaded: 95 % CI"
    if len(row.seeds) == 1:
        seeds, shaded = "1 seed", ""
    figure.suptitle(f"{row.sender} and {row.receiver} over {row.channel}, {seeds}{shaded}", fontsize=10)
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(found), frameon=False, fontsize=9)
    save(figure, file)
