"""What senders and receivers understand of each other, as tables, JSON and a picture."""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.table import Table

from ecsuite.eval.figures.canvas import save
from ecsuite.eval.figures.heat_map import heat_map
from ecsuite.eval.reports.console import Report
from ecsuite.eval.run_metrics.pairings import Pairings
from ecsuite.eval.statistics.crossed_means import CrossedMean

GROUPS = {
    "met": "pairs that met in training",
    "strangers": "pairs of one run that never met",
    "across": "pairs of two runs",
}
"""Pairs that have a mean of their own."""


def report(pairings: Pairings) -> Report:
    """The accuracy of every sender with every receiver, means of pairs that met and of others, and chance."""
    groups = {}
    for name in GROUPS:
        mask = pairings.where(name)
        if mask.any():
            groups[name] = {"pairs": int(mask.sum())} | _mean(pairings.mean(name))
    across = pairings.where("across") & ~np.isnan(pairings.relabelled)
    if across.any():
        groups["relabelled"] = {"pairs": int(across.sum())} | _mean(pairings.mean("across", relabelled=True))
    data = {
        "senders": [agent.name for agent in pairings.senders],
        "receivers": [agent.name for agent in pairings.receivers],
        "accuracy": pairings.accuracy.tolist(),
        "relabelled": [
            [None if np.isnan(each) else each for each in row] for row in pairings.relabelled.tolist()
        ],
        "groups": groups,
        "chance": pairings.chance,
        "num_rounds": pairings.num_rounds,
    }
    tables = [_table("accuracy", pairings, pairings.accuracy)]
    if across.any():
        tables.append(_table("accuracy, symbols renamed", pairings, pairings.relabelled))
    lines = GROUPS | {"relabelled": "pairs of two runs, symbols renamed"}
    notes = [_line(lines[name], found) for name, found in groups.items()]
    notes.append(f"chance level: {pairings.chance:.1%}; {pairings.num_rounds:,} rounds a pair, nobody learns")
    if across.any():
        notes.append("renamed: the one-to-one names of symbols that fit the receiver's partner best")
    return Report(tables=tables, notes=tuple(notes), data=data, draw=partial(_draw, pairings))


def _mean(found: CrossedMean) -> dict[str, Any]:
    return {"accuracy": found.mean, "half_width": found.half_width}


def _line(about: str, found: dict[str, Any]) -> str:
    spread = "" if found["half_width"] is None else f" ± {found['half_width']:.1%}"
    return f"{about}: {found['accuracy']:.1%}{spread} ({found['pairs']})"


def _table(title: str, pairings: Pairings, values: Any) -> Table:
    table = Table(box=SIMPLE_HEAD, pad_edge=False, title=title, title_justify="left")
    table.add_column("sender \\ receiver")
    for agent in pairings.receivers:
        table.add_column(agent.name, justify="right")
    for agent, row in zip(pairings.senders, values, strict=True):
        table.add_row(agent.name, *("-" if np.isnan(each) else f"{each:.1%}" for each in row))
    return table


def _draw(pairings: Pairings, *paths: Path) -> None:
    figure = heat_map(
        pairings.accuracy,
        [agent.name for agent in pairings.senders],
        [agent.name for agent in pairings.receivers],
        title=f"accuracy of every pair (chance {pairings.chance:.0%})",
        names=("sender", "receiver"),
        form=".0%",
        limits=(0.0, 1.0),
    )
    save(figure, *paths)
