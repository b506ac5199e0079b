"""The figures that the page's script draws: curves over seeds, and the figures of each run by its settings."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from ecsuite.eval.html_report.comparing import ScoreAbout, label
from ecsuite.eval.html_report.overview import shown
from ecsuite.eval.records.source import Source
from ecsuite.eval.reports.canvas import COLOURS
from ecsuite.eval.sweeps.curves import curve_of, layout_of
from ecsuite.eval.sweeps.tables import Table

MAX_MEASURES = 12
"""Most measures whose curves are drawn."""
MAX_CURVES = 400
"""Most combinations of settings with curves: of more, no picture can be read."""
FIRST_MEASURES = ("accuracy", "loss", "length")
"""Measures that come first."""


def chart_data(table: Table, sources: Sequence[Source], about: Sequence[ScoreAbout]) -> dict[str, Any]:
    """What the script draws, JSON-ready.

    Args:
        table: A row for each combination of settings.
        sources: The runs of the table.
        about: What is known of its figures.
    """
    layout = layout_of(table.keys, [row.settings for row in table.rows])
    rows = [dict(zip(table.keys, row.settings, strict=True)) for row in table.rows]
    runs = [
        [source for source in sources if all(source.settings.get(k) == v for k, v in row.items())]
        for row in rows
    ]
    ended = [[source for source in group if source.failure is None and source.is_whole] for group in runs]
    return {
        "keys": list(table.keys),
        "figures": [{"name": each.name, "direction": each.direction} for each in about],
        "palette": list(COLOURS),
        "layout": asdict(layout),
        "rows": [
            {"label": label(row), "settings": list(map(_plain, row.values())), "curves": {}} for row in rows
        ],
        "runs": [
            {
                "row": place,
                "seed": source.seed,
                "values": [source.figures.get(name) for name in table.figures],
            }
            for place, group in enumerate(ended)
            for source in group
        ],
        "curves": _curves(ended) if len(rows) <= MAX_CURVES else {},
    }


def _plain(value: Any) -> str | float:
    """A setting for an axis: a number, or text."""
    return value if isinstance(value, int | float) and not isinstance(value, bool) else shown(value)


def _curves(runs: Sequence[Sequence[Source]]) -> dict[str, list[dict[str, Any] | None]]:
    """By measure, the curve of each row."""
    folders = [
        [each.folder for each in group if each.folder is not None and (each.folder / "log.jsonl").is_file()]
        for group in runs
    ]
    first = next((each for group in folders for each in group), None)
    found = {}
    for measure in _measures(first) if first else ():
        curves = [curve_of(group, measure) for group in folders]
        if any(curve is not None and len(curve.steps) > 1 for curve in curves):
            found[measure] = [None if curve is None else _rounded(asdict(curve)) for curve in curves]
    return found


def _measures(folder: Any) -> list[str]:
    """The measures in the first evaluation of a run."""
    with (folder / "log.jsonl").open("rb") as file:
        try:
            entry = json.loads(file.readline())
        except ValueError:
            return []
    sections = [entry.get(name) for name in ("valid", "metrics")] if isinstance(entry, dict) else []
    names = dict.fromkeys(name for section in sections if isinstance(section, Mapping) for name in section)
    first = [name for name in FIRST_MEASURES if name in names]
    return [*first, *(name for name in names if name not in first)][:MAX_MEASURES]


def _rounded(curve: dict[str, Any]) -> dict[str, Any]:
    return {
        key: [float(f"{each:.4g}") if key != "steps" else each for each in value]
        if isinstance(value, tuple)
        else value
        for key, value in curve.items()
    }
