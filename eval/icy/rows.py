"""Rows: who learnt which grammars, and how well. A protocol says what is measured of runs, and how it is shown."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

from ecsuite.agents.spec import Role
from ecsuite.eval.icy.channels import SupervisedChannel
from ecsuite.eval.icy.jobs import Name
from ecsuite.eval.icy.parameter_counts import published_parameters
from ecsuite.eval.icy.resolved import BASIS, Study
from ecsuite.eval.results.sources import Record, Source
from ecsuite.eval.statistics.t_intervals import mean_and_half_width
from ecsuite.grammars.icy import language, majority_accuracy
from ecsuite.tables.cells import INTERVAL, estimate, nothing, number, text
from ecsuite.tables.cells import Cell as TableCell
from ecsuite.tables.table import Column, Table, name_column, number_column, row_of
from ecsuite.tables.table import Row as TableRow

Found = Mapping[Name, Mapping[str, Any]]
"""Results of the jobs that did not fail, by their names in the plan."""
Run = Mapping[str, Any]
Runs = Mapping[str, Sequence[Run]]
"""Runs by grammar, one per seed."""
Figure = tuple[float, float | None]
"""A mean over seeds, and the half-width of its 95 % interval; None for one seed, or where there is none."""
HERE, PAPER = "here", "the paper"
"""Where the figures of a line of a table are from."""
ORIGIN = Column("origin", is_shown=False)
"""The column that says so, in CSV and frames."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Cell:
    """What was measured on one grammar, or by one metric."""

    name: str
    """The grammar, or the metric."""
    runs: tuple[Run, ...]
    """One per seed, as in JSON."""
    figures: Mapping[str, Figure | None]
    """By measure, over the runs that count; None if none does. The first is that of tables and pictures."""
    num_left_out: int = 0
    """Runs that were stopped before the target, or do not count."""
    floors: Mapping[str, float] = field(default_factory=dict)
    """By role, the accuracy without learning: see `floor_of`."""

    @property
    def mean(self) -> float | None:
        """Of the first measure."""
        figure = next(iter(self.figures.values()))
        return None if figure is None else figure[0]

    @property
    def half_width(self) -> float | None:
        """Of the first measure."""
        figure = next(iter(self.figures.values()))
        return None if figure is None else figure[1]

    @property
    def is_early(self) -> bool:
        """Whether any run was stopped before the cap."""
        return any(run["is_early"] for run in self.runs)


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """One model over one channel, one pair, or one grammar."""

    model: str
    """The model, the sender of a pair, or the grammar of which metrics are measured."""
    role: Role = "sender"
    receiver: str | None = None
    """Of a pair."""
    channel: str = ""
    parameters: int | Mapping[Role, int] | None = None
    """Number of parameters as counted in the paper; of a pair, by role."""
    seeds: tuple[int, ...]
    basis: Cell | None = None
    """The updates to learn CONCAT."""
    cells: tuple[Cell, ...]
    reason: str | None = None
    """Why figures are missing."""
    signature: str = ""
    """Everything that can change the results."""
    published: Mapping[str, Any] = field(default_factory=dict)
    """The paper's figures by name of the cell, if it reports any."""


class Measurement(ABC):
    """What a protocol measures of runs: rows, and how these are shown."""

    columns: tuple[Column, ...] = (name_column("model"), ORIGIN)
    """The first columns of the table."""

    @abstractmethod
    def rows(self, study: Study, found: Found) -> list[Row]:
        """The rows of a study, from the jobs that did not fail."""

    @abstractmethod
    def to_json(self, study: Study, rows: Sequence[Row]) -> list[dict[str, Any]]:
        """The rows as JSON-ready data."""

    def cell_columns(self, row: Row) -> list[Column]:
        """A column for each cell."""
        return [number_column(cell.name, cell.name.upper(), parts=INTERVAL) for cell in row.cells]

    def table(self, study: Study, rows: Sequence[Row]) -> Table:
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

    def heads(self, row: Row) -> Sequence[TableCell | str | int | None]:
        """The cells of a line before the measured ones."""
        return ()

    def text(self, study: Study, cell: Cell) -> TableCell:
        """A cell of the table."""
        return accuracy_text(next(iter(cell.figures.values())), "none")

    def paper(self, figure: Any) -> TableCell:
        """A figure of the paper; nothing where it has none."""
        return nothing() if figure is None else number(figure, 3)

    def below(self, rows: Sequence[Row]) -> list[TableRow]:
        """The last lines of the table."""
        return []

    def record(self, study: Study, rows: Sequence[Row]) -> list[Source]:
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
                    Record(score=name, value=run.get(name), signature=row.signature) for name in cell.figures
                ),
            )
            for row in rows
            for cell in row.cells
            for run in cell.runs
        ]

    def notes(self, study: Study, rows: Sequence[Row]) -> list[str]:
        """Explanations below the table."""
        return []

    @abstractmethod
    def draw(self, study: Study, rows: Sequence[Row], file: Path) -> None:
        """Draw the rows into a file."""


class Learning(Measurement):
    """What a protocol measures of models, or of pairs, that learn grammars over channels."""

    def grammars(self, study: Study) -> Sequence[str]:
        """The grammars of which runs are read."""
        return (BASIS, *study.grammars)

    def systems(self, study: Study) -> Iterable[tuple[str, ...]]:
        """What learns: models, or pairs."""
        return ((model,) for model in study.models)

    @abstractmethod
    def run(self, study: Study, found: Found, name: Name) -> Run | None:
        """What a row says of the run of a channel, a system, a grammar and a seed; None if it failed."""

    @abstractmethod
    def row(self, study: Study, link: SupervisedChannel, system: Sequence[str], runs: Runs) -> Row:
        """The row of runs by grammar."""

    def rows(self, study: Study, found: Found) -> list[Row]:
        """A row for each channel and system of which the first grammar was learnt with some seed."""
        rows = []
        for link, system in product(study.channels, self.systems(study)):
            names: dict[str, list[Name]] = {
                grammar: [(str(link), *system, grammar, seed) for seed in study.seeds]
                for grammar in self.grammars(study)
            }
            runs = {
                grammar: [run for name in own if (run := self.run(study, found, name)) is not None]
                for grammar, own in names.items()
            }
            if runs.get(BASIS, True) and any(runs.values()):
                rows.append(self.row(study, link, system, runs))
        return rows

    @abstractmethod
    def about(self, study: Study, row: Row) -> dict[str, Any]:
        """The keys of a row in JSON that only this protocol has."""

    @abstractmethod
    def of_cell(self, row: Row, cell: Cell) -> dict[str, Any]:
        """Those of a cell."""

    def to_json(self, study: Study, rows: Sequence[Row]) -> list[dict[str, Any]]:
        """The rows as JSON-ready data."""
        return [
            {
                **self.about(study, row),
                "parameters": row.parameters,
                "seeds": row.seeds,
                "cells": [
                    {"grammar": cell.name, "runs": cell.runs, **self.of_cell(row, cell)} for cell in row.cells
                ],
                "signature": row.signature,
                "published": row.published,
            }
            for row in rows
        ]


def figure_of(values: Sequence[float], *, published: bool = False) -> Figure | None:
    """The mean of values with its interval; None if there are none."""
    return mean_and_half_width(values, published=published) if values else None


def parameters_of(study: Study, model: str, role: Role) -> int:
    """Number of parameters of a model as counted in the paper."""
    return published_parameters(model, role, study.geometry, study.training.hidden_size)


def floor_of(study: Study, role: Role, grammar: str) -> float:
    """Mean accuracy without learning over the seeds: of each position's most frequent symbol, or chance level."""
    if role == "receiver":
        return 1 / study.geometry.num_values
    made = (language(grammar, study.geometry, seed) for seed in study.seeds)
    return mean_and_half_width([majority_accuracy(each.messages) for each in made])[0]


def accuracy_text(figure: Figure | None, missing: str, **options: Any) -> TableCell:
    """An accuracy with its interval; a word where there is none."""
    return estimate(*figure, 3, is_stacked=True, **options) if figure else nothing(missing)


def mean_of(runs: Sequence[Any], key: str) -> float:
    """The mean of a figure of runs."""
    return float(sum(run[key] for run in runs) / len(runs))


def by_grammar(accuracies: Sequence[tuple[str, float]]) -> str:
    """Accuracies in a line: `CONCAT 0.700, PERM 0.650`."""
    return ", ".join(f"{grammar.upper()} {accuracy:.3f}" for grammar, accuracy in accuracies)
