"""The table of runs that did not end as their settings say: what happened to each."""

from collections.abc import Mapping, Sequence
from typing import Any

from ecsuite.eval.results.sources import Source
from ecsuite.tables.cells import Role, number, text
from ecsuite.tables.table import Column, Table, name_column, number_column, row_of

ROLES: Mapping[str, Role] = {"failed": "bad", "diverged": "bad", "capped": "warning"}
"""What a status stands for."""


def failed_runs(sources: Sequence[Source]) -> list[Source]:
    """The runs that failed, diverged, or were ended by the clock, a stop or pruning."""
    return [source for source in sources if source.status != "done"]


def table_of(sources: Sequence[Source]) -> Table:
    """A row a run: settings, seed, how it ended and why, and its accuracy as far as it came."""
    settings = list(dict.fromkeys(key for source in sources for key in source.settings))
    columns = (
        name_column("run"),
        *(name_column(key) for key in settings),
        number_column("seed"),
        Column("status"),
        number_column("accuracy"),
        Column("why", wraps=True),
    )
    rows = [
        row_of(
            source.name,
            *(text(source.settings.get(key)) for key in settings),
            text(source.seed),
            text(source.status, role=ROLES[source.status]),
            number(source.measures.get("accuracy")),
            text(source.failure or source.ending),
        )
        for source in failed_runs(sources)
    ]
    return Table(columns=columns, rows=rows)


def to_json(sources: Sequence[Source]) -> dict[str, Any]:
    """The runs, JSON-ready."""
    return {
        "failed_runs": [
            {
                "run": source.name,
                "settings": dict(source.settings),
                "seed": source.seed,
                "status": source.status,
                "why": source.failure or source.stopped,
                "measures": source.measures,
            }
            for source in failed_runs(sources)
        ],
        "num_runs": len(sources),
    }
