"""Base classes of the kinds of studies: a participant's game, the page flow, the export and the report."""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
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
"""Kinds of steps: an object that can be unlocked, an object that is never unlocked, an attention check."""
TEST = "test"
"""Kind of the steps of a test, where answers get no feedback."""
SPEAKING, LISTENING = "speaking", "listening"
"""Kinds of steps in a pair's game."""
SPEAKS, LISTENS, NAMES = "round_speaking", "round_listening", "round_test"
"""Kinds of steps in a game of rounds; a naming test has no listener."""
JUDGED_LATER = (TEST, SPEAKING, SPEAKS, LISTENS, NAMES)
"""Kinds of steps whose answers get no immediate feedback."""
KINDS = {
    CODES: "ecsuite.people.codes:CodesStudy",
    WITH_RUN: "ecsuite.people.agents:AgentsStudy",
    WITH_PLAY: "ecsuite.people.rounds:RoundsStudy",
    WITH_CHAINS: "ecsuite.people.chains:ChainsStudy",
    WITH_PAIRS: "ecsuite.people.pairs:PairsStudy",
}
"""Class of each kind of study."""
FULL = "This study has all the participants that it needs. Thank you for your interest."
"""Message for visitors when the study has enough participants."""
SIMULATED = "SIMULATED participants, no people: do not compare these figures with the paper's."
BLOCK = 10
"""Number of examples or rounds per point of a learning curve."""
LANGUAGE = (name_column("dataset", merges=True), name_column("grammar", merges=True))
"""Columns that name a language."""
LETTERS = ("", *(chr(ord("a") + number) for number in range(26)))
"""Symbol names of typed messages; symbol 0 is unused."""
GONE = 15.0
"""Seconds without a heartbeat after which a waiting visitor counts as gone; pages send one every two seconds."""
FORGOTTEN = 86_400.0
"""Seconds after which a visitor who is gone is removed from the queue."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Shown:
    """Content of a step."""

    kind: str
    """Kind of the step, such as `TRAINING`."""
    meaning: int
    """The object; -1 in the attention check."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Question:
    """A multiple-choice question, or a free-text question if there are no choices."""

    text: str
    choices: tuple[str, ...] = ()
    right: str = ""
    """The right choice; empty if no answer is right or wrong."""


QUESTIONS = {
    "strategy": Question(text="How did you work out codes that were not under Training?"),
    "rule": Question(text="If you found a rule in the codes, what is it?"),
    "notes": Question(text="Did you take notes?", choices=("no", "yes, a few", "yes, all codes")),
}
"""Questions after the game, by name."""


class ParticipantGame(ABC):
    """One participant's game: a pure function of its fields.

    Objects are numbered from 0. By default, a game has no training panel and no pictures.
    """

    @property
    @abstractmethod
    def num_steps(self) -> int:
        """Number of examples and attention checks."""

    @property
    @abstractmethod
    def num_examples(self) -> int:
        """Number of examples, without attention checks."""

    @property
    def first_available(self) -> int:
        """Number of objects that are unlocked at the start."""
        return 0

    @property
    def max_available(self) -> int:
        """Number of objects that can be unlocked."""
        return 0

    @property
    def has_pictures(self) -> bool:
        """Whether the page shows pictures of objects; otherwise it shows their names."""
        return True

    def example_of(self, step: int) -> int:
        """Index of a step's example, from 0; for an attention check, of the next example."""
        return step

    @abstractmethod
    def shown(self, step: int, num_available: int) -> Shown:
        """Content of a step for a participant with this number of unlocked objects."""

    def available_after(self, step: int, shown: Shown, num_available: int) -> int:
        """Number of unlocked objects after a step."""
        return 0

    @abstractmethod
    def name_of(self, meaning: int) -> str:
        """Description of an object in words."""

    @abstractmethod
    def right_answer(self, step: int, shown: Shown) -> str:
        """The right answer; empty if no answer is right or wrong."""

    @abstractmethod
    def is_right(self, step: int, shown: Shown, typed: str) -> bool:
        """Whether an answer is right."""

    def feedback(self, step: int, shown: Shown, typed: str) -> str:
        """Text shown after an answer in addition to right or wrong; may be empty."""
        return ""

    def points(self, num_available: int) -> int:
        """Points for a right answer, given the number of unlocked objects when the example was shown."""
        return 1

    def view(self, step: int, shown: Shown, names_objects: bool) -> dict[str, Any]:
        """Content of a step for the page, without the answer and without whether the object is held out."""
        return {}

    def panel(self, num_available: int, names_objects: bool) -> list[dict[str, Any]]:
        """The unlocked objects with their codes."""
        return []

    def step_picture(self, step: int, shown: Shown) -> bytes | None:
        """Picture of a step as PNG; None if it has none."""
        return None

    def choice_picture(self, step: int, shown: Shown, position: int) -> bytes | None:
        """Picture of the candidate object at a position as PNG; None if there is none."""
        return None

    def panel_picture(self, position: int) -> bytes | None:
        """Picture of the unlocked object at a position of the panel as PNG; None if there is none."""
        return None

    def response(self, step: int, shown: Shown, typed: str, message: str | None) -> dict[str, str | None]:
        """The columns `message`, `response` and `target` of `responses.csv`.

        Args:
            step: Number of the step.
            shown: Content of the step.
            typed: The answer as stored.
            message: The message that another participant or agent sent; None if there was none.
        """
        return {"message": message, "response": typed, "target": self.right_answer(step, shown) or None}


@dataclass(frozen=True, kw_only=True, slots=True)
class Record:
    """A participant and the participant's answers."""

    row: Row
    """Database row of the participant."""
    answers: list[Row]
    """Database rows of the answers, by step."""

    @property
    def name(self) -> str:
        """Pseudonym for tables, such as `P001`."""
        return f"P{self.row['id']:03}"

    @property
    def grammar(self) -> str:
        """Canonical name of the grammar; the role in studies with agents, `pair` in pairs, the game in rounds."""
        name = str(self.row["grammar"])
        return name if self.row["dataset"] in (AGENTS, ROUNDS) or name == PAIR else canonical(name)

    @property
    def chain(self) -> str | None:
        """Name of the chain; None without one."""
        row = self.row
        return None if row["chain"] is None else f"{row['dataset']}_{row['grammar']}_{row['chain']}"

    @property
    def pair(self) -> str | None:
        """Name of the pair; None without one."""
        return None if self.row["pair"] is None else f"pair_{self.row['pair']:03}"

    @property
    def has_finished(self) -> bool:
        """Whether the participant reached the last page."""
        return bool(self.row["stage"] == FINISHED)

    @property
    def minutes(self) -> float | None:
        """Minutes from the first example to the last answer; None without answers."""
        if not self.answers:
            return None
        return float(self.answers[-1]["answered_at"] - self.answers[0]["shown_at"]) / 60

    def accuracy(self, kind: str) -> float | None:
        """Share of right answers to examples of a kind; None without such examples."""
        right = [answer["is_right"] for answer in self.answers if answer["kind"] == kind]
        return sum(right) / len(right) if right else None

    @property
    def has_passed_attention(self) -> bool:
        """Whether all attention checks were answered correctly; True without any."""
        return self.accuracy(ATTENTION) in (None, 1.0)


def read_records(database: Database) -> list[Record]:
    """Read all participants of a study with their answers."""
    answers: dict[int, list[Row]] = {}
    for answer in database.answers():
        answers.setdefault(answer["participant"], []).append(answer)
    return [Record(row=row, answers=answers.get(row["id"], [])) for row in database.participants()]


class Queue:
    """Waiting visitors in order of arrival.

    The queue is in memory only: waiting visitors have no data yet, and queue again after a restart of the server.

    Args:
        limit: Maximum waiting time in seconds.
        clock: Returns the time in seconds.
    """

    def __init__(self, limit: float, clock: Callable[[], float]) -> None:
        self._limit, self._clock = limit, clock
        self._times: dict[str, tuple[float, float]] = {}  # times of arrival and of the last heartbeat

    def join(self, key: str) -> None:
        """Record a heartbeat of a waiting visitor; after the maximum waiting time, the wait starts again from 0."""
        now = self._clock()
        self._times = {name: each for name, each in self._times.items() if each[1] >= now - FORGOTTEN}
        if not self.is_waiting(key):
            self.leave(key)
        self._times[key] = (self._times.get(key, (now, now))[0], now)

    def leave(self, key: str) -> None:
        """Remove a visitor."""
        self._times.pop(key, None)

    def seconds(self, key: str) -> float | None:
        """Waiting time of a visitor in seconds; None if the visitor is not in the queue."""
        return self._clock() - self._times[key][0] if key in self._times else None

    def is_waiting(self, key: str) -> bool:
        """Whether a visitor is in the queue, below the maximum waiting time."""
        return key in self._times and self._clock() - self._times[key][0] < self._limit

    def before(self, key: str) -> list[str]:
        """Visitors who arrived earlier and are still present, in order of arrival."""
        earlier = list(self._times)[: list(self._times).index(key)]
        since = self._clock() - GONE
        return [other for other in earlier if self.is_waiting(other) and self._times[other][1] >= since]


class StudyKind(ABC):
    """A study of one kind: its page flow, its export and its report.

    Args:
        study: The settings.
        database: The answers.
        agents: The result of `load_agents`; None to read answers only.
        clock: Returns seconds since 1970.
    """

    waits_for_partner: bool = False
    """Whether the game begins when two participants are paired."""
    absent_columns: tuple[str, ...] = ()
    """Columns of `participants.csv` that this kind of study does not have."""
    trial_words: Mapping[str, str] = {}
    """Columns of `trials.csv` with their descriptions; empty: the export has no such table."""

    def __init__(
        self, study: Study, database: Database, agents: Any = None, clock: Callable[[], float] = time.time
    ) -> None:
        self.study, self.database, self.clock = study, database, clock

    @property
    def quiz(self) -> Mapping[str, Question]:
        """Questions of the quiz before the game; a study without a quiz has no questions after the game either."""
        return {}

    @staticmethod
    def load(study: Study) -> Any:
        """Load the trained agents of the game, or check that the game can be played.

        Raises:
            ConfigError: If people can't play this game.
        """
        return None

    @abstractmethod
    def game(self, row: Mapping[str, Any]) -> ParticipantGame:
        """Game of a participant, given the participant's database row."""

    def place(self, queue: Queue, token: str, number: int, now: float) -> Mapping[str, Any] | None:
        """Assign the next participant to a condition, as database columns; None if the visitor has to wait.

        By default, a random one of the conditions with the fewest active or finished participants.

        Args:
            queue: Waiting visitors.
            token: Token of the visitor.
            number: Number of the participant.
            now: Seconds since 1970.

        Raises:
            RefusedError: If the study has enough participants.
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
        """Table on the last page of a participant; None without one."""
        return None

    def counted(self, records: Sequence[Record]) -> set[int]:
        """Numbers of the participants who are included in the results; by default, all who finished."""
        return {record.row["id"] for record in records if record.has_finished}

    def extra_columns(self, record: Record) -> dict[str, Any]:
        """Columns of `participants.csv` that are specific to this kind of study."""
        return {}

    def messages(self, records: Sequence[Record]) -> Mapping[tuple[str | None, int], str]:
        """Messages between participants, or between participants and agents, by (pair or participant, step)."""
        return {}

    def unjudged(self, records: Sequence[Record]) -> set[tuple[str | None, int]]:
        """The (pair or participant, step) of answers without a known outcome."""
        return set()

    def trials(self, record: Record) -> list[dict[str, Any]]:
        """The answers of a participant as rows of `trials.csv`."""
        return []

    @abstractmethod
    def corpora(self, records: Sequence[Record]) -> "dict[str, Corpus]":
        """The corpora of an export by name."""

    @abstractmethod
    def report(self, records: Sequence[Record]) -> "Report":
        """Report of the results.

        Raises:
            ConfigError: If the study has trained agents, and no participant has begun yet.
        """

    def status(self, records: Sequence[Record], now: float) -> tuple[Table, list[dict[str, Any]]]:
        """Progress of a study as a table and as JSON-ready rows; `now` is in seconds since 1970.

        By default, numbers of participants per condition: finished, active, stopped and still needed.
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
        """Table of rows with a dataset, a grammar and counts."""
        names = list(rows[0])[2:]
        return Table(
            columns=(*LANGUAGE, *map(number_column, names)),
            rows=[row_of(*each.values()) for each in rows],
            title=f"Study {self.study.name}: {title}",
            notes=self.simulated_note,
        )

    @property
    def simulated_note(self) -> list[str]:
        """Note below tables of simulated participants; empty for people."""
        return [SIMULATED] if self.study.simulated else []

    def result(self, content: Mapping[str, Any]) -> dict[str, Any]:
        """JSON document of a report: a header about the study, then the content."""
        study = self.study
        head = {"study": study.name, "protocol": study.played_protocol, "simulated": study.simulated}
        return with_format("result", {**head, **content})


class LiveKind(StudyKind):
    """A kind of study with simultaneous interaction: with a partner, or with a running agent."""

    @abstractmethod
    def signed(self, queue: Queue, token: str, row: Row) -> None:
        """Handle a participant's heartbeat; may change `row`."""

    @abstractmethod
    def read(self, row: Row, typed: str) -> str:
        """Parse an answer to the current step into its stored form.

        Raises:
            BadRequestError: If the answer is not allowed.
            RefusedError: If the step can't be answered now.
        """

    def answered(self, row: Row, entry: Row) -> None:
        """Handle a new answer within its transaction."""

    def stored(self, row: Row, entry: Row) -> None:
        """Handle an answer after its transaction."""

    @abstractmethod
    def step_view(self, row: Row, names_objects: bool) -> dict[str, Any]:
        """Content of the current step for the page."""

    @abstractmethod
    def last_feedback(self, row: Row) -> tuple[str, str]:
        """Feedback on the previous round, and `right`, `wrong` or an empty string."""

    def withdrawn(self, row: Row) -> None:
        """Handle a participant's withdrawal."""

    def close(self) -> None:
        """Interrupt all games; they resume when the study is served again."""


class BadRequestError(RefusedError):
    """A request that the page never sends, or an answer that is not allowed."""


def kind_of(study: Study) -> type[StudyKind]:
    """Import the class of the study's kind."""
    module, _, name = KINDS[study.kind].partition(":")
    kind: type[StudyKind] = getattr(import_module(module), name)
    return kind


def load_agents(study: Study) -> Any:
    """Load the trained agents of a study, if its kind has any; otherwise check that its game can be played.

    Raises:
        ConfigError: If the run does not exist, or people can't play the game.
    """
    return kind_of(study).load(study)


def make_kind(
    study: Study, database: Database, agents: Any = None, clock: Callable[[], float] = time.time
) -> StudyKind:
    """Make the `StudyKind` of a study.

    Args:
        study: The settings.
        database: The answers.
        agents: The result of `load_agents`; None to read answers only.
        clock: Returns seconds since 1970.

    Raises:
        ConfigError: If the stored answers belong to other weights of the agents.
    """
    return kind_of(study)(study, database, agents, clock)


@dataclass(frozen=True, kw_only=True, slots=True)
class Mean:
    """A mean over participants."""

    mean: float
    half_width: float | None
    """Half the width of the 95 % interval (Student's t); None for one participant, and for equal values."""


def mean_of(values: Sequence[float], *, are_shares: bool = False) -> Mean:
    """Mean of values with its 95 % interval, see `mean_and_half_width`."""
    from ecsuite.eval.statistics.estimates import mean_and_half_width

    mean, half_width = mean_and_half_width(values, are_shares=are_shares)
    return Mean(mean=mean, half_width=half_width)


def mean_notes(what: str, remark: str, means: Iterable[Mean | None]) -> list[str]:
    """Notes on the means of a table: their intervals, and means without one."""
    from ecsuite.eval.statistics.estimates import NO_INTERVAL

    interval = f"{what} ± half of its 95 % interval (Student's t; exact for equal shares); {remark}"
    return [interval, *[NO_INTERVAL] * any(mean is not None and mean.half_width is None for mean in means)]


def mean_cell(mean: Mean | None, digits: int, limits: tuple[float, float] | None = None) -> Cell:
    """Table cell of a mean with its interval, within the possible values; a dash if the mean is None."""
    return nothing("-") if mean is None else estimate(mean.mean, mean.half_width, digits, limits=limits)


def block_names(num_blocks: int, size: int = BLOCK) -> list[str]:
    """Ranges of examples of the blocks: 1-10, 11-20 and so on."""
    return [f"{size * block + 1}-{size * (block + 1)}" for block in range(num_blocks)]


def letter_ids(letters: str) -> list[int]:
    """Symbol ids of letters: 1 for a to 26 for z."""
    return [ord(letter) - ord("a") + 1 for letter in letters]


def object_concepts(dataset: str, meanings: Any) -> dict[str, Any]:
    """Corpus fields with the concepts of objects, such as `colour=red`."""
    values = [DATASETS[dataset].values(meaning) for meaning in meanings]
    names = [f"colour={colour}" for colour in COLOURS] + [f"shape={shape}" for shape in SHAPES]
    rows = [[colour, len(COLOURS) + shape] for colour, shape in values]
    return {"concepts": Ragged.from_rows(rows), "concept_names": tuple(names)}
