"""Kinds of studies: what a participant's game, its export and its report have in common."""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from ecsuite.files.format_numbers import with_format
from ecsuite.grammars.icy import canonical
from ecsuite.grammars.words import stream
from ecsuite.people.database import Database, RefusedError, Row
from ecsuite.people.objects import COLOURS, DATASETS, SHAPES
from ecsuite.people.study import (
    AGENTS,
    ANY_NUMBER,
    CODES,
    FINISHED,
    PAIR,
    ROUNDS,
    WITH_CHAINS,
    WITH_PAIRS,
    WITH_PLAY,
    WITH_RUN,
    Study,
)
from ecsuite.runtime.ragged import Ragged
from ecsuite.tables.cells import Cell, estimate, nothing
from ecsuite.tables.table import Table, name_column, number_column, row_of

if TYPE_CHECKING:
    from ecsuite.corpus import Corpus
    from ecsuite.eval.views.console import Report

TRAINING, HELD_OUT, ATTENTION = "training", "held_out", "attention"
"""Kinds of steps of games about a language: an unlocked object, one that never is unlocked, an attention check."""
TEST = "test"
"""Kind of the steps of a test, whose answers have no feedback."""
SPEAKING, LISTENING = "speaking", "listening"
"""Kinds of steps of a pair."""
SPEAKS, LISTENS, NAMES = "round_speaking", "round_listening", "round_test"
"""Kinds of steps of a play of rounds; in a test nobody listens."""
JUDGED_LATER = (TEST, SPEAKING, SPEAKS, LISTENS, NAMES)
"""Kinds of steps whose participant is not told at once whether the answer is right."""
KINDS = {
    CODES: "ecsuite.people.codes:CodesStudy",
    WITH_RUN: "ecsuite.people.agents:AgentsStudy",
    WITH_PLAY: "ecsuite.people.rounds:RoundsStudy",
    WITH_CHAINS: "ecsuite.people.chains:ChainsStudy",
    WITH_PAIRS: "ecsuite.people.pairs:PairsStudy",
}
"""Class of each kind of study."""
FULL = "This study has all the participants that it needs. Thank you for your interest."
"""Message for visitors who come when nobody more is wanted."""
SIMULATED = (
    "SIMULATED participants: nothing here is of people, and none of it belongs beside the paper's figures."
)
BLOCK = 10
"""Examples or rounds of a point of a learning curve."""
LANGUAGE = (name_column("dataset", merges=True), name_column("grammar", merges=True))
"""Columns that name a language."""
LETTERS = ("", *(chr(ord("a") + number) for number in range(26)))
"""Names of the symbols of what people type; no message has the first, 0."""
GONE = 15.0
"""Seconds without a sign after which a waiting visitor has gone: pages give a sign every two seconds."""
FORGOTTEN = 86_400.0
"""Seconds after which a visitor who has gone is forgotten."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Shown:
    """Content of a step."""

    kind: str
    """Kind of the step, such as `TRAINING`."""
    meaning: int
    """The object; -1 in the attention check."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Question:
    """A question with choices, of which one is right; without choices, one with a free reply."""

    text: str
    choices: tuple[str, ...] = ()
    right: str = ""
    """The right choice, if there is one."""


QUESTIONS = {
    "strategy": Question(text="How did you work out codes that were not under Training?"),
    "rule": Question(text="If you found a rule in the codes, what is it?"),
    "notes": Question(text="Did you take notes?", choices=("no", "yes, a few", "yes, all codes")),
}
"""Questions after the game, by name."""


class ParticipantGame(ABC):
    """One participant's game: a pure function of its fields.

    Objects are numbered from 0. The defaults are those of a game that teaches nothing and shows no pictures.
    """

    @property
    @abstractmethod
    def num_steps(self) -> int:
        """Examples and attention checks."""

    @property
    @abstractmethod
    def num_examples(self) -> int:
        """Examples, without attention checks."""

    @property
    def first_available(self) -> int:
        """Objects that are unlocked at the start."""
        return 0

    @property
    def max_available(self) -> int:
        """Objects that can be unlocked."""
        return 0

    @property
    def has_pictures(self) -> bool:
        """Whether objects are shown by pictures; otherwise by their names alone."""
        return True

    def example_of(self, step: int) -> int:
        """Example of a step, from 0; for an attention check, the one that follows it."""
        return step

    @abstractmethod
    def shown(self, step: int, num_available: int) -> Shown:
        """Content of a step for a participant with this number of unlocked objects."""

    def available_after(self, step: int, shown: Shown, num_available: int) -> int:
        """Unlocked objects after a step."""
        return 0

    @abstractmethod
    def name_of(self, meaning: int) -> str:
        """An object in words."""

    @abstractmethod
    def right_answer(self, step: int, shown: Shown) -> str:
        """The right answer; empty where nothing is right or wrong."""

    @abstractmethod
    def is_right(self, step: int, shown: Shown, typed: str) -> bool:
        """Whether an answer is right."""

    def feedback(self, step: int, shown: Shown, typed: str) -> str:
        """Feedback to an answer in addition to whether it is right; may be empty."""
        return ""

    def points(self, num_available: int) -> int:
        """Points of a right answer, by the unlocked objects when the example was shown."""
        return 1

    def view(self, step: int, shown: Shown, names_objects: bool) -> dict[str, Any]:
        """Content of a step for the page: nothing that gives the answer away, nor whether it is held out."""
        return {}

    def panel(self, num_available: int, names_objects: bool) -> list[dict[str, Any]]:
        """The unlocked objects with their codes."""
        return []

    def step_picture(self, step: int, shown: Shown) -> bytes | None:
        """Picture of a step as PNG, if it has one."""
        return None

    def choice_picture(self, step: int, shown: Shown, position: int) -> bytes | None:
        """Picture of an object to choose as PNG, by its position, if there is one."""
        return None

    def panel_picture(self, position: int) -> bytes | None:
        """Picture of an unlocked object as PNG, by its position in the panel, if it has one."""
        return None

    def response(self, step: int, shown: Shown, typed: str, message: str | None) -> dict[str, str | None]:
        """The columns `message`, `response` and `target` of `responses.csv`.

        Args:
            step: Number of the step.
            shown: Its content.
            typed: The answer as stored.
            message: The message of the step, if another participant or agent sent one.
        """
        return {"message": message, "response": typed, "target": self.right_answer(step, shown) or None}


@dataclass(frozen=True, kw_only=True, slots=True)
class Record:
    """A participant and the answers."""

    row: Row
    """The participant as stored."""
    answers: list[Row]
    """Answers by step."""

    @property
    def name(self) -> str:
        """Name in tables, such as `P001`, which does not identify anybody."""
        return f"P{self.row['id']:03}"

    @property
    def grammar(self) -> str:
        """Canonical name of the language; with agents, the role; in pairs, `pair`; in rounds, the game."""
        name = str(self.row["grammar"])
        return name if self.row["dataset"] in (AGENTS, ROUNDS) or name == PAIR else canonical(name)

    @property
    def chain(self) -> str | None:
        """Name of the chain, if there is one."""
        row = self.row
        return None if row["chain"] is None else f"{row['dataset']}_{row['grammar']}_{row['chain']}"

    @property
    def pair(self) -> str | None:
        """Name of the pair, if there is one."""
        return None if self.row["pair"] is None else f"pair_{self.row['pair']:03}"

    @property
    def has_finished(self) -> bool:
        """Whether the last page was reached."""
        return bool(self.row["stage"] == FINISHED)

    @property
    def minutes(self) -> float | None:
        """Minutes from the first example to the last answer; None without answers."""
        if not self.answers:
            return None
        return float(self.answers[-1]["answered_at"] - self.answers[0]["shown_at"]) / 60

    def accuracy(self, kind: str) -> float | None:
        """Share of right answers to examples of a kind, None without any."""
        right = [answer["is_right"] for answer in self.answers if answer["kind"] == kind]
        return sum(right) / len(right) if right else None

    @property
    def has_passed_attention(self) -> bool:
        """Whether the attention checks were right, or there was none."""
        return self.accuracy(ATTENTION) in (None, 1.0)


def read_records(database: Database) -> list[Record]:
    """All participants of a study."""
    answers: dict[int, list[Row]] = {}
    for answer in database.answers():
        answers.setdefault(answer["participant"], []).append(answer)
    return [Record(row=row, answers=answers.get(row["id"], [])) for row in database.participants()]


class Queue:
    """Visitors who wait, in the order of arrival.

    Nothing of it is stored, since who waits has given nothing yet. After a restart of the server they wait anew.

    Args:
        limit: Longest time to wait, in seconds.
        clock: Seconds.
    """

    def __init__(self, limit: float, clock: Callable[[], float]) -> None:
        self._limit, self._clock = limit, clock
        self._times: dict[str, tuple[float, float]] = {}  # of arrival and of the last sign

    def join(self, key: str) -> None:
        """Note a sign of a waiting visitor; who has waited too long begins to wait anew."""
        now = self._clock()
        self._times = {name: each for name, each in self._times.items() if each[1] >= now - FORGOTTEN}
        if not self.is_waiting(key):
            self.leave(key)
        self._times[key] = (self._times.get(key, (now, now))[0], now)

    def leave(self, key: str) -> None:
        """Remove a visitor."""
        self._times.pop(key, None)

    def seconds(self, key: str) -> float | None:
        """Seconds for which a visitor has waited; None if the visitor does not wait."""
        return self._clock() - self._times[key][0] if key in self._times else None

    def is_waiting(self, key: str) -> bool:
        """Whether a visitor waits, and not too long yet."""
        return key in self._times and self._clock() - self._times[key][0] < self._limit

    def before(self, key: str) -> list[str]:
        """Visitors who came earlier and are still there, the first first."""
        earlier = list(self._times)[: list(self._times).index(key)]
        since = self._clock() - GONE
        return [other for other in earlier if self.is_waiting(other) and self._times[other][1] >= since]


class StudyKind(ABC):
    """A study of one kind: its page flow, its export and its report.

    Args:
        study: The settings.
        database: The answers.
        agents: The trained agents of `load_agents`; None to read answers only.
        clock: Seconds since 1970.
    """

    waits_for_partner: bool = False
    """Whether the game begins when two participants have met."""
    absent_columns: tuple[str, ...] = ()
    """Columns of `participants.csv` that this kind of study does not have."""
    trial_words: Mapping[str, str] = {}
    """Columns of `trials.csv` with their meaning; empty: there is no such table."""

    def __init__(
        self, study: Study, database: Database, agents: Any = None, clock: Callable[[], float] = time.time
    ) -> None:
        self.study, self.database, self.clock = study, database, clock

    @property
    def quiz(self) -> Mapping[str, Question]:
        """The quiz before the game; without one, there are no questions after it."""
        return {}

    @staticmethod
    def load(study: Study) -> Any:
        """Load the agents that the game needs, or check that it can be played.

        Raises:
            ConfigError: If people can't play this game.
        """
        return None

    @abstractmethod
    def game(self, row: Mapping[str, Any]) -> ParticipantGame:
        """The game of a participant, who is given as stored."""

    def place(self, queue: Queue, token: str, number: int, now: float) -> Mapping[str, Any] | None:
        """The condition of the next participant as columns; None if the visitor has to wait.

        Here, a condition with the fewest participants who have finished or are at work.

        Args:
            queue: Visitors who wait.
            token: The visitor's.
            number: Number of the participant.
            now: Seconds since 1970.

        Raises:
            RefusedError: If nobody more is wanted.
        """
        study = self.study
        since = [now - study.place_seconds(has_begun) for has_begun in (True, False)]
        counts = self.database.condition_counts(*since)
        fewest = min(counts.get(condition, 0) for condition in study.conditions)
        if fewest >= study.wanted:
            raise RefusedError(FULL)
        candidates = [each for each in study.conditions if counts.get(each, 0) == fewest]
        chosen = candidates[int(stream(study.seed, f"condition{number}").integers(len(candidates)))]
        return dict(zip(("dataset", "grammar"), chosen, strict=True))

    def result_table(self, row: Row) -> dict[str, Any] | None:
        """Table of the last page of a participant, if there is one."""
        return None

    def counted(self, records: Sequence[Record]) -> set[int]:
        """Numbers of the participants who count: here, those who have finished."""
        return {record.row["id"] for record in records if record.has_finished}

    def extra_columns(self, record: Record) -> dict[str, Any]:
        """Columns of `participants.csv` that only this kind of study has."""
        return {}

    def messages(self, records: Sequence[Record]) -> Mapping[tuple[str | None, int], str]:
        """Messages by pair or participant and step, where another participant or agent takes part."""
        return {}

    def unjudged(self, records: Sequence[Record]) -> set[tuple[str | None, int]]:
        """Pair or participant and step of answers of which it is not known whether they were understood."""
        return set()

    def trials(self, record: Record) -> list[dict[str, Any]]:
        """The answers of a participant as rows of `trials.csv`."""
        return []

    @abstractmethod
    def corpora(self, records: Sequence[Record]) -> "dict[str, Corpus]":
        """The corpora of an export by name."""

    @abstractmethod
    def report(self, records: Sequence[Record]) -> "Report":
        """The report.

        Raises:
            ConfigError: If it is about trained agents, and nobody has begun yet.
        """

    def status(self, records: Sequence[Record], now: float) -> tuple[Table, list[dict[str, Any]]]:
        """Progress of a study as a table and JSON-ready; `now` is in seconds since 1970.

        Here, counts by condition of participants who have finished, are at work, have stopped or are missing.
        """
        study, rows = self.study, []
        for dataset, grammar in study.conditions:
            rows_of = [
                each for each in records if (each.row["dataset"], each.row["grammar"]) == (dataset, grammar)
            ]
            finished = sum(each.has_finished for each in rows_of)
            at_work = sum(not each.has_finished and study.keeps_place(each.row, now) for each in rows_of)
            counts = {"finished": finished, "at_work": at_work, "stopped": len(rows_of) - finished - at_work}
            missing = max(0, study.wanted - finished)
            rows.append({"dataset": dataset, "grammar": grammar, **counts, "missing": missing})
        wanted = f"{study.wanted} participants wanted"
        if study.participants == ANY_NUMBER:
            wanted = "any number of participants"
        condition = "role" if study.run else "game" if study.play else "language of a dataset"
        return self.status_table(rows, f"{wanted} for each {condition}"), rows

    def status_table(self, rows: Sequence[Mapping[str, Any]], title: str) -> Table:
        """Rows with a dataset, a grammar and counts as a table."""
        names = list(rows[0])[2:]
        return Table(
            columns=(*LANGUAGE, *map(number_column, names)),
            rows=[row_of(*each.values()) for each in rows],
            title=f"Study {self.study.name}: {title}",
            notes=self.simulated_note,
        )

    @property
    def simulated_note(self) -> list[str]:
        """The note below tables of simulated participants."""
        return [SIMULATED] if self.study.simulated else []

    def result(self, content: Mapping[str, Any]) -> dict[str, Any]:
        """The JSON document of a report with this content after the study's settings."""
        study = self.study
        head = {"study": study.name, "protocol": study.played_protocol, "simulated": study.simulated}
        return with_format("result", {**head, **content})


class LiveKind(StudyKind):
    """A kind of study in which others take part at the same time: a partner, or an agent that runs."""

    @abstractmethod
    def signed(self, queue: Queue, token: str, row: Row) -> None:
        """Handle a sign that a participant is there; `row` may be changed."""

    @abstractmethod
    def read(self, row: Row, typed: str) -> str:
        """An answer to the present step as it is stored.

        Raises:
            BadRequestError: If the answer is none of those that are allowed.
            RefusedError: If nothing can be answered now.
        """

    def answered(self, row: Row, entry: Row) -> None:
        """Handle a new answer within its transaction."""

    def stored(self, row: Row, entry: Row) -> None:
        """Handle an answer that is stored."""

    @abstractmethod
    def step_view(self, row: Row, names_objects: bool) -> dict[str, Any]:
        """Content of the present step for the page."""

    @abstractmethod
    def last_feedback(self, row: Row) -> tuple[str, str]:
        """Feedback on the round before, and `right`, `wrong` or an empty text."""

    def withdrawn(self, row: Row) -> None:
        """Handle that a participant withdraws."""

    def close(self) -> None:
        """End all games; they go on when the study is served again."""


class BadRequestError(RefusedError):
    """A request that the page does not send, or an answer that is not allowed."""


def kind_of(study: Study) -> type[StudyKind]:
    """Import the class of the study's kind."""
    module, _, name = KINDS[study.kind].partition(":")
    kind: type[StudyKind] = getattr(import_module(module), name)
    return kind


def load_agents(study: Study) -> Any:
    """The agents of a study, if it has some; the players of rounds are asked in their rounds.

    Raises:
        ConfigError: If there is no such run, or people can't play its game, or the play of rounds.
    """
    return kind_of(study).load(study)


def make_kind(
    study: Study, database: Database, agents: Any = None, clock: Callable[[], float] = time.time
) -> StudyKind:
    """A study of its kind.

    Args:
        study: The settings.
        database: The answers.
        agents: The trained agents of `load_agents`; None to read answers only.
        clock: Seconds since 1970.

    Raises:
        ConfigError: If answers were given about other weights of the agents.
    """
    return kind_of(study)(study, database, agents, clock)


@dataclass(frozen=True, kw_only=True, slots=True)
class Mean:
    """A mean over participants."""

    mean: float
    half_width: float | None
    """Half the width of its 95 % interval (Student's t); None for one participant."""


def mean_of(values: Sequence[float]) -> Mean:
    """The mean of values with its interval."""
    from ecsuite.eval.statistics.estimates import mean_and_half_width

    mean, half_width = mean_and_half_width(values)
    return Mean(mean=mean, half_width=half_width)


def mean_cell(mean: Mean | None, digits: int) -> Cell:
    """A mean over participants with its interval; a dash without one."""
    return nothing("-") if mean is None else estimate(mean.mean, mean.half_width, digits)


def block_names(num_blocks: int, size: int = BLOCK) -> list[str]:
    """The examples of each block: 1-10, 11-20 and so on."""
    return [f"{size * block + 1}-{size * (block + 1)}" for block in range(num_blocks)]


def letter_ids(letters: str) -> list[int]:
    """Letters from a to z as ids from 1."""
    return [ord(letter) - ord("a") + 1 for letter in letters]


def object_concepts(dataset: str, meanings: Any) -> dict[str, Any]:
    """The concepts of objects, such as `colour=red`, as fields of a corpus."""
    values = [DATASETS[dataset].values(meaning) for meaning in meanings]
    names = [f"colour={colour}" for colour in COLOURS] + [f"shape={shape}" for shape in SHAPES]
    rows = [[colour, len(COLOURS) + shape] for colour, shape in values]
    return {"concepts": Ragged.from_rows(rows), "concept_names": tuple(names)}
