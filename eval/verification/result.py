"""What a verification found: rows by source, how it ended, and its table."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ecsuite.eval.verification.circumstances import Circumstances
from ecsuite.eval.verification.rows import Row, Verdict, is_number
from ecsuite.eval.views.console import Report
from ecsuite.tables.cells import UNDEFINED, Cell, Role, count, nothing, text
from ecsuite.tables.forms import Form, rendered
from ecsuite.tables.table import Column, Table, as_frame, name_column, number_column, row_of

ROLES: dict[Verdict, Role] = {
    "identical": "good", "agrees": "good", "differs": "bad", "damaged": "bad", "unverifiable": "warning",
    "not verified": "dim",
}  # fmt: skip
"""What a verdict stands for."""
DAMAGED, DIFFERS = 3, 1
"""Exit codes: a file is not what its checksum says; a claim does not hold, or can't be verified."""
PLACES = 4
"""Digits of a value."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Verified:
    """A run or a corpus, and what became of its claims."""

    name: str
    """Its name: settings and seed of the run of a sweep."""
    rows: tuple[Row, ...] = ()
    """A row a claim."""
    seed: int | None = None
    """The seed of the run of a sweep."""
    failure: str | None = None
    """Why the run failed, which therefore claims nothing; None if it did not."""
    circumstances: Circumstances | None = None
    """Where its agents were asked again; None without agents."""

    @property
    def counts(self) -> Counter[Verdict]:
        """Number of rows by verdict."""
        return Counter(row.verdict for row in self.rows)

    @property
    def exit_code(self) -> int:
        """0: all agrees; 1: something differs, or can't be verified; 3: a file is damaged."""
        counts = self.counts
        return DAMAGED if counts["damaged"] else DIFFERS if counts["differs"] or counts["unverifiable"] else 0

    def to_json(self) -> dict[str, Any]:
        """The rows, JSON-ready."""
        found = self.circumstances
        return {
            "name": self.name,
            "seed": self.seed,
            "failure": self.failure,
            "counts": dict(self.counts),
            "there": None if found is None else dict(found.there),
            "here": None if found is None else dict(found.here),
            "rows": [row.to_json() for row in self.rows],
        }


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Verification:
    """What a verification found; it prints as the command's table."""

    place: str
    """What was verified."""
    sources: tuple[Verified, ...]
    """Its runs and corpora."""

    @property
    def rows(self) -> list[Row]:
        """The rows of all sources."""
        return [row for each in self.sources for row in each.rows]

    @property
    def agrees(self) -> bool:
        """Whether everything that was computed agrees, and nothing that was asked for could not be."""
        return self.exit_code == 0

    @property
    def exit_code(self) -> int:
        """The code with which the command ends, see `Verified.exit_code`."""
        return max((each.exit_code for each in self.sources), default=0)

    def __str__(self) -> str:
        """The table and the notes as text."""
        report = self.report()
        return "\n".join(map(str, report.tables)) + "".join(f"{line}\n" for line in report.notes)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """The same in a notebook."""
        report = self.report()
        return rendered(report.tables, Form.HTML, report.notes)

    def to_json(self) -> dict[str, Any]:
        """All rows, JSON-ready."""
        counts = Counter(row.verdict for row in self.rows)
        return {
            "source": self.place,
            "agrees": self.agrees,
            "counts": dict(counts),
            "sources": [each.to_json() for each in self.sources],
        }

    def to_frame(self) -> Any:
        """A row a claim, as a `pandas.DataFrame`.

        Raises:
            ConfigError: If pandas is not installed.
        """
        return as_frame(
            [{"source": each.name, **row.to_json()} for each in self.sources for row in each.rows]
        )

    def report(self) -> Report:
        """Of one source, a row a claim; of several, a row a source and one a claim that does not agree."""
        if len(self.sources) == 1:
            tables = [
                _table([(each.name, row) for each in self.sources for row in each.rows], has_names=False)
            ]
        else:
            others = [
                (each.name, row)
                for each in self.sources
                for row in each.rows
                if row.verdict not in ("identical", "agrees", "not verified")
            ]
            tables = [_summary(self.sources), *([_table(others, has_names=True)] if others else [])]
        return Report(tables=tables, notes=tuple(self._notes()), data=self.to_json())

    def _notes(self) -> Iterator[str]:
        """What is otherwise here, and how many claims agree."""
        changes = dict.fromkeys(
            change for each in self.sources if each.circumstances for change in each.circumstances.changes
        )
        if changes:
            yield f"Otherwise than where it was trained: {'; '.join(changes)}"
        bounds = {
            each.circumstances.bound.share
            for each in self.sources
            if each.circumstances and not each.circumstances.is_same
        }
        if bounds:
            yield (
                f"Agents then agree within {max(bounds):.1%} of a figure; with the same machine, versions, threads "
                "and precision, to the last bit"
            )
        counts = Counter(row.verdict for row in self.rows)
        told = [f"{counts[verdict]:,} {verdict}" for verdict in ROLES if counts[verdict]]
        failed = sum(each.failure is not None for each in self.sources)
        told += (
            [f"{failed:,} failed {'run' if failed == 1 else 'runs'}, which claim nothing"] if failed else []
        )
        yield f"{self.place}: {', '.join(told)}"


def _summary(sources: tuple[Verified, ...]) -> Table:
    """A row a source: how many of its claims have which verdict."""
    shown = [verdict for verdict in ROLES if any(each.counts[verdict] for each in sources)]
    columns = (
        name_column("source"),
        *(number_column(verdict.replace(" ", "_")) for verdict in shown),
        Column("failure", wraps=True, is_shown=any(each.failure for each in sources)),
    )
    rows = [
        row_of(
            each.name,
            *(_counted(each.counts[verdict], verdict) for verdict in shown),
            text(each.failure, role="warning") if each.failure else nothing(),
        )
        for each in sources
    ]
    return Table(columns=columns, rows=rows)


def _counted(number: int, verdict: Verdict) -> Cell:
    return count(number, role=ROLES[verdict] if number else "dim")


def _table(rows: list[tuple[str, Row]], *, has_names: bool) -> Table:
    """A row a claim, with the name of its source where there are several."""
    columns = (
        Column("source", is_key=True, merges=True, is_shown=has_names),
        Column("verdict"),
        name_column("claim"),
        number_column("claimed"),
        number_column("here"),
        number_column("difference"),
        Column("reason", wraps=True, is_shown=any(row.reason for _, row in rows)),
    )
    return Table(
        columns=columns,
        rows=[
            row_of(
                name,
                text(row.verdict, role=ROLES[row.verdict]),
                text(row.name),
                _value(row.claimed, row),
                _value(row.here, row),
                _difference(row),
                text(row.reason) if row.reason else nothing(),
            )
            for name, row in rows
        ],
    )


def _value(value: Any, row: Row) -> Cell:
    """A value: undefined ones have a mark, files have none."""
    if is_number(value):
        shown = f"{value:,}" if isinstance(value, int) else f"{value:.{PLACES}g}"
        return Cell(value=value, lines=(shown,))
    return text(value) if value is not None else nothing("" if row.kind == "file" else UNDEFINED)


def _difference(row: Row) -> Cell:
    if not row.difference:
        return nothing()
    return Cell(value=row.difference, lines=(f"{row.difference:+.2g}",))
