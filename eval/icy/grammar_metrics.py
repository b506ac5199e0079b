"""Protocol `metrics`: compositionality metrics of the artificial grammars (ICY's figure 3, Tables 9 and 10)."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ecsuite.eval.icy.measures import MEASURES
from ecsuite.eval.icy.protocol import GRAMMAR_METRICS
from ecsuite.eval.icy.rows import ORIGIN, IcyCell, IcyRow, JobResults, ProtocolView, RunValues, figure_of
from ecsuite.eval.icy.study import IcyStudy
from ecsuite.eval.metrics.score import Score
from ecsuite.eval.results.sources import Source
from ecsuite.eval.statistics.estimates import seeds_text
from ecsuite.eval.views.figures.bars import Bar, bars
from ecsuite.eval.views.figures.canvas import ends, save
from ecsuite.tables.cells import COUNTED, Cell, estimate, nothing, number
from ecsuite.tables.table import Column, Table, name_column, number_column


class GrammarMetrics(ProtocolView):
    """Metrics of grammars, over the seeds for which they are defined."""

    columns = (name_column("grammar"), ORIGIN)

    def rows(self, study: IcyStudy, results: JobResults) -> list[IcyRow]:
        """A row for each grammar with a job that did not fail, with a cell for each metric."""
        table = study.config.published
        figures = {} if table is None else GRAMMAR_METRICS[table]
        runs = {
            grammar: [(seed, results[grammar, seed]) for seed in study.seeds if (grammar, seed) in results]
            for grammar in study.grammars
        }
        return [
            IcyRow(
                model=grammar,
                seeds=study.seeds,
                cells=tuple(
                    _cell(metric, [{"seed": seed, **run[metric]} for seed, run in each])
                    for metric in study.metrics
                ),
                published={
                    metric: figures[metric][grammar]
                    for metric in study.metrics
                    if grammar in figures.get(metric, {})
                },
            )
            for grammar, each in runs.items()
            if each
        ]

    def to_json(self, study: IcyStudy, rows: Sequence[IcyRow]) -> list[dict[str, Any]]:
        """An entry for each grammar and metric."""
        return [
            {
                "grammar": row.model,
                "measure": cell.name,
                "mean": cell.mean,
                "ci95": cell.half_width,
                "values": [run["value"] for run in cell.runs],
                "reason": next((run["reason"] for run in cell.runs if run["reason"]), None),
                "published": row.published.get(cell.name),
                "signatures": [run["signature"] for run in cell.runs],
            }
            for row in rows
            for cell in row.cells
        ]

    def record(self, study: IcyStudy, rows: Sequence[IcyRow]) -> list[Source]:
        """A source for each grammar and seed, with a record for each metric."""
        return [
            Source(
                name=row.model,
                file=Path(study.config.name),
                settings={"protocol": study.config.protocol, "grammar": row.model},
                seed=runs[0]["seed"],
                group=row.model,
                records=tuple(
                    Score(
                        name=cell.name,
                        value=run["value"],
                        reason=run["reason"],
                        signature=run["signature"],
                    )
                    for cell, run in zip(row.cells, runs, strict=True)
                ),
            )
            for row in rows
            for runs in zip(*(cell.runs for cell in row.cells), strict=True)
        ]

    def cell_columns(self, row: IcyRow) -> list[Column]:
        """A column for each metric, with its direction."""
        signs = ("↓" if MEASURES[cell.name].low_is_compositional else "↑" for cell in row.cells)
        headings = (
            f"{cell.name.replace('_', ' ')} {sign}" for cell, sign in zip(row.cells, signs, strict=True)
        )
        return [
            number_column(cell.name, heading, parts=COUNTED)
            for cell, heading in zip(row.cells, headings, strict=True)
        ]

    def text(self, study: IcyStudy, cell: IcyCell) -> Cell:
        """Mean ± half-width, and the number of defined seeds if not all."""
        if cell.mean is None:
            return nothing("none")
        defined = sum(run["value"] is not None for run in cell.runs)
        digits = 4 if cell.mean < 10 else 2
        shown = estimate(cell.mean, cell.half_width, digits, num_values=defined, is_stacked=True)
        partly = () if defined == len(cell.runs) else (f"{defined} of {len(cell.runs)}",)
        return replace(shown, lines=(*shown.lines, *partly))

    def paper(self, figure: float | None) -> Cell:
        """A mean of the paper."""
        return nothing() if figure is None else number(figure, 4)

    def table(self, study: IcyStudy, rows: Sequence[IcyRow]) -> Table:
        """A line per grammar and a column per metric, with a note on their directions."""
        seeds = "1 seed" if len(study.seeds) == 1 else f"{len(study.seeds)} seeds"
        arrows = "↑ high is compositional, ↓ low is compositional"
        note = f"{study.geometry}, {seeds}, mean ± 95 % CI; {arrows}"
        return replace(super().table(study, rows), title=study.config.about or "", notes=[note])

    def draw(self, study: IcyStudy, rows: Sequence[IcyRow], file: Path) -> None:
        """Draw a group of bars per grammar, a bar per metric, with its 95 % confidence interval, as in figure 3.

        Metrics in other units than shares have their own panels; `none` marks an undefined metric.

        Raises:
            ConfigError: If matplotlib is not installed, or the file has another suffix.
        """
        drawn = []
        for row in rows:
            for cell in row.cells:
                low, high = ends(cell.mean, cell.half_width)
                group, panel = row.model.upper(), MEASURES[cell.name].unit or "score, 0 to 1"
                drawn.append(
                    Bar(group=group, series=cell.name, value=cell.mean, low=low, high=high, panel=panel)
                )
        drawn.sort(key=lambda bar: bar.panel != "score, 0 to 1")
        low_is_best = [name for name in study.metrics if MEASURES[name].low_is_compositional]
        notes = [
            f"{study.geometry}, {seeds_text(study.seeds)}, 95 % CI",
            f"low is compositional: {', '.join(low_is_best)}" if low_is_best else "",
        ]
        save(bars(drawn, title=study.config.about, notes=notes), file)


def _cell(metric: str, scores: Sequence[RunValues]) -> IcyCell:
    defined = [score["value"] for score in scores if score["value"] is not None]
    return IcyCell(name=metric, runs=tuple(scores), figures={metric: figure_of(defined)})
