"""A search for people: its best trials, how to repeat the best one, and which settings matter."""

import json
import shlex
from collections.abc import Mapping
from typing import Any

from ecsuite.eval.sweeps.grids import Settings
from ecsuite.eval.sweeps.study import Base
from ecsuite.eval.views.comparison import setting_heading
from ecsuite.tables.cells import number, text
from ecsuite.tables.table import Column, Table, name_column, number_column, row_of

MOST_ROWS = 10
"""Trials in the table; the others are in the JSON."""


def trials_table(search: Mapping[str, Any]) -> Table:
    """The best trials first, then those that were pruned or failed.

    Args:
        search: The key `search` of `sweep.json`.
    """
    sign = -1 if search["direction"] == "higher" else 1
    trials = sorted(
        search["trials"],
        key=lambda trial: (
            ("done", "pruned", "failed").index(trial["state"]),
            sign * (trial["value"] or 0.0),
            trial["number"],
        ),
    )
    settings = list(trials[0]["settings"])
    columns = [name_column("trial"), *(Column(name, heading=setting_heading(name)) for name in settings)]
    columns.append(number_column(search["objective"], search["objective"]))
    rows = []
    for trial in trials[:MOST_ROWS]:
        is_defined = trial["value"] is not None
        value = number(trial["value"], 4) if is_defined else text(None, shown=trial["state"], role="dim")
        rows.append(
            row_of(text(trial["number"]), *(text(trial["settings"][name]) for name in settings), value)
        )
    return Table(columns=columns, rows=rows)


def search_lines(search: Mapping[str, Any], base: Base) -> list[str]:
    """How many trials there were, the best one with the command that repeats it, and the importance of settings."""
    trials = search["trials"]
    states = [trial["state"] for trial in trials]
    counts = [f"{states.count(state)} {state}" for state in ("done", "pruned", "failed") if state in states]
    lines = [f"{len(trials)} trials: {', '.join(counts)}"]
    if search["best"] is not None:
        best = trials[search["best"]]
        settings = {**base.set, **best["settings"]}
        lines += [
            f"best: trial {best['number']}, {search['objective']} {best['value']:.4f}; to repeat it, a study with",
            f"  base: {base.name}",
            f"  set: {_flow(settings)}",
            "or, with one seed,",
            f"  ecsuite train-game {shlex.quote(base.name)} {_assignments(settings)}",
        ]
    reasons = dict.fromkeys(trial["reason"] for trial in trials if trial["state"] == "failed")
    lines += [f"failed: {reason}" for reason in list(reasons)[:MOST_ROWS]]
    if search["importance"]:
        shares = ", ".join(f"{key} {share:.0%}" for key, share in search["importance"].items())
        lines.append(f"share of the differences between trials (fANOVA): {shares}")
    return lines


def _flow(settings: Settings) -> str:
    """Settings as YAML in one line."""
    return "{" + ", ".join(f"{key}: {_value(value)}" for key, value in settings.items()) + "}"


def _assignments(settings: Settings) -> str:
    return " ".join(f"--set {shlex.quote(f'{key}={_value(value)}')}" for key, value in settings.items())


def _value(value: Any) -> str:
    """A value as YAML, which reads JSON; plain texts without quotes."""
    return value if isinstance(value, str) and value.isidentifier() else json.dumps(value)
