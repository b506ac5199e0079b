"""Figures over settings as a table: a row for each combination, the best figure of each column marked."""

from collections.abc import Sequence
from typing import Any

from ecsuite.eval.results.means import Means
from ecsuite.eval.results.sources import Source
from ecsuite.tables.cells import COUNTED, UNDEFINED, Cell, estimate, nothing, of_some, text
from ecsuite.tables.table import Table, name_column, number_column, row_of

DIGITS = 3
"""Decimals of figures."""
LEFT_OUT = ("failed", "incomplete")
"""Runs that are not in the means, in CSV and frames."""
OF_SOME = "n: runs in which the figure is defined, where it is not in all of the row."


def means_table(means: Means) -> Table:
    """A row a combination of settings, a column a figure; bold: the best, and what no test tells apart from it."""
    columns = [name_column(name, setting_heading(name)) for name in means.keys]
    columns += [
        number_column("runs", parts=LEFT_OUT),
        *(number_column(each, each, parts=COUNTED) for each in means.figures),
    ]
    rows = []
    for each in means.rows:
        left_out = (each.num_failed, each.num_incomplete)
        words = [
            f"{number} {word}"
            for number, word in zip(left_out, ("failed", "not complete"), strict=True)
            if number
        ]
        shown = f"{each.num_runs:,}" + (f" ({', '.join(words)})" if words else "")
        runs = Cell(value=each.num_runs, lines=(shown,), parts=dict(zip(LEFT_OUT, left_out, strict=True)))
        settings = (nothing(UNDEFINED) if value is None else text(value) for value in each.settings)
        cells = [
            of_some(
                estimate(
                    cell.mean,
                    cell.half_width,
                    DIGITS,
                    num_values=cell.num_values,
                    role="best" if cell.is_best else "",
                ),
                cell.num_values,
                each.num_runs,
            )
            for cell in each.cells
        ]
        rows.append(row_of(*settings, runs, *cells))
    some = any(0 < cell.num_values < each.num_runs for each in means.rows for cell in each.cells)
    return Table(columns=columns, rows=rows, notes=[OF_SOME] if some else [])


def noise_notes(sources: Sequence[Source], figures: Sequence[str]) -> list[str]:
    """Whether measures of agents were taken with the noise of the channel, where the channel of a run has some."""
    measures = {name for source in sources for name in source.measures if name in figures}
    states = {
        bool(_setting(source, "evaluation.noise"))
        for source in sources
        if source.is_run and _has_noise(source)
    }
    if not measures or not states:
        return []
    words = "of some runs with the noise of the channel, of others without it (evaluation.noise)"
    if states == {True}:
        words = "with the noise of the channel"
    elif states == {False}:
        words = "without the noise of the channel, which is in training alone (evaluation.noise)"
    return [f"{', '.join(name for name in figures if name in measures)}: {words}."]


def _has_noise(source: Source) -> bool:
    """Whether its channel changes symbols."""
    kind = _setting(source, "channel.noise.kind") or _setting(source, "channel.noise")
    return kind not in (None, "none")


def _setting(source: Source, key: str) -> Any:
    return source.settings[key] if key in source.settings else source.config.get(key)


def setting_heading(name: str) -> tuple[str, ...]:
    """The name of a setting with its section above it, so that a column is as narrow as its values."""
    section, point, rest = name.partition(".")
    return (section + point, rest) if point else (section,)
