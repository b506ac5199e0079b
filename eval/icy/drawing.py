"""The pictures of ICY: bars of acquisition and budget, of protocol `metrics` (figure 3), curves of `end-to-end` (7)."""

from collections.abc import Sequence
from pathlib import Path

from ecsuite.eval.icy.measures import MEASURES
from ecsuite.eval.icy.published import CAP as PUBLISHED_CAP
from ecsuite.eval.icy.resolved import Study
from ecsuite.eval.icy.rows import Cell, Row
from ecsuite.eval.statistics.t_intervals import mean_and_half_width, seeds_text
from ecsuite.eval.views.figures.bars import Bar, bars
from ecsuite.eval.views.figures.canvas import ends, save
from ecsuite.eval.views.figures.curves import Curve, curves
from ecsuite.runtime.errors import ConfigError

PANELS = {
    "loss": "loss end to end",
    "end_to_end": "accuracy end to end",
    "sender": "sender, original language",
    "receiver": "receiver, original language",
}
"""Panels of the curves, with their axis labels."""


def draw_rows(study: Study, rows: Sequence[Row], file: Path) -> None:
    """Draw a group of bars for each grammar, a bar for each model, with the paper's figure beside it.

    Raises:
        ConfigError: If matplotlib is not installed, or the file has another suffix.
    """
    is_budget = study.config.protocol == "budget"
    first = rows[0]
    drawn = [
        _bar(
            row, cell, f"{row.model} over {row.channel}" if len(study.channels) > 1 else row.model, study.cap
        )
        for row in rows
        for cell in row.cells
    ]
    models = list(dict.fromkeys(row.model for row in rows))
    name = f"{models[0]} as {first.role}" if len(models) == 1 else f"{len(models)} {first.role}s"
    what = f"updates until accuracy {study.training.target:g}, relative to CONCAT"
    if is_budget:
        symbols = "symbols" if first.role == "sender" else "attributes"
        what = f"accuracy of {symbols} after the updates that CONCAT needed"
    spread = "; lines: 95 % interval of the mean" if len(study.seeds) > 1 else ""
    sizes = f"{study.geometry.num_attributes} attributes of {study.geometry.num_values} values"
    figure = bars(
        drawn,
        reference_name="the paper's",
        lines={} if is_budget else {"CONCAT": 1},
        limits=(0, 1.05) if is_budget else (0, None),
        title=f"ICY, {name}: {what}",
        notes=[f"{seeds_text(first.seeds)}, {sizes}{spread}"],
    )
    save(figure, file)


def _bar(row: Row, cell: Cell, series: str, cap: float) -> Bar:
    """A model on a grammar: `>20` if no run learnt it, `≥` if some did."""
    text = ""
    if num_censored := cell.num_left_out:
        text = "≥" if num_censored < len(cell.runs) else "stopped early" if cell.is_early else f">{cap:g}"
    published = row.published.get(cell.name)
    mean, half_width = published if isinstance(published, tuple) else (published, None)
    is_beyond = half_width is not None and mean >= PUBLISHED_CAP
    low, high = ends(cell.mean, cell.half_width)
    reference_low, reference_high = ends(mean, None if is_beyond else half_width)
    return Bar(
        group=cell.name.upper(),
        series=series,
        value=cell.mean,
        low=low,
        high=high,
        text=text,
        reference=mean,
        reference_low=reference_low,
        reference_high=reference_high,
        is_lower_bound=is_beyond,
    )


def draw_bars(study: Study, rows: Sequence[Row], file: Path) -> None:
    """Draw a group of bars per grammar, a bar per metric, with its 95 % confidence interval, as in figure 3.

    Metrics of other units than a share have panels of their own; `none` marks an undefined metric.

    Raises:
        ConfigError: If matplotlib is not installed, or the file has another suffix.
    """
    drawn = []
    for row in rows:
        for cell in row.cells:
            low, high = ends(cell.mean, cell.half_width)
            group, panel = row.model.upper(), MEASURES[cell.name].unit or "score, 0 to 1"
            drawn.append(Bar(group=group, series=cell.name, value=cell.mean, low=low, high=high, panel=panel))
    drawn.sort(key=lambda bar: bar.panel != "score, 0 to 1")
    low_is_best = [name for name in study.metrics if MEASURES[name].low_is_compositional]
    notes = [
        f"{study.geometry}, {seeds_text(study.seeds)}, 95 % CI",
        f"low is compositional: {', '.join(low_is_best)}" if low_is_best else "",
    ]
    save(bars(drawn, title=study.config.about, notes=notes), file)


def measured_curves(row: Row) -> list[Curve]:
    """A curve a grammar and measure of `PANELS`: the mean over the seeds and its 95 % interval against the updates.

    There is a point at every evaluation (see `pairs.train_end_to_end`), which the seeds have in common; grammars
    without any run are left out.
    """
    lines = []
    for cell in row.cells:
        runs = [run["curve"] for run in cell.runs if run["reason"] is None]
        for name in PANELS if runs else ():
            points = [
                mean_and_half_width(values) for values in zip(*(run[name] for run in runs), strict=True)
            ]
            low, high = zip(*(ends(*point) for point in points), strict=True)
            means = [mean for mean, _ in points]
            grammar = cell.name.upper()
            lines.append(Curve(x=runs[0]["updates"], y=means, low=low, high=high, name=grammar, panel=name))
    return lines


def draw_curves(row: Row, file: Path) -> None:
    """Draw a panel per measure and a line per grammar, with the 95 % interval shaded.

    Raises:
        ConfigError: If matplotlib is not installed, the file has another suffix, or there is no run.
    """
    lines = measured_curves(row)
    if not lines:
        raise ConfigError(
            "nothing to draw: no pair was pretrained to the target; raise the cap or lower the target"
        )
    shaded = ", shaded: 95 % CI" if len(row.seeds) > 1 else ""
    title = f"{row.model} and {row.receiver} over {row.channel}, {seeds_text(row.seeds)}{shaded}"
    save(curves(lines, x="updates end to end", y=PANELS, title=title), file)
