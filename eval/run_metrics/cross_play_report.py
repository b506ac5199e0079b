"""What senders and receivers understand of each other, as tables, JSON and a picture."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ecsuite.eval.figures.canvas import save
from ecsuite.eval.figures.heat_map import heat_map
from ecsuite.eval.run_metrics.pairings import Pairings
from ecsuite.eval.statistics.crossed_means import CrossedMean
from ecsuite.eval.views.console import Report
from ecsuite.tables.cells import FEWEST, INTERVAL, estimate, percent
from ecsuite.tables.table import Table, name_column, number_column, row_of

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
    tables.append(_means(groups))
    notes = []
    if any(found["pairs"] >= FEWEST and found["half_width"] is not None for found in groups.values()):
        notes.append(
            "±: half of the 95 % interval of a mean over pairs, from a jackknife over agents, between runs over runs"
        )
    if any(found["pairs"] < FEWEST for found in groups.values()):
        notes.append(f"no interval: of fewer than {FEWEST} pairs it says nothing; train more seeds")
    notes.append(f"chance level: {pairings.chance:.1%}; {pairings.num_rounds:,} rounds a pair, nobody learns")
    if not pairings.is_held_out_alike:
        notes.append(
            "objects are held out by the seed: the rounds are new to agents of the first run, and others were trained "
            "on some of these objects"
        )
    if across.any():
        notes.append("renamed: the one-to-one names of symbols that fit the receiver's partner best")
    return Report(tables=tables, notes=tuple(notes), data=data, draw=partial(_draw, pairings))


def _mean(found: CrossedMean) -> dict[str, Any]:
    return {"accuracy": found.mean, "half_width": found.half_width}


def _means(groups: Mapping[str, dict[str, Any]]) -> Table:
    """The mean of each group of pairs."""
    names = GROUPS | {"relabelled": "pairs of two runs, symbols renamed"}
    rows = []
    for name, found in groups.items():
        half_width = found["half_width"] if found["pairs"] >= FEWEST else None
        rows.append(
            row_of(names[name], found["pairs"], estimate(found["accuracy"], half_width, as_percent=True))
        )
    columns = (
        name_column("group", "means"),
        number_column("pairs"),
        number_column("accuracy", parts=INTERVAL),
    )
    return Table(columns=columns, rows=rows)


def _table(title: str, pairings: Pairings, values: Any) -> Table:
    """The accuracy of each pair."""
    columns = [name_column("sender", "sender \\ receiver")]
    columns += [number_column(agent.name, heading=agent.name) for agent in pairings.receivers]
    rows = [
        row_of(agent.name, *(percent(None if np.isnan(each) else each) for each in accuracies))
        for agent, accuracies in zip(pairings.senders, values.tolist(), strict=True)
    ]
    return Table(columns=columns, rows=rows, title=title)


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
