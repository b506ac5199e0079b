"""The picture of acquisition and budget: a group of bars for each grammar, a bar for each model, the paper's beside."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ecsuite.eval.icy.budget import BudgetRow
from ecsuite.eval.icy.published import CAP as PUBLISHED_CAP
from ecsuite.eval.icy.result import IcyResult
from ecsuite.eval.icy.rows import Row
from ecsuite.eval.reports.canvas import COLOURS, FONT_SIZE, TITLE_SIZE, label, new_figure, save, text_width
from ecsuite.eval.statistics.t_intervals import seeds_text

MAX_IN_LEGEND = 4
"""Most columns of the legend."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Bar:
    """One model on one grammar."""

    height: float | None
    """None if there is no run."""
    half_width: float | None
    """Of the 95 % interval; None if it is not known."""
    text: str
    """What stands above it: `>20` if no run learnt the grammar, `≥` if some did."""
    published: float | None
    """The paper's figure, if it reports one."""
    published_half_width: float | None


def draw_rows(result: IcyResult, file: Path) -> None:
    """Draw the rows of protocol exact, paper or budget.

    Raises:
        ConfigError: If matplotlib is not installed, or the file has another suffix.
    """
    study = result.study
    rows: Sequence[Any] = result.rows
    is_budget = study.config.protocol == "budget"
    grammars = [cell.grammar for cell in rows[0].cells]
    names = [f"{row.model} over {row.channel}" if len(study.channels) > 1 else row.model for row in rows]
    lines = _title(result, rows)
    longest = max(text_width(line, TITLE_SIZE - 1) for line in lines)
    width = max(5.2, 1.0 + longest, 1.2 + len(grammars) * (0.5 + 0.34 * len(rows)))
    figure = new_figure(width, 3.9, layout="constrained")
    axes = figure.subplots()
    share = 0.8 / len(rows)
    places = range(len(grammars))
    for index, row in enumerate(rows):
        bars = [
            _budget_bar(row, place) if is_budget else _ratio_bar(row, place, study.cap) for place in places
        ]
        centres = [place + share * (index - (len(rows) - 1) / 2) for place in places]
        _draw_bars(axes, bars, centres, share * 0.9, COLOURS[index % len(COLOURS)], label(names[index]))
    if any(row.published for row in rows):
        axes.plot([], [], "D", color="black", mfc="white", ms=4, label="the paper's")
    axes.set_xticks(range(len(grammars)), [grammar.upper() for grammar in grammars], fontsize=FONT_SIZE)
    axes.tick_params(labelsize=FONT_SIZE)
    axes.set_axisbelow(True)
    axes.grid(axis="y", linewidth=0.5, alpha=0.5)
    axes.spines[["top", "right"]].set_visible(False)
    if is_budget:
        axes.set_ylim(0, 1.05)
        axes.set_ylabel(
            f"accuracy of {'symbols' if rows[0].role == 'sender' else 'attributes'}", fontsize=FONT_SIZE
        )
    else:
        axes.axhline(1, color="#555555", linestyle=":", linewidth=1.2, label="CONCAT")
        axes.set_ylim(bottom=0)
        axes.margins(y=0.12)
        axes.set_ylabel("updates, relative to CONCAT", fontsize=FONT_SIZE)
    axes.set_title("\n".join(lines), loc="left", fontsize=TITLE_SIZE - 1)
    handles, texts = axes.get_legend_handles_labels()
    columns = min(MAX_IN_LEGEND, len(texts))
    figure.legend(
        handles, texts, loc="outside lower center", ncols=columns, frameon=False, fontsize=FONT_SIZE
    )
    save(figure, file)


def _title(result: IcyResult, rows: Sequence[Any]) -> list[str]:
    """What is measured of whom, and with what."""
    study = result.study
    models = list(dict.fromkeys(row.model for row in rows))
    what = f"updates until accuracy {study.training.target:g}"
    if study.config.protocol == "budget":
        what = "accuracy after the updates that CONCAT needed"
    spread = "; lines: 95 % interval of the mean" if len(study.seeds) > 1 else ""
    sizes = f"{study.geometry.num_attributes} attributes of {study.geometry.num_values} values"
    name = f"{models[0]} as {rows[0].role}" if len(models) == 1 else f"{len(models)} {rows[0].role}s"
    return [f"ICY, {name}: {what}", f"{seeds_text(rows[0].seeds)}, {sizes}{spread}"]


def _ratio_bar(row: Row, place: int, cap: float) -> Bar:
    cell = row.cells[place]
    mean, half_width = row.published.get(cell.grammar, (None, None))
    text = ""
    if cell.runs and cell.num_censored == len(cell.runs):
        text = "stopped early" if cell.is_early else f">{cap:g}"
    elif cell.num_censored:
        text = "≥"
    return Bar(
        height=cell.mean,
        half_width=cell.half_width,
        text=text,
        published=mean,
        published_half_width=half_width,
    )


def _budget_bar(row: BudgetRow, place: int) -> Bar:
    cell = row.cells[place]
    published = row.published.get(cell.grammar)
    return Bar(
        height=cell.mean, half_width=cell.half_width, text="", published=published, published_half_width=None
    )


def _draw_bars(
    axes: Any, bars: Sequence[Bar], centres: Sequence[float], width: float, colour: str, name: str
) -> None:
    """Draw the bars of one model."""
    lines: Mapping[str, Any] = {"elinewidth": 1.2, "capsize": 2.5}
    given = [(centre, bar) for centre, bar in zip(centres, bars, strict=True) if bar.height is not None]
    axes.bar(
        [centre for centre, _ in given],
        [bar.height for _, bar in given],
        width,
        color=colour,
        alpha=0.75,
        label=name,
    )
    aside = 0.2 * width if any(bar.published is not None for bar in bars) else 0.0
    for centre, bar in given:
        if bar.half_width:
            axes.errorbar(
                [centre - aside], [bar.height], yerr=[bar.half_width], fmt="none", ecolor="black", **lines
            )
    for centre, bar in zip(centres, bars, strict=True):
        top = (bar.height or 0.0) + (bar.half_width or 0.0)
        text = "none" if bar.height is None else bar.text
        if text:
            axes.annotate(
                text, (centre, top), (0, 6), textcoords="offset points", ha="center", fontsize=FONT_SIZE
            )
        if bar.published is not None:
            is_above = bar.published_half_width is not None and bar.published >= PUBLISHED_CAP
            axes.errorbar(
                [centre + aside],
                [bar.published],
                yerr=None if is_above else [bar.published_half_width or 0.0],
                fmt="^" if is_above else "D",
                color="black",
                mfc="white",
                ms=4,
                zorder=4,
                **lines,
            )
