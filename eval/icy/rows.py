"""Rows of results: which models learnt which grammars, and how well, with the base classes of the protocols' views."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

from ecsuite.agents.spec import Role
from ecsuite.eval.icy.agents import published_parameters
from ecsuite.eval.icy.channels import SupervisedChannel
from ecsuite.eval.icy.study import BASIS, IcyStudy, JobName
from ecsuite.eval.metrics.score import Score
from ecsuite.eval.results.sources import Source
from ecsuite.eval.statistics.estimates import NO_INTERVAL, Bound, joint_bound, mean_and_half_width
from ecsuite.games.tasks.directions import measure_bound
from ecsuite.grammars.icy import language, majority_accuracy
from ecsuite.tables.cells import INTERVAL, Cell, bounded, estimate, nothing, number, text
from ecsuite.tables.table import Column, Row, Table, name_column, number_column, row_of

JobResults = Mapping[JobName, Mapping[str, Any]]
"""Results of the jobs that did not fail, by their names in the plan."""
RunValues = Mapping[str, Any]
Runs = Mapping[str, Sequence[RunValues]]
"""Runs by grammar, one per seed."""
Figure = tuple[float, float | None]
"""A mean over seeds and the half-width of its 95 % interval; None if undefined, as for one seed."""
HERE, PAPER = "here", "the paper"
"""Origins of the figures in a line of a table."""
ORIGIN = Column("origin", is_shown=False)
"""The column of the origin, in CSV and frames."""


@dataclass(frozen=True, kw_only=True, slots=True)
class IcyCell:
    """Figures of one grammar, or of one metric."""

    name: str
    """The grammar, or the metric."""
    runs: tuple[RunValues, ...]
    """Values of the runs, one per seed, as in JSON."""
    figures: Mapping[str, Figure | None]
    """Mean per measure over the runs that count; None without such a run. Tables and pictures show the first mean."""
    num_left_out: int = 0
    """Number of runs that were stopped before the target, or do not count."""
    floors: Mapping[str, float] = field(default_factory=dict)
    """Accuracy without learning by role, see `floor_of`."""

    @property
    def figure(self) -> Figure | None:
        """Mean and half-width of the first measure."""
        return next(iter(self.figures.values()))

    @property
    def mean(self) -> float | None:
        """Mean of the first measure."""
        return self.figure and self.figure[0]

    @property
    def half_width(self) -> float | None:
        """Half-width of the 95 % interval of the first measure."""
        return self.figure and self.figure[1]

    def bound(self, measure: str) -> Bound | None:
        """How the mean of a measure bounds the true mean, as with an accuracy of 1 in a run; None: not a bound."""
        return joint_bound(measure_bound(measure, run) for run in self.runs if not run.get("reason"))

    @property
    def is_early(self) -> bool:
        """Whether any run was stopped before the cap."""
        return any(run["is_early"] for run in self.runs)


@dataclass(frozen=True, kw_only=True, slots=True)
class IcyRow:
    """One model over one channel, one pair, or one grammar."""

    model: str
    """The model, the sender of a pair, or in `metrics` the grammar."""
    role: Role = "sender"
    receiver: str | None = None
    """The receiver of a pair."""
    channel: str = ""
    parameters: int | Mapping[Role, int] | None = None
    """Number of parameters as counted in the paper; of a pair, by role."""
    seeds: tuple[int, ...]
    basis: IcyCell | None = None
    """The updates to learn CONCAT."""
    cells: tuple[IcyCell, ...]
    reason: str | None = None
    """Reason for missing figures."""
    signature: str = ""
    """Everything that can change the results."""
    published: Mapping[str, Any] = field(default_factory=dict)
    """The paper's figures by name of the cell, if it reports any."""


class ProtocolView(ABC):
    """View of one protocol: the rows of a study, their table, JSON, records, notes and picture."""

    columns: tuple[Column, ...] = (name_column("model"), ORIGIN)
    """The first columns of the table."""

    @abstractmethod
    def rows(self, study: IcyStudy, results: JobResults) -> list[IcyRow]:
        """The rows of a study, from the jobs that did not fail."""

    @abstractmethod
    def to_json(self, study: IcyStudy, rows: Sequence[IcyRow]) -> list[dict[str, Any]]:
        """The rows as JSON-ready data."""

    def cell_columns(self, row: IcyRow) -> list[Column]:
        """A column for each cell."""
        return [number_column(cell.name, cell.name.upper(), parts=INTERVAL) for cell in row.cells]

    def table(self, study: IcyStudy, rows: Sequence[IcyRow]) -> Table:
        """A line for each row, and below it the paper's figures in faint type."""
        shown = []
        for row in rows:
            heads = self.heads(row)
            ours = (self.text(study, cell) for cell in row.cells)
            shown.append(row_of(row.model, HERE, *heads, *ours, ends_section=not row.published))
            if row.published:
                label = text(row.model, shown=f"  {PAPER}")
                paper = (self.paper(row.published.get(cell.name)) for cell in row.cells)
                shown.append(
                    row_of(label, PAPER, *(None for _ in heads), *paper, role="dim", ends_section=True)
                )
        return Table(columns=[*self.columns, *self.cell_columns(rows[0])], rows=[*shown, *self.below(rows)])

    def heads(self, row: IcyRow) -> Sequence[Cell | str | int | None]:
        """The cells of a line before the measured ones."""
        return ()

    def text(self, study: IcyStudy, cell: IcyCell) -> Cell:
        """A cell of the table."""
        return accuracy_text(cell, next(iter(cell.figures)), "none")

    def paper(self, figure: Any) -> Cell:
        """A figure of the paper; empty if it reports none."""
        return nothing() if figure is None else number(figure, 3)

    def below(self, rows: Sequence[IcyRow]) -> list[Row]:
        """The last lines of the table."""
        return []

    def record(self, study: IcyStudy, rows: Sequence[IcyRow]) -> list[Source]:
        """A source for each run, with a record for each measure."""
        config = study.config
        return [
            Source(
                name=row.model if row.receiver is None else f"{row.model} and {row.receiver}",
                file=Path(config.name),
                settings={"protocol": config.protocol, "channel": row.channel, "grammar": cell.name},
                seed=run["seed"],
                group=f"{row.model} {row.receiver} {row.channel} {cell.name}",
                status="capped"
                if not run.get("reached", True)
                else "failed"
                if run.get("reason")
                else "done",
                failure=run.get("reason"),
                records=tuple(
                    Score(
                        name=name,
                        value=value,
                        reason="" if value is None else None,
                        signature=row.signature,
                        bound=measure_bound(name, run),
                    )
                    for name in cell.figures
                    for value in [run.get(name)]
                ),
            )
            for row in rows
            for cell in row.cells
            for run in cell.runs
        ]

    def notes(self, study: IcyStudy, rows: Sequence[IcyRow]) -> list[str]:
        """Explanations below the table."""
        return []

    @abstractmethod
    def draw(self, study: IcyStudy, rows: Sequence[IcyRow], file: Path) -> None:
        """Draw the rows into a file."""


class Learning(ProtocolView):
    """View of a protocol in which models, or pairs, learn grammars over channels."""

    def grammars(self, study: IcyStudy) -> Sequence[str]:
        """The grammars in a row."""
        return (BASIS, *study.grammars)

    def systems(self, study: IcyStudy) -> Iterable[tuple[str, ...]]:
        """The learning systems: models, or pairs."""
        return ((model,) for model in study.models)

    @abstractmethod
    def run(self, study: IcyStudy, results: JobResults, name: JobName) -> RunValues | None:
        """Values of the run of a channel, a system, a grammar and a seed; None if it failed."""

    @abstractmethod
    def row(self, study: IcyStudy, link: SupervisedChannel, system: Sequence[str], runs: Runs) -> IcyRow:
        """The row of a channel and system, from its runs by grammar."""

    def rows(self, study: IcyStudy, results: JobResults) -> list[IcyRow]:
        """A row for each channel and system with a successful run (on CONCAT, if it is among the grammars)."""
        rows = []
        for link, system in product(study.channels, self.systems(study)):
            runs: dict[str, list[RunValues]] = {}
            for grammar in self.grammars(study):
                values = (
                    self.run(study, results, (str(link), *system, grammar, seed)) for seed in study.seeds
                )
                runs[grammar] = [run for run in values if run is not None]
            if runs.get(BASIS, True) and any(runs.values()):
                rows.append(self.row(study, link, system, runs))
        return rows

    @abstractmethod
    def row_values(self, study: IcyStudy, row: IcyRow) -> dict[str, Any]:
        """Protocol-specific JSON keys of a row."""

    @abstractmethod
    def cell_values(self, row: IcyRow, cell: IcyCell) -> dict[str, Any]:
        """Protocol-specific JSON keys of a cell."""

    def to_json(self, study: IcyStudy, rows: Sequence[IcyRow]) -> list[dict[str, Any]]:
        """The rows as JSON-ready data."""
        return [
            {
                **self.row_values(study, row),
                "parameters": row.parameters,
                "seeds": row.seeds,
                "cells": [
                    {"grammar": cell.name, "runs": cell.runs, **self.cell_values(row, cell)}
                    for cell in row.cells
                ],
                "signature": row.signature,
                "published": row.published,
            }
            for row in rows
        ]


def figure_of(values: Sequence[float], *, published: bool = False, are_shares: bool = False) -> Figure | None:
    """The mean of values with its interval; None if there are none. See `mean_and_half_width`."""
    return mean_and_half_width(values, published=published, are_shares=are_shares) if values else None


def interval_notes(rows: Sequence[IcyRow]) -> list[str]:
    """Note on means without an interval, other than those with runs that are left out."""
    cells = [cell for row in rows for cell in row.cells if len(cell.runs) > 1 and not cell.num_left_out]
    figures = [figure for cell in cells for figure in cell.figures.values() if figure is not None]
    return [NO_INTERVAL] * any(half_width is None for _, half_width in figures)


def parameters_of(study: IcyStudy, model: str, role: Role) -> int:
    """Number of parameters of a model as counted in the paper."""
    return published_parameters(model, role, study.geometry, study.training.hidden_size)


def floor_of(study: IcyStudy, role: Role, grammar: str) -> float:
    """Mean accuracy without learning over the seeds: of each position's most frequent symbol, or chance level."""
    if role == "receiver":
        return 1 / study.geometry.num_values
    languages = (language(grammar, study.geometry, seed) for seed in study.seeds)
    return mean_and_half_width([majority_accuracy(each.messages) for each in languages])[0]


def accuracy_text(cell: IcyCell, measure: str, missing: str, **options: Any) -> Cell:
    """An accuracy with its interval; `missing` if there is none."""
    figure = cell.figures[measure]
    if figure is None:
        return nothing(missing)
    return bounded(estimate(*figure, 3, limits=(0.0, 1.0), is_stacked=True, **options), cell.bound(measure))


def mean_of(runs: Sequence[Any], key: str) -> float:
    """The mean of a figure of runs."""
    return float(sum(run[key] for run in runs) / len(runs))


def by_grammar(accuracies: Sequence[tuple[str, float]]) -> str:
    """Accuracies in a line: `CONCAT 0.700, PERM 0.650`."""
    return ", ".join(f"{grammar.upper()} {accuracy:.3f}" for grammar, accuracy in accuracies)
