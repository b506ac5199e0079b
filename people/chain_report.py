"""The report of a study with chains: how structured each generation's language is, and how well it is learned."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ecsuite.eval.statistics.estimates import mean_and_half_width
from ecsuite.eval.views.figures.canvas import save
from ecsuite.eval.views.figures.curves import Curve, curves
from ecsuite.files.format_numbers import with_format
from ecsuite.people.chain_languages import Measured
from ecsuite.people.chains import Chain
from ecsuite.people.findings import Mean
from ecsuite.people.report import LANGUAGE, SIMULATED, mean_cell
from ecsuite.people.study import Study
from ecsuite.tables.cells import INTERVAL, of_some
from ecsuite.tables.table import Table, number_column, row_of

MEASURES = {"topsim": ("topsim", 2), "error": ("error", 2), "num_codes": ("codes", 1)}
"""The measures, their headings and digits."""


def chains_table(study: Study, rows: Sequence[Measured]) -> Table:
    """A row a generation of each language: means over chains."""
    columns = [*LANGUAGE, number_column("generation"), number_column("chains")]
    columns += [number_column(name, heading, parts=INTERVAL) for name, (heading, _) in MEASURES.items()]
    places = dict.fromkeys((row.dataset, row.grammar, row.generation) for row in rows)
    order = {condition: place for place, condition in enumerate(study.conditions)}
    lines = []
    for dataset, grammar, generation in sorted(places, key=lambda each: (order[each[:2]], each[2])):
        those = [
            row
            for row in rows
            if (row.dataset, row.grammar, row.generation) == (dataset, grammar, generation)
        ]
        cells = [
            of_some(mean_cell(_mean(those, name), digits), len(_defined(those, name)), len(those))
            for name, (_, digits) in MEASURES.items()
        ]
        lines.append(row_of(dataset, grammar, generation, len(those), *cells))
    notes = [
        "mean over chains ± half of its 95 % interval (Student's t); generation 0: the first language",
        "n: chains in which a figure is defined, where it is not in all",
        "error: edit distance from what was taught, by the longer length (Kirby et al. 2008); codes: different ones",
    ]
    notes += [SIMULATED] if study.simulated else []
    title = f"Study {study.name}: languages of chains, {study.seen} objects taught, all tested"
    return Table(columns=columns, rows=lines, title=title, notes=notes)


def _defined(rows: Sequence[Measured], name: str) -> list[float]:
    return [float(value) for row in rows if (value := getattr(row, name)) is not None]


def _mean(rows: Sequence[Measured], name: str) -> Mean | None:
    values = _defined(rows, name)
    if not values:
        return None
    mean, half_width = mean_and_half_width(values)
    return Mean(mean=mean, half_width=half_width)


def chains_result(study: Study, rows: Sequence[Measured]) -> dict[str, Any]:
    """The report, JSON-ready."""
    content = {
        "study": study.name,
        "protocol": study.played_protocol,
        "simulated": study.simulated,
        "generations": [row.as_json() for row in rows],
    }
    return with_format("result", content)


def draw_chains(study: Study, rows: Sequence[Measured], file: Path) -> None:
    """Draw topographic similarity and transmission error over generations, a line a chain."""
    panels = {"topsim": "topographic similarity", "error": "transmission error"}
    simulated = " (simulated)" if study.simulated else ""
    lines = []
    for name, panel in panels.items():
        for chain in dict.fromkeys(row.chain for row in rows):
            those = [row for row in rows if row.chain == chain]
            numbers = [row.generation for row in those]
            values = [getattr(row, name) for row in those]
            lines.append(Curve(x=numbers, y=values, name=chain, panel=f"{panel}{simulated}"))
    labels = {f"{panel}{simulated}": name for name, panel in panels.items()}
    save(curves(lines, x="generation", y=labels), file)


def chain_status_rows(study: Study, chains: Sequence[Chain]) -> list[dict[str, Any]]:
    """How far each chain is: generations that have finished, participants at work, and generations that are missing."""
    return [
        {
            "dataset": chain.dataset,
            "grammar": chain.grammar,
            "chain": chain.number,
            "finished": chain.next_generation - 1,
            "at_work": chain.at_work,
            "missing": max(0, study.generations - chain.next_generation + 1),
        }
        for chain in chains
    ]


def chain_status_table(study: Study, chains: Sequence[Chain]) -> Table:
    """`chain_status_rows` as a table."""
    return Table(
        columns=(*LANGUAGE, *map(number_column, ("chain", "finished", "at_work", "missing"))),
        rows=[row_of(*row.values()) for row in chain_status_rows(study, chains)],
        title=f"Study {study.name}: chains of {study.generations} generations",
        notes=[SIMULATED] if study.simulated else [],
    )
