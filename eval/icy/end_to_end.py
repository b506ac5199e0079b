"""Protocol `end-to-end`: accuracy in the original language of a pretrained pair after end-to-end training.

A sender and a receiver are pretrained on the same language, each to the target. Then both are trained end to end over a
channel, and their accuracy in the original language is measured: at the end (Perkins 2021, Table 18) and during
training (figure 7).
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from ecsuite.eval.icy.channels import SupervisedChannel
from ecsuite.eval.icy.drawing import draw_curves
from ecsuite.eval.icy.jobs import PAIRS_VERSION, ROLES, Name
from ecsuite.eval.icy.protocol import VERSION as PROTOCOL_VERSION
from ecsuite.eval.icy.published import published_pair
from ecsuite.eval.icy.resolved import BASIS, Study
from ecsuite.eval.icy.rows import (
    HERE,
    ORIGIN,
    PAPER,
    Cell,
    Found,
    Learning,
    Row,
    Run,
    Runs,
    accuracy_text,
    figure_of,
    floor_of,
    mean_of,
    parameters_of,
)
from ecsuite.eval.statistics.estimates import seeds_text
from ecsuite.grammars.geometry import Geometry
from ecsuite.grammars.icy import VERSION as GRAMMARS_VERSION
from ecsuite.tables.cells import number, text
from ecsuite.tables.table import Column, Table, name_column, row_of

MEASURES = {
    "sender": "the sender's symbols, compared with the original language",
    "receiver": "the receiver's attribute values for messages of the original language",
    "end_to_end": "the receiver's attribute values for the sender's messages, mean of the last updates",
    "greedy": "the receiver's attribute values for the sender's argmax symbols",
}
"""Accuracies at the end, 0 to 1."""
TAUGHT_KEYS = ("steps", "reached", "accuracy")
"""What a row says of the pretraining of an agent."""
PUBLISHED_STEPS = 10_000
"""Updates end to end in Table 18."""


class EndToEnd(Learning):
    """Accuracies of pairs; those of which an agent did not reach the target in pretraining do not count."""

    def grammars(self, study: Study) -> Sequence[str]:
        """Those of the study."""
        return study.grammars

    def systems(self, study: Study) -> Iterable[tuple[str, ...]]:
        """Senders with their receivers."""
        return zip(study.models, study.receivers, strict=True)

    def run(self, study: Study, found: Found, name: Name) -> Run | None:
        """A run of a pair, trained end to end only if both agents were pretrained to the target."""
        if (*name, "pair") not in found:
            return None
        agents, target = {role: found[*name, role] for role in ROLES}, f"{study.training.target:g}"
        seed = name[-1]
        if not all(agent["is_trained"] for agent in agents.values()):
            reason = f"{BASIS} did not reach accuracy {target} within {study.basis_cap} updates"
            return {"seed": seed, "taught": {}, "reason": reason}
        taught = {role: {key: run[key] for key in TAUGHT_KEYS} for role, run in agents.items()}
        failed = [
            f"{role}: accuracy {run['accuracy']:.3f} of {target} in {run['steps']} updates"
            for role, run in taught.items()
            if not run["reached"]
        ]
        pair = found[*name, "pair"].items()
        trained = {key: value for key, value in pair if key not in ("is_trained", "seconds")}
        return {"seed": seed, "taught": taught, "reason": " and ".join(failed) or None, **trained}

    def row(self, study: Study, link: SupervisedChannel, system: Sequence[str], runs: Runs) -> Row:
        """The row of a pair over a channel."""
        sender, receiver = system
        pairs = zip(ROLES, system, strict=True)
        return Row(
            model=sender,
            receiver=receiver,
            channel=str(link),
            parameters={role: parameters_of(study, model, role) for role, model in pairs},
            seeds=study.seeds,
            cells=tuple(_cell(study, grammar, each) for grammar, each in runs.items()),
            signature="|".join(
                [
                    f"icy-end-to-end|sender:{sender}|receiver:{receiver}|{link.signature}|{study.geometry}",
                    f"grammars:{GRAMMARS_VERSION}|seeds:{','.join(map(str, study.seeds))}",
                    f"supervised:{study.config.supervised}|max-supervised-steps:{study.basis_cap}",
                    f"max-steps:{study.max_steps}|{study.training.signature(study.cap)}",
                    f"end-to-end:{PAIRS_VERSION}|teaching:{PROTOCOL_VERSION}",
                ]
            ),
            published=published_pair(sender, receiver, link.channel) if study.geometry == Geometry() else {},
        )

    def about(self, study: Study, row: Row) -> dict[str, Any]:
        """The pair, its channel, and the updates end to end."""
        names = {"sender": row.model, "receiver": row.receiver, "channel": row.channel}
        return {**names, "max_steps": study.max_steps}

    def of_cell(self, row: Row, cell: Cell) -> dict[str, Any]:
        """Mean and half-width of each measure, runs that do not count, and accuracies without learning."""
        return {"figures": cell.figures, "num_masked": cell.num_left_out, "floors": cell.floors}

    def table(self, study: Study, rows: Sequence[Row]) -> Table:
        """Final accuracies: mean ± half-width of the 95 % interval."""
        columns = [name_column(name, merges=True) for name in ("sender", "receiver", "over")]
        columns += [Column("updates", align="right", merges=True), ORIGIN, Column("accuracy")]
        shown = []
        for row in rows:
            about = (row.model, row.receiver, row.channel, study.max_steps)
            for name in MEASURES:
                figures = (accuracy_text(cell.figures[name], "left out") for cell in row.cells)
                is_last = name == list(MEASURES)[-1] and not row.published
                shown.append(row_of(*about, HERE, name.replace("_", " "), *figures, ends_section=is_last))
            if row.published:
                published = (self.paper(row.published.get(cell.name)) for cell in row.cells)
                after = "" if study.max_steps == PUBLISHED_STEPS else f", {PUBLISHED_STEPS:,}"
                label = text("paper", shown=f"paper{after}")
                shown.append(row_of(*about, PAPER, label, *published, role="dim", ends_section=True))
        for role, what in (("sender", "most frequent symbol"), ("receiver", "chance level")):
            floors = (number(cell.floors[role], 3) for cell in rows[0].cells)
            shown.append(row_of(what, None, None, None, HERE, role, *floors, role="dim"))
        return Table(columns=[*columns, *self.cell_columns(rows[0])], rows=shown)

    def notes(self, study: Study, rows: Sequence[Row]) -> list[str]:
        """What is measured, and which pairs are left out."""
        measures = (f"{name.replace('_', ' ')}: {what}" for name, what in MEASURES.items())
        lines = [f"{seeds_text(rows[0].seeds)}. {'; '.join(measures)}"]
        for row in rows:
            for cell in row.cells:
                pair = f"{row.model} and {row.receiver} over {row.channel}, {cell.name.upper()}"
                reasons = [f"seed {run['seed']}: {run['reason']}" for run in cell.runs if run["reason"]]
                if reasons:
                    count = f"{cell.num_left_out} of {len(cell.runs)} runs"
                    lines.append(f"{pair}: {count} left out ({'; '.join(reasons)}).")
                held_out = [run for run in cell.runs if run.get("held_out") is not None]
                if held_out:
                    lines.append(f"{pair}, greedy on held-out meanings: {mean_of(held_out, 'held_out'):.3f}.")
        return [*lines, *(row.signature for row in rows)]

    def draw(self, study: Study, rows: Sequence[Row], file: Path) -> None:
        """Curves of a single pair, as in figure 7."""
        draw_curves(rows[0], file)


def _cell(study: Study, grammar: str, runs: Sequence[Run]) -> Cell:
    completed = [run for run in runs if run["reason"] is None]
    return Cell(
        name=grammar,
        runs=tuple(runs),
        figures={name: figure_of([run[name] for run in completed]) for name in MEASURES},
        num_left_out=len(runs) - len(completed),
        floors={role: floor_of(study, role, grammar) for role in ROLES},
    )
