"""Studies with pairs: in each round, the speaker sees an object and types a message; the listener chooses an object.

A round is one step of each participant, and speaker and listener alternate. The listener waits for the message of the
same step.

Pages send a heartbeat every second to show that the participant is present. Heartbeats are not stored: after a restart
of the server, all participants count as present at its start.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property, partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ecsuite.corpus import SPEAKER, Corpus
from ecsuite.eval.views.figures.canvas import save
from ecsuite.eval.views.figures.curves import Curve, curves
from ecsuite.grammars.words import stream
from ecsuite.people.database import Database, RefusedError, Row
from ecsuite.people.kinds import (
    BLOCK,
    LETTERS,
    LISTENING,
    SPEAKING,
    BadRequestError,
    LiveKind,
    Mean,
    ParticipantGame,
    Question,
    Queue,
    Record,
    Shown,
    block_names,
    letter_ids,
    mean_cell,
    mean_notes,
    mean_of,
    object_concepts,
)
from ecsuite.people.objects import DATASETS, Dataset, letters_of
from ecsuite.people.pictures import panel_picture
from ecsuite.people.session import show_step
from ecsuite.people.study import AWAY, GAME, LEFT, PAIR, WAITING, Study
from ecsuite.runtime.ragged import Ragged
from ecsuite.tables.cells import INTERVAL
from ecsuite.tables.table import Table, name_column, number_column, row_of

if TYPE_CHECKING:
    from ecsuite.eval.views.console import Report

VERSION = 2
"""Incremented when the same seed gives a different game."""
MAX_MESSAGE = 20
"""Maximum length of a message in letters."""
KEEP_SECONDS = 30.0
"""Interval in seconds at which the heartbeat of a waiting participant is stored, so that the place stays reserved."""
PAIR_QUIZ = {
    "what_matters": Question(
        text="How do the objects differ?",
        choices=("their colour and their shape", "their size", "their rotation"),
        right="their colour and their shape",
    ),
    "who_sees": Question(
        text="Who sees which object is the right one?",
        choices=("the one who types", "the one who chooses", "both"),
        right="the one who types",
    ),
    "points": Question(
        text="When do you both get a point?",
        choices=("when the right object is chosen", "when a message is long", "after every round"),
        right="when the right object is chosen",
    ),
}
"""Questions before the game, by name."""


@dataclass(frozen=True, kw_only=True)
class PairGame(ParticipantGame):
    """One participant's side of the game of a pair."""

    dataset: str
    """One of `DATASETS`."""
    num_rounds: int
    num_choices: int
    """Number of objects that the listener chooses from."""
    seat: int
    """0: the participant speaks in the first round; 1: the partner speaks in the first round."""
    seed: int
    """Seed of the pair."""

    @property
    def objects(self) -> Dataset:
        """The objects."""
        return DATASETS[self.dataset]

    @property
    def signature(self) -> str:
        """Everything that determines the game, except the participants' actions."""
        sizes = f"rounds:{self.num_rounds},choices:{self.num_choices}"
        return f"dataset:{self.dataset}|protocol:{PAIR},{sizes},v:{VERSION}|seed:{self.seed}"

    @cached_property
    def num_examples(self) -> int:
        """Number of rounds."""
        return self.num_rounds

    @cached_property
    def num_steps(self) -> int:
        """Number of rounds."""
        return self.num_rounds

    def _left_in_pass(self, step: int) -> list[int]:
        """Objects that no earlier round of this pass is about, in random order: the target, then all others.

        A pass ends while there are enough for the candidates: as all of them are equally likely to be the target, who
        remembers earlier targets can rule out none.
        """
        number, place = divmod(step, self.objects.num_objects - self.num_choices + 1)
        return [
            int(each) for each in stream(self.seed, f"pass{number}").permutation(self.objects.num_objects)
        ][place:]

    def target(self, step: int) -> int:
        """Target object of a round."""
        return self._left_in_pass(step)[0]

    def shown(self, step: int, num_available: int) -> Shown:
        """Content of a step."""
        return Shown(kind=SPEAKING if step % 2 == self.seat else LISTENING, meaning=self.target(step))

    def candidates(self, step: int) -> list[int]:
        """The objects that the listener chooses from, including the target."""
        rng, (target, *others) = stream(self.seed, f"candidates{step}"), self._left_in_pass(step)
        return [
            int(meaning)
            for meaning in rng.permutation([target, *rng.choice(others, self.num_choices - 1, replace=False)])
        ]

    def name_of(self, meaning: int) -> str:
        """Description of an object in words."""
        return self.objects.description(meaning)

    def chosen(self, step: int, typed: str) -> int | None:
        """Object with the candidate number that a listener typed; None if the number is not valid."""
        is_number = typed.isascii() and typed.isdigit() and 0 < int(typed) <= self.num_choices
        return self.candidates(step)[int(typed) - 1] if is_number else None

    def right_answer(self, step: int, shown: Shown) -> str:
        """Candidate number of the target; empty for a message."""
        return str(self.candidates(step).index(shown.meaning) + 1) if shown.kind == LISTENING else ""

    def is_right(self, step: int, shown: Shown, typed: str) -> bool:
        """Whether a listener chose the target; False for messages, which are judged later."""
        return shown.kind == LISTENING and self.chosen(step, typed) == shown.meaning

    def feedback(self, step: int, shown: Shown, typed: str) -> str:
        """Feedback on a listener's choice `typed`, for the listener or for the speaker."""
        chosen, right = self.chosen(step, typed), self.name_of(shown.meaning)
        if chosen == shown.meaning:
            return f"Right: it was the {right}." if shown.kind == LISTENING else f"Understood: the {right}."
        name = "nothing" if chosen is None else f"the {self.name_of(chosen)}"
        return (
            f"Wrong: it was the {right}."
            if shown.kind == LISTENING
            else f"Your partner chose {name}, not the {right}."
        )

    def view(self, step: int, shown: Shown, names_objects: bool) -> dict[str, Any]:
        """Content of a step for the page, without the message; the listener's content does not reveal the target."""
        if shown.kind == SPEAKING:
            name = self.name_of(shown.meaning) if names_objects else None
            return {"kind": "speak", "name": name, "max_length": MAX_MESSAGE}
        names = [self.name_of(meaning) if names_objects else None for meaning in self.candidates(step)]
        return {"kind": "choice", "choices": names}

    def step_picture(self, step: int, shown: Shown) -> bytes | None:
        """Picture of the speaker's object as PNG."""
        return panel_picture(self.objects, shown.meaning) if shown.kind == SPEAKING else None

    def choice_picture(self, step: int, shown: Shown, position: int) -> bytes | None:
        """Picture of the candidate at a position as PNG."""
        is_there = shown.kind == LISTENING and position < self.num_choices
        return panel_picture(self.objects, self.candidates(step)[position]) if is_there else None

    def response(self, step: int, shown: Shown, typed: str, message: str | None) -> dict[str, str | None]:
        """The columns of a response, with objects instead of candidate numbers."""
        if shown.kind != LISTENING:
            return super().response(step, shown, typed, message)
        chosen = self.chosen(step, typed)
        response = typed if chosen is None else self.name_of(chosen)
        return {"message": message, "response": response, "target": self.name_of(shown.meaning)}


@dataclass(frozen=True, kw_only=True, slots=True)
class PairSuccess:
    """Success of a pair."""

    pair: str
    dataset: str
    num_rounds: int
    """Number of rounds with a choice."""
    has_finished: bool
    """Whether all rounds have a choice."""
    curve: tuple[float, ...]
    """Share of rounds with the right choice in each block of ten rounds."""


class PairsStudy(LiveKind):
    """A study with pairs of people."""

    quiz = PAIR_QUIZ
    waits_for_partner = True
    absent_columns = (
        "chain",
        "generation",
        "counted",
        "left_out_published",
        "left_out_preregistered",
        "accuracy_training",
        "accuracy_held_out",
        "passed_attention",
    )

    def __init__(self, study: Study, database: Database, agents: Any, clock: Callable[[], float]) -> None:
        super().__init__(study, database, agents, clock)
        self._start = clock()
        self._seen: dict[int, float] = {}

    def game(self, row: Mapping[str, Any]) -> PairGame:
        """Game of a participant, given the participant's database row; there may be no partner yet."""
        return PairGame(
            dataset=row["dataset"],
            num_rounds=self.study.rounds,
            num_choices=self.study.choices,
            seat=row.get("seat") or 0,
            seed=row["seed"],
        )

    def signed(self, queue: Queue, token: str, row: Row) -> None:
        """Pair a waiting participant, or end the game of a participant whose partner is gone."""
        now = self._seen[row["id"]] = self.clock()
        if row["stage"] == WAITING:
            if row["last_seen"] < now - KEEP_SECONDS:
                row["last_seen"] = now
            if queue.seconds(token) is None or queue.is_waiting(token):
                self._meet(queue, token, row)
        elif row["stage"] == GAME and self._is_left(row, partner := self.partner(row)):
            row["stage"] = LEFT
            if partner is not None and partner["stage"] == GAME:
                self.database.update(partner["id"], {"stage": AWAY})

    def _meet(self, queue: Queue, token: str, row: Row) -> None:
        """Begin the game with the first waiting participant of the same condition, if there is one."""
        queue.join(token)
        for other_token in queue.before(token):
            other = self.database.participant(other_token)
            if other is not None and (other["stage"], other["dataset"]) == (WAITING, row["dataset"]):
                break
        else:
            return
        number, now = self.database.next_pair(), self.clock()
        seed = int(stream(self.study.seed, f"pair{number}").integers(2**31))
        seats = map(int, stream(seed, "seats").permutation(2))
        for member, member_token, seat in zip((other, row), (other_token, token), seats, strict=True):
            self._seen[member["id"]] = now
            queue.leave(member_token)
            member |= {"pair": number, "seat": seat, "seed": seed}
            show_step(self, member, 0, member["num_available"], now)
        self.database.update(other["id"], other)

    def partner(self, row: Row) -> Row | None:
        """The other participant of a pair; None after a withdrawal."""
        return self.database.partner(row["pair"], row["id"])

    def message(self, row: Row) -> str | None:
        """Message to a listener in the current step; None if there is none yet."""
        partner = self.partner(row)
        message = None if partner is None else self.database.answer(partner["id"], row["step"])
        return None if message is None else str(message["typed"])

    def _is_left(self, row: Row, partner: Row | None) -> bool:
        """Whether the partner has withdrawn (None), is gone, or has exceeded the time of a turn."""
        if partner is None or partner["stage"] in (LEFT, AWAY):
            return True
        if partner["stage"] != GAME:  # the partner has completed all rounds
            return False
        now = self.clock()
        if now - self._seen.get(partner["id"], self._start) > self.study.partner_seconds:
            return True
        began = self._turn_of(partner, row)
        return began is not None and now - max(began, self._start) > self.study.turn_seconds

    def _turn_of(self, row: Row, other: Row) -> float | None:
        """Start time of a participant's turn; None if it is the other's turn."""
        if row["kind"] != LISTENING:
            return float(row["shown_at"])
        message = self.database.answer(other["id"], row["step"])
        return None if message is None else max(float(message["answered_at"]), float(row["shown_at"]))

    def read(self, row: Row, typed: str) -> str:
        """Convert a message to lower-case letters; a listener's answer is returned unchanged.

        Raises:
            BadRequestError: If a message contains anything but letters.
            RefusedError: If a listener has not received a message yet.
        """
        if row["kind"] == SPEAKING:
            if letters_of(typed) != typed.lower():
                raise BadRequestError("Type letters from a to z, and nothing else.")
            return letters_of(typed)
        if self.message(row) is None:
            raise RefusedError("Your partner has not sent a message yet.")
        return typed

    def answered(self, row: Row, entry: Row) -> None:
        """Record on the speaker's message whether the listener chose the target."""
        self._seen[row["id"]] = self.clock()
        if entry["kind"] == LISTENING and (partner := self.partner(row)) is not None:
            self.database.judge(partner["id"], entry["step"], entry["is_right"], entry["points"])
            self.database.update(partner["id"], {"score": partner["score"] + entry["points"]})

    def step_view(self, row: Row, names_objects: bool) -> dict[str, Any]:
        """The object, or the message and the candidates, or a note that the partner types."""
        shown = self.game(row).view(row["step"], Shown(kind=row["kind"], meaning=row["thing"]), names_objects)
        if row["kind"] != LISTENING:
            return shown
        message = self.message(row)
        return {"kind": "partner"} if message is None else {**shown, "message": message}

    def last_feedback(self, row: Row) -> tuple[str, str]:
        """Feedback on the previous round, and `right`, `wrong` or an empty string."""
        step, game = row["step"] - 1, self.game(row)
        if step < 0:
            return "", ""
        shown = game.shown(step, 0)
        listener = row if shown.kind == LISTENING else self.partner(row)
        answer = None if listener is None else self.database.answer(listener["id"], step)
        if answer is None:
            return "Sent.", ""
        return game.feedback(step, shown, answer["typed"]), "right" if answer["is_right"] else "wrong"

    def extra_columns(self, record: Record) -> dict[str, Any]:
        """Column with the pair."""
        return {"pair": record.pair}

    def messages(self, records: Sequence[Record]) -> Mapping[tuple[str | None, int], str]:
        """Messages by pair and step."""
        return {
            (record.pair, answer["step"]): answer["typed"]
            for record in records
            for answer in record.answers
            if answer["kind"] == SPEAKING
        }

    def unjudged(self, records: Sequence[Record]) -> set[tuple[str | None, int]]:
        """Pair and step of a pair's last message if no stored choice answers it.

        The choices of a withdrawn listener are deleted, so that the outcome is unknown.
        """
        answered = {
            (record.pair, answer["step"])
            for record in records
            for answer in record.answers
            if answer["kind"] == LISTENING
        }
        last = {
            (record.pair, answer["step"])
            for record in records
            for answer in record.answers[-1:]
            if answer["kind"] == SPEAKING and not answer["is_right"]
        }
        return last - answered

    def successes(self, records: Sequence[Record]) -> list[PairSuccess]:
        """Success of each pair, from the choices of participants who have not withdrawn."""
        successes = []
        for name, members in pairs_of(records).items():
            rights = {
                answer["step"]: answer["is_right"]
                for record in members
                for answer in record.answers
                if answer["kind"] == LISTENING
            }
            blocks: dict[int, list[int]] = {}
            for step, is_right in sorted(rights.items()):
                blocks.setdefault(step // BLOCK, []).append(is_right)
            successes.append(
                PairSuccess(
                    pair=name,
                    dataset=members[0].row["dataset"],
                    num_rounds=len(rights),
                    has_finished=len(rights) == self.study.rounds,
                    curve=tuple(sum(block) / len(block) for block in blocks.values()),
                )
            )
        return successes

    def report(self, records: Sequence[Record]) -> "Report":
        """Share of rounds in which pairs understood each other, by dataset and block of rounds."""
        from ecsuite.eval.views.console import Report

        pairs = self.successes(records)
        chance = 1 / self.study.choices
        means: dict[str, list[Mean]] = {
            dataset: _means([pair.curve for pair in pairs if pair.dataset == dataset and pair.has_finished])
            for dataset in self.study.datasets
        }
        numbers: dict[str, int] = {
            dataset: sum(pair.dataset == dataset and pair.has_finished for pair in pairs)
            for dataset in self.study.datasets
        }
        return Report(
            tables=[self._table(pairs, means, numbers)],
            notes=(),
            data=self.result({"chance": chance, "pairs": [asdict(pair) for pair in pairs]}),
            draw=partial(_draw, self.study, means, numbers),
        )

    def _table(
        self,
        pairs: Sequence[PairSuccess],
        means: Mapping[str, Sequence[Mean]],
        numbers: Mapping[str, int],
    ) -> Table:
        num_blocks = -(-self.study.rounds // BLOCK)
        columns = [name_column("dataset"), number_column("pairs")]
        columns += [number_column(name, parts=INTERVAL) for name in block_names(num_blocks)]
        rows = []
        for dataset, curve in means.items():
            cells = [mean_cell(mean, 2, (0.0, 1.0)) for mean in [*curve, *[None] * (num_blocks - len(curve))]]
            rows.append(row_of(dataset, numbers[dataset], *cells))
        early = sum(not pair.has_finished for pair in pairs)
        chance = f"chance level {1 / self.study.choices:.2f}"
        notes = mean_notes("mean over pairs that finished", chance, chain.from_iterable(means.values()))
        notes += [f"left out: {early} pairs that did not finish"] if early else []
        title = f"Study {self.study.name}: rounds in which pairs understood each other"
        return Table(columns=columns, rows=rows, title=title, notes=notes + self.simulated_note)

    def corpora(self, records: Sequence[Record]) -> dict[str, Corpus]:
        """Corpus of each pair: one message per round with speaker, listener and success."""
        corpora, unjudged = {}, self.unjudged(records)
        for name, members in pairs_of(records).items():
            messages = [
                (answer, record)
                for record in members
                for answer in record.answers
                if answer["kind"] == SPEAKING
            ]
            messages.sort(key=lambda each: each[0]["step"])
            if messages:
                unknown = {step for pair, step in unjudged if pair == name}
                corpora[name] = self._corpus(name, members, messages, unknown)
        return corpora

    def _corpus(
        self, name: str, members: Sequence[Record], messages: Sequence[tuple[Row, Record]], unknown: set[int]
    ) -> Corpus:
        answers, speakers = [answer for answer, _ in messages], [record.name for _, record in messages]
        dataset, meanings = members[0].row["dataset"], [answer["thing"] for answer in answers]
        partners = {
            record.name: next((other.name for other in members if other is not record), "")
            for record in members
        }
        successes = [None if answer["step"] in unknown else answer["is_right"] for answer in answers]
        return Corpus(
            Ragged.from_rows([letter_ids(letters_of(answer["typed"])) for answer in answers]),
            meanings=np.array([DATASETS[dataset].values(meaning) for meaning in meanings]),
            attribute_names=("colour", "shape"),
            symbol_names=LETTERS,
            **object_concepts(dataset, meanings),
            columns={
                SPEAKER: np.array(speakers),
                "listener": np.array([partners[speaker] for speaker in speakers]),
                "success": np.array(successes),
                "round": np.array([answer["step"] + 1 for answer in answers]),
            },
            metadata={
                "speaker": self.study.speakers[1],
                "pair": name,
                "dataset": dataset,
                "vocab_size": len(LETTERS) - 1,
            },
        )


def pairs_of(records: Sequence[Record]) -> dict[str, list[Record]]:
    """Participants by name of the pair."""
    pairs: dict[str, list[Record]] = {}
    for record in sorted(records, key=lambda record: record.row["pair"] or 0):
        if record.pair is not None:
            pairs.setdefault(record.pair, []).append(record)
    return pairs


def _means(shares: Sequence[Sequence[float]]) -> list[Mean]:
    return [mean_of(block, are_shares=True) for block in zip(*shares, strict=True)]


def _draw(study: Study, means: Mapping[str, Sequence[Mean]], numbers: Mapping[str, int], file: Path) -> None:
    """Plot the share of successful rounds per block, one line per dataset."""
    lines = []
    for dataset, curve in means.items():
        name = f"{dataset} (N={numbers[dataset]} pairs{', simulated' if study.simulated else ''})"
        blocks = [BLOCK * (block + 1) for block in range(len(curve))]
        lines.append(Curve(x=blocks, y=[mean.mean for mean in curve], name=name))
    levels = {"chance": 1 / study.choices}
    save(curves(lines, x="rounds", y="share understood", limits=(0, 1.03), levels=levels), file)
