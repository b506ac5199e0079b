"""The plays of rounds of a study: each participant has one, which runs in a thread and waits where they are asked.

What a person answers is stored in the database first, and then kept in the play's run folder as what a model says. So
a play goes on after a restart of the server: it is resumed, and gets the answers that it had not kept yet.
"""

import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from threading import Condition, Thread
from typing import Any

import msgspec

from ecsuite.games.config.experiment import ignore
from ecsuite.games.config.sections import Experiment
from ecsuite.games.runs.log import ROUNDS
from ecsuite.games.training.train import train
from ecsuite.language_models.asking import KeptAnswers
from ecsuite.language_models.backend import PERSON, Person, Request
from ecsuite.people.database import Database, Row, play_folder
from ecsuite.people.rounds_game import NAMES, RoundsGame, rounds_game, with_person
from ecsuite.people.study import Study
from ecsuite.runtime.printable import printable

STOPPED = "The game is interrupted. Those who invited you see why; it goes on from here."
"""What a person is told when others can't go on."""

END_SECONDS = 2.0
"""How long the server waits for the end of a play."""


class _EndedError(Exception):
    """The play is ended."""


class Seat(Person):
    """A play in a thread, and the question that its person has before them.

    Args:
        experiment: The play.
        game: The person's side of it.
        folder: Its run folder.
        given: What the person has answered, by step.
    """

    def __init__(
        self, experiment: Experiment, game: RoundsGame, folder: Path, given: Mapping[int, str]
    ) -> None:
        super().__init__()
        self.game, self.folder = game, folder
        kept = KeptAnswers(folder, is_read_only=True).replies.values()
        self.step = sum(reply.model == PERSON for reply in kept)
        self.request: Request | None = None
        self.outcomes: dict[int, tuple[str, bool]] = {}
        """By step, what came of its round, in words, and whether it succeeded."""
        self.judged: set[int] = set()
        """Steps of which the database has that."""
        self.is_done = self.has_failed = self._is_removed = False
        self._given, self._changed = dict(given), Condition()
        self._thread = Thread(target=self._play, args=(experiment,), daemon=True)
        self._thread.start()

    def _play(self, experiment: Experiment) -> None:
        try:
            train(
                experiment,
                self.folder,
                resume=True,
                person=self,
                progress=lambda *_: None,
                note=ignore,
            )
            self.is_done = True
        except Exception as error:  # told at the server's terminal, and by `STOPPED`
            if not self.is_over.is_set():
                self.has_failed = True
                sys.stderr.write(f"{self.folder}: {printable(str(error))}\n")
        finally:
            if self._is_removed:
                shutil.rmtree(self.folder, ignore_errors=True)

    def answer(self, request: Request) -> str:
        """Wait for the answer to a question."""
        with self._changed:
            before = self.step - 1
            if before >= 0 and request.past and self.game.rounds[before][1].kind != NAMES:
                last = request.past[-1]
                self.outcomes[before] = self.game.outcome(before, last), last.success
            self.request = request
            self._changed.wait_for(lambda: self.step in self._given or self.is_over.is_set())
            if self.is_over.is_set():
                raise _EndedError
            self.request = None
            self.step += 1
            return self._given.pop(self.step - 1)

    def read(self, step: int, typed: str) -> str | None:
        """What an answer to the open question means: a choice by its number, or a message; None: nothing."""
        with self._changed:
            request = self.request if self.step == step else None
        if request is None:
            return None
        if not request.choices:
            return request.allowed.read(typed)
        is_number = typed.isascii() and typed.isdigit() and 0 < int(typed) <= len(request.choices)
        return request.choices[int(typed) - 1] if is_number else None

    def give(self, step: int, answer: str) -> None:
        """Answer the question of a step."""
        with self._changed:
            self._given[step] = answer
            self._changed.notify()

    def end(self, *, is_removed: bool) -> None:
        """End the play at the next question; its folder may then be removed."""
        with self._changed:
            self._is_removed = is_removed
            self.is_over.set()
            self._changed.notify()
        self._thread.join(END_SECONDS)
        if self._thread.is_alive():
            sys.stderr.write(f"{self.folder}: waiting for models that were asked, whose answers are kept\n")

    def view(self, step: int) -> dict[str, Any]:
        """What the page shows: the prompt with what may be answered, or that others are at work."""
        with self._changed:
            request = self.request if self.step == step else None
        if request is None:
            return {"kind": "partner"}
        text = "\n\n".join(part for part in (request.system, request.user) if part)
        return {
            "kind": "round", "name": text, "choices": list(request.choices), "rule": request.allowed.sentence(),
        }  # fmt: skip


class Plays:
    """The plays of a study, by the number of the participant.

    Args:
        study: The study.
        database: Its answers.
    """

    def __init__(self, study: Study, database: Database) -> None:
        self.study, self.database = study, database
        self._seats: dict[int, Seat] = {}

    def seat(self, row: Row) -> Seat:
        """The play of a participant, which begins or goes on if it is not under way."""
        if row["id"] not in self._seats:
            experiment, _ = with_person(self.study.play, row["seed"])
            given = {answer["step"]: answer["typed"] for answer in self.database.answers(row["id"])}
            folder = play_folder(self.database.file, row["id"])
            self._seats[row["id"]] = Seat(experiment, rounds_game(self.study, row), folder, given)
        return self._seats[row["id"]]

    def refusal(self, row: Row, typed: str) -> str:
        """What should have been answered to the open question in place of what was; empty: it can be."""
        seat, step = self.seat(row), row["step"]
        rule = seat.view(step).get("rule")
        return f"Expected {rule}." if rule and seat.read(step, typed) is None else ""

    def leave(self, row: Row) -> None:
        """End the play of a participant who withdraws."""
        if row["id"] in self._seats:
            self._seats.pop(row["id"]).end(is_removed=True)

    def close(self) -> None:
        """End all plays, which go on when the study is served again."""
        for seat in self._seats.values():
            seat.end(is_removed=False)
        self._seats.clear()

    def judge(self, row: Row) -> bool:
        """Store what came of the rounds that are over, and how many succeeded; returns whether all are."""
        seat = self.seat(row)
        is_done = seat.is_done
        known = {step: success for step, (_, success) in seat.outcomes.items() if step not in seat.judged}
        if is_done:
            known = successes(seat.game, seat.folder)
        if not known:  # as in most of the signs that pages give every second
            return is_done
        for step, success in known.items():
            self.database.judge(row["id"], step, success, int(success))
        seat.judged |= known.keys()
        score = sum(answer["points"] for answer in self.database.answers(row["id"]))
        self.database.update(row["id"], {"score": score})
        return is_done

    def view(self, row: Row, names_objects: bool) -> dict[str, Any]:
        """What the page shows of a step."""
        return self.seat(row).view(row["step"])

    def told(self, row: Row) -> tuple[str, str]:
        """What a participant is told of the round before, and `right`, `wrong` or nothing."""
        seat, before = self.seat(row), row["step"] - 1
        if seat.has_failed:
            return STOPPED, "wrong"
        if (outcome := seat.outcomes.get(before)) is None:
            return "Sent." if before >= 0 else "", ""
        return outcome[0], "right" if outcome[1] else "wrong"


def rounds_of(game: RoundsGame, folder: Path) -> dict[int, dict[str, Any]]:
    """By step, the round of a person as its play has kept it, as far as it came; nothing of one that goes on."""
    file = folder / ROUNDS
    rows = [msgspec.json.decode(line) for line in file.read_bytes().splitlines()] if file.is_file() else []
    return {step: rows[number] for step, (number, _) in enumerate(game.rounds) if number < len(rows)}


def successes(game: RoundsGame, folder: Path) -> dict[int, bool]:
    """By step, whether the round of a person succeeded, of a play that is over, or ended early; none of tests."""
    played = rounds_of(game, folder)
    return {step: bool(row["success"]) for step, row in played.items() if row["listener"] >= 0}
