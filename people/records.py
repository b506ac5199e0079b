"""What each participant did, in numbers: the rows that the export writes and the report averages."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ecsuite.grammars.icy import canonical
from ecsuite.people.chains import chain_name
from ecsuite.people.database import Database, Row
from ecsuite.people.game import ATTENTION, HELD_OUT, TRAINING
from ecsuite.people.protocols import AGENTS, PAIR, ROUNDS
from ecsuite.people.stages import FINISHED
from ecsuite.people.study import Study


@dataclass(frozen=True, kw_only=True, slots=True)
class Record:
    """One participant."""

    row: Row
    """As stored."""
    answers: list[Row]
    """Their answers by step."""

    @property
    def name(self) -> str:
        """What stands for the participant in tables: `P001`, which says nothing of who it is."""
        return f"P{self.row['id']:03}"

    @property
    def grammar(self) -> str:
        """The canonical name of the language; with agents, the role; of pairs, `pair`; of rounds, the game."""
        name = str(self.row["grammar"])
        return name if self.row["dataset"] in (AGENTS, ROUNDS) or name == PAIR else canonical(name)

    @property
    def chain(self) -> str | None:
        """The name of the chain, None where there is none."""
        row = self.row
        return None if row["chain"] is None else chain_name(row["dataset"], row["grammar"], row["chain"])

    @property
    def pair(self) -> str | None:
        """The name of the pair, None where there is none."""
        return None if self.row["pair"] is None else f"pair_{self.row['pair']:03}"

    @property
    def has_finished(self) -> bool:
        """Whether the last page was reached."""
        return bool(self.row["stage"] == FINISHED)

    @property
    def minutes(self) -> float | None:
        """From the first example to the last answer; None without answers."""
        if not self.answers:
            return None
        return float(self.answers[-1]["answered_at"] - self.answers[0]["shown_at"]) / 60

    def accuracy(self, kind: str) -> float | None:
        """Share of right answers to examples of a kind, None without any."""
        right = [answer["is_right"] for answer in self.answers if answer["kind"] == kind]
        return sum(right) / len(right) if right else None

    @property
    def has_passed_attention(self) -> bool:
        """Whether the attention check was right, or there was none."""
        return self.accuracy(ATTENTION) in (None, 1.0)


def read_records(database: Database) -> list[Record]:
    """All participants of a study."""
    answers: dict[int, list[Row]] = {}
    for answer in database.answers():
        answers.setdefault(answer["participant"], []).append(answer)
    return [Record(row=row, answers=answers.get(row["id"], [])) for row in database.participants()]


def _published(record: Record, study: Study) -> str | None:
    if not record.has_finished:
        return "not finished"
    return "low score" if record.row["score"] < study.min_score else None


def _preregistered(record: Record, study: Study) -> str | None:
    if not record.has_finished:
        return "not finished"
    if not record.has_passed_attention:
        return "attention check"
    return "low accuracy" if (record.accuracy(TRAINING) or 0.0) < study.min_accuracy else None


RULES: dict[str, tuple[str, Callable[[Record, Study], str | None]]] = {
    "published": ("finished, score of at least {min_score:g} (the paper's rule)", _published),
    "preregistered": (
        "finished, passed the attention check, at least {min_accuracy:.0%} right of the unlocked objects",
        _preregistered,
    ),
}
"""By name: what the rule is, and why it leaves a participant out, None if it does not."""


def as_numbers(record: Record, study: Study) -> dict[str, Any]:
    """A participant as a row of a table, JSON-ready; times are seconds from the participant's own start."""
    row = record.row
    finished = row["finished_at"]
    return {
        "participant": record.name,
        "dataset": row["dataset"],
        "grammar": record.grammar,
        "protocol": row["protocol"],
        "seed": row["seed"],
        "stage": row["stage"],
        "seconds": None if finished is None else round(finished - row["started_at"], 3),
        "minutes_of_game": None if record.minutes is None else round(record.minutes, 4),
        "score": row["score"],
        "num_answers": len(record.answers),
        "accuracy_training": record.accuracy(TRAINING),
        "accuracy_held_out": record.accuracy(HELD_OUT),
        "passed_attention": record.has_passed_attention,
        "num_quiz_attempts": row["num_quiz_attempts"],
        "num_looks": sum(answer["num_looks"] for answer in record.answers),
        "names_objects": bool(row["names_objects"]),
        "has_sound": bool(row["has_sound"]),
        **{f"left_out_{name}": reason(record, study) for name, (_, reason) in RULES.items()},
    }
