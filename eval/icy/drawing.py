"""The figure of protocol `metrics`: bars as in the ICY paper's figure 3."""

from pathlib import Path

import numpy as np

from ecsuite.eval.icy.grammar_metrics import MetricRow
from ecsuite.eval.icy.measures import MEASURES
from ecsuite.eval.icy.result import IcyResult
from ecsuite.eval.reports.canvas import COLOURS, new_figure, save

HATCHES = ("", "//", "..", "\\\\", "xx", "--", "oo", "++")
"""Hatching, so that bars differ without colour, too."""


def draw_bars(result: IcyResult, file: Path) -> None:
    """Draw a group of bars per grammar, a bar per metric, with its 95 % confidence interval, as in figure 3.

    Metrics between 0 and 1 use the left-hand axis, others the right-hand one; `none` marks an undefined metric.

    Args:
        result: Of protocol `metrics`.
        file: The .svg or .png to write.

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
