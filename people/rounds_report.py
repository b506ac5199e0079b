"""The report of a study with a play of rounds: how often each participant and the others succeeded."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

from ecsuite.eval.views.console import Report
from ecsuite.eval.views.figures.canvas import save
from ecsuite.eval.views.figures.curves import Curve, curves
from ecsuite.files.format_numbers import with_format
from ecsuite.games.runs.log import ROUNDS
from ecsuite.people.database import Database, play_folder
from ecsuite.people.findings import BLOCK
from ecsuite.people.plays import successes
from ecsuite.people.records import Record
from ecsuite.people.report import SIMULATED
from ecsuite.people.rounds_game import rounds_game
from ecsuite.people.study import Study
from ecsuite.tables.cells import number
from ecsuite.tables.table import Table, name_column, number_column, row_of


@dataclass(frozen=True, kw_only=True, slots=True)
class Played:
    """The rounds of a participant whose play is over."""

    participant: str
    run: str
    """The run folder of the play, with all rounds and its corpus."""
    rounds: int
    success: float
    """Share of these that succeeded; rounds of tests, in which nobody listens, are not among them."""
    last: float
    """The same of the last rounds, at most `BLOCK`."""
    curve: tuple[float, ...]
    """The same of each block of so many rounds."""


def rounds_report(study: Study, database: Database, records: Sequence[Record]) -> Report:
    """Count the rounds of all participants whose plays are over."""
    played = [found for record in records if (found := _played(study, database, record)) is not None]
    names = ("rounds", "success", f"last {BLOCK}")
    rows = [
        row_of(each.participant, each.rounds, number(each.success, 2), number(each.last, 2), each.run)
        for each in played
    ]
    notes = [f"{len(records) - len(played)} of {len(records)} participants did not finish"]
    notes += [SIMULATED] if study.simulated else []
    table = Table(
        columns=[name_column("participant"), *map(number_column, names), name_column("run")],
        rows=rows, title=f"Study {study.name}: rounds of {study.play} that succeeded", notes=notes,
    )  # fmt: skip
    data = {
        "study": study.name, "protocol": study.played_protocol, "simulated": study.simulated, "play": study.play,
        "participants": [asdict(each) for each in played],
    }  # fmt: skip
    draw = partial(_draw, study, played)
    return Report(tables=[table], notes=(), data=with_format("result", data), draw=draw)


def _played(study: Study, database: Database, record: Record) -> Played | None:
    folder = play_folder(database.file, record.row["id"])
    if not (folder / ROUNDS).is_file():
        return None
    won = [*successes(rounds_game(study, record.row), folder).values()]
    if not won:  # a play that a limit ended before the participant's first round, or of tests alone
        return None
    blocks = [won[start : start + BLOCK] for start in range(0, len(won), BLOCK)]
    last = won[-BLOCK:]
    return Played(
        participant=record.name, run=str(folder), rounds=len(won), success=sum(won) / len(won),
        last=sum(last) / len(last), curve=tuple(sum(block) / len(block) for block in blocks),
    )  # fmt: skip


def _draw(study: Study, played: Sequence[Played], file: Path) -> None:
    """Draw the share of rounds that succeeded by block, a line a participant."""
    lines = [
        Curve(
            x=[min(BLOCK * (block + 1), each.rounds) for block in range(len(each.curve))], y=each.curve,
            name=each.participant,
        )
        for each in played
    ]  # fmt: skip
    save(curves(lines, x="rounds of the participant", y="share that succeeded", limits=(0, 1.03)), file)
