"""Protocol `budget`: accuracy on each grammar after as many updates as CONCAT needs (Perkins 2021, appendices G and J).

CONCAT is trained to a target, every other grammar for exactly as many updates with the same seed; then the accuracy is
measured: Tables 16, 17 and 20. Unlike the number of updates to a target, it is defined for every run.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ecsuite.eval.icy.channels import SupervisedChannel
from ecsuite.eval.icy.drawing import draw_rows
from ecsuite.eval.icy.jobs import Name
from ecsuite.eval.icy.protocol import VERSION as PROTOCOL_VERSION
from ecsuite.eval.icy.published import published_accuracies
from ecsuite.eval.icy.resolved import BASIS, Study
from ecsuite.eval.icy.rows import (
    HERE,
    Cell,
    Found,
    Learning,
    Row,
    Run,
    Runs,
    accuracy_text,
    by_grammar,
    figure_of,
    floor_of,
    mean_of,
    parameters_of,
)
from ecsuite.eval.statistics.estimates import seeds_text
from ecsuite.grammars.geometry import Geometry
from ecsuite.grammars.icy import VERSION as GRAMMARS_VERSION
from ecsuite.tables.cells import Cell as TableCell
from ecsuite.tables.cells import Role, nothing, number
from ecsuite.tables.table import Column, number_column, row_of
from ecsuite.tables.table import Row as TableRow

VERSION = 1
"""Increased whenever the same runs would give different accuracies than before."""
RUN_KEYS = ("seed", "steps", "reached", "accuracy", "floor", "held_out")
"""What a row says of a run."""
RED_BELOW, GREEN_ABOVE = 0.5, 0.8
"""Limits of the colours in the paper's Table 20."""


class Budget(Learning):
    """Accuracies after the updates of CONCAT; none where CONCAT reached the target with no seed."""

    columns = (
        *Learning.columns,
        Column("channel", heading="over"),
        number_column("params"),
        number_column("steps"),
    )

    def run(self, study: Study, found: Found, name: Name) -> Run | None:
        """A run on a grammar."""
        run = found.get(name)
        return {key: run[key] for key in RUN_KEYS} if run and run["is_trained"] else None

    def row(self, study: Study, link: SupervisedChannel, system: Sequence[str], runs: Runs) -> Row:
        """The row of a model over a channel; CONCAT is its first cell."""
        (model,), basis = system, runs[BASIS]
        reached = [run for run in basis if run["reached"]]
        reason = None
        if len(reached) < len(basis):
            best = max(run["accuracy"] for run in basis if not run["reached"])
            reason = (
                f"CONCAT reached {study.training.target:g} with {len(reached)} of {len(basis)} seeds within "
                f"{study.basis_cap:,} updates (others at most {best:.3f}); only those are measured: raise --max-steps "
                "or lower --target"
            )
        seeds = tuple(run["seed"] for run in basis)
        steps = (mean_of(reached, "steps"), None) if reached else None
        return Row(
            model=model,
            role=study.role,
            channel=str(link),
            parameters=parameters_of(study, model, study.role),
            seeds=seeds,
            basis=Cell(name=BASIS, runs=tuple(basis), figures={"steps": steps}),
            cells=tuple(
                Cell(
                    name=grammar,
                    runs=tuple(each),
                    figures={"accuracy": figure_of([run["accuracy"] for run in each])},
                    floors={study.role: floor_of(study, study.role, grammar)},
                )
                for grammar, each in runs.items()
            ),
            reason=reason,
            signature="|".join(
                [
                    f"icy-budget|{study.role}:{model}|{link.signature}|{study.geometry}|grammars:{GRAMMARS_VERSION}",
                    f"seeds:{','.join(map(str, seeds))}|max-steps:{study.basis_cap}",
                    f"{study.training.signature(study.cap)}|budget:{VERSION}|teaching:{PROTOCOL_VERSION}",
                ]
            ),
            published=(
                published_accuracies(model, study.role, link.channel) if study.geometry == Geometry() else {}
            ),
        )

    def about(self, study: Study, row: Row) -> dict[str, Any]:
        """The model, its channel, and the updates."""
        names = {"model": row.model, "role": row.role, "channel": row.channel}
        return {**names, "steps": steps_of(row), "reason": row.reason}

    def of_cell(self, row: Row, cell: Cell) -> dict[str, Any]:
        """The mean accuracy, that without learning, and that on held-out meanings."""
        floor, held_out = cell.floors[row.role], held_out_of(cell)
        return {"mean": cell.mean, "half_width": cell.half_width, "floor": floor, "held_out": held_out}

    def heads(self, row: Row) -> Sequence[TableCell | str | int | None]:
        """The channel, parameters, and updates."""
        assert isinstance(row.parameters, int)
        steps = steps_of(row)
        shown = nothing("never", role="bad") if steps is None else number(steps, 0)
        return row.channel, row.parameters, shown

    def text(self, study: Study, cell: Cell) -> TableCell:
        """An accuracy in the colours of the paper's Table 20."""
        return accuracy_text(cell.figures["accuracy"], "none", role=outcome(cell))

    def below(self, rows: Sequence[Row]) -> list[TableRow]:
        """Accuracies without learning."""
        role = rows[0].role
        what = "most frequent" if role == "sender" else "chance level"
        floors = (number(cell.floors[role], 3) for cell in rows[0].cells)
        return [row_of(what, HERE, None, None, None, *floors, role="dim")]

    def notes(self, study: Study, rows: Sequence[Row]) -> list[str]:
        """What is measured, and where it is missing."""
        unit = "symbols" if rows[0].role == "sender" else "attributes"
        lines = [
            f"{seeds_text(rows[0].seeds)}: accuracy of {unit} after the updates that CONCAT needed with the same seed; "
            f"red below {RED_BELOW:g}, green above {GREEN_ABOVE:g}."
        ]
        lines += [f"{row.model} over {row.channel}: {row.reason}." for row in rows if row.reason]
        for row in rows:
            held_out = [(cell.name, mean) for cell in row.cells if (mean := held_out_of(cell)) is not None]
            if held_out:
                about = f"{row.model} over {row.channel}"
                lines.append(f"{about}, accuracy on held-out meanings: {by_grammar(held_out)}.")
        return [*lines, *(row.signature for row in rows)]

    def draw(self, study: Study, rows: Sequence[Row], file: Path) -> None:
        """Bars by grammar and model."""
        draw_rows(study, rows, file)


def steps_of(row: Row) -> float | None:
    """CONCAT's mean updates to the target, over the seeds that reached it; None if none did."""
    assert row.basis is not None
    return row.basis.mean


def held_out_of(cell: Cell) -> float | None:
    """Mean accuracy on held-out meanings, if any were held out."""
    held_out = [run["held_out"] for run in cell.runs if run["held_out"] is not None]
    return sum(held_out) / len(held_out) if held_out else None


def outcome(cell: Cell) -> Role:
    """Red below an accuracy of 0.5, green above 0.8."""
    if cell.mean is None:
        return ""
    return "bad" if cell.mean < RED_BELOW else "good" if cell.mean > GREEN_ABOVE else ""
