"""Curves of end-to-end training: means over the seeds, and their plot as in figure 7 of the ICY paper."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ecsuite.config import ConfigError
from ecsuite.eval.reports.canvas import COLOURS, new_figure, save
from ecsuite.eval.statistics.t_intervals import mean_and_half_width

if TYPE_CHECKING:
    from ecsuite.eval.icy.end_to_end import PairRow

PANELS = {
    "loss": "loss end to end",
    "end_to_end": "accuracy end to end",
    "sender": "sender in the original language",
    "receiver": "receiver in the original language",
}
"""Panels of the figure, with their axis labels."""

STYLES = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)))
"""Line styles, so that lines differ without colour, too."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Curve:
    """One measure over the updates."""

    updates: tuple[float, ...]
    """Number of updates at each point."""
    means: tuple[float, ...]
    """Means over the seeds; those of loss and end_to_end are also over the updates since the previous point."""
    half_widths: tuple[float, ...] | None
    """Half of each mean's 95 % interval; None for a single seed."""


def curves(row: "PairRow") -> dict[str, dict[str, Curve]]:
    """The curves of a pair, by grammar and by measure of `PANELS`; grammars without any run are left out."""
    found: dict[str, dict[str, Curve]] = {}
    for cell in row.cells:
        made: list[Mapping[str, Sequence[float]]] = [
            run["curve"] for run in cell.runs if run["reason"] is None
        ]
        if made:
            found[cell.grammar] = {name: _curve(made, name) for name in PANELS}
    return found


def write_curves(row: "PairRow", file: Path) -> None:
    """Draw a panel per measure and a line per grammar, with the 95 % interval shaded.

    Args:
        row: The measured pair.
        file: The .svg or .png to write.

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
            curve, colour = measures[name], COLOURS[index % len(COLOURS)]
            style = STYLES[index % len(STYLES)]
            axes.plot(curve.updates, curve.means, color=colour, linestyle=style, label=grammar.upper())
            if curve.half_widths is not None:
                pairs = list(zip(curve.means, curve.half_widths, strict=True))
                low, high = [mean - half for mean, half in pairs], [mean + half for mean, half in pairs]
                axes.fill_between(curve.updates, low, high, color=colour, alpha=0.2, linewidth=0)
        axes.set_ylabel(label, fontsize=9)
        if name != "loss":
            axes.set_ylim(0, 1.02)
        axes.grid(linewidth=0.5, alpha=0.5)
        axes.spines[["top", "right"]].set_visible(False)
    for axes in panels[2:]:
        axes.set_xlabel("updates end to end")
    seeds = f"{len(row.seeds)} seed{'s' if len(row.seeds) > 1 else ''}"
    shaded = ", shaded: 95 % CI" if len(row.seeds) > 1 else ""
    figure.suptitle(f"{row.sender} and {row.receiver} over {row.channel}, {seeds}{shaded}", fontsize=10)
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(found), frameon=False, fontsize=9)
    save(figure, file)


def _curve(runs: Sequence[Mapping[str, Sequence[float]]], name: str) -> Curve:
    points = zip(*(run[name] for run in runs), strict=True)
    means, half_widths = zip(*(mean_and_half_width(point) for point in points), strict=True)
    return Curve(
        updates=tuple(runs[0]["updates"]), means=means, half_widths=None if len(runs) == 1 else half_widths
    )
