"""What participants may do, and what follows: the server alone judges answers, gives points and goes on.

A participant's row says where they are. Every action names where the page believes them to be (the stage, the step, the
number of unlocked objects), and does nothing if they are elsewhere: so an action that is sent twice, from two tabs or
after a reload, counts once.
"""

import hmac
import secrets
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ecsuite.grammars.words import stream
from ecsuite.people.codes_game import codes_game
from ecsuite.people.database import Database, Row, hashed
from ecsuite.people.errors import RefusedError
from ecsuite.people.game import ATTENTION, TEST, Game, Shown
from ecsuite.people.objects import letters_of
from ecsuite.people.pair_game import LISTENING, SPEAKING
from ecsuite.people.pairs import Pairs
from ecsuite.people.places import Places
from ecsuite.people.protocols import PROTOCOLS
from ecsuite.people.questions import QUESTIONS
from ecsuite.people.stages import (
    AWAY,
    FINISHED,
    GAME,
    INSTRUCTIONS,
    LEFT,
    QUESTIONS_STAGE,
    QUIZ_STAGE,
    WAITING,
)
from ecsuite.people.study import Study
from ecsuite.people.waiting import Queue
from ecsuite.people.workers import stored_worker

if TYPE_CHECKING:
    from ecsuite.people.plays import Plays

KEEP_SECONDS = 30.0
"""After so long it is stored again that somebody who waits for a partner is still there, and keeps the place."""
MAX_TYPED = 64
"""Most characters of an answer."""
MAX_REPLY = 2000
"""Most characters of a reply to a question."""


class Sessions:
    """The participants of a study.

    Args:
        study: The study.
        database: Its answers.
        make_game: Makes the game of a participant.
        clock: Seconds since 1970; tests give another one.
    """

    def __init__(
        self,
        study: Study,
        database: Database,
        make_game: Callable[[Mapping[str, Any]], Game] = codes_game,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.study, self.database, self.clock = study, database, clock
        self.game_of, self._secret = make_game, bytes.fromhex(database.setting("secret"))
        self.pairs = Pairs(study, database, clock) if study.pairs else None
        self.plays = _plays(study, database) if study.play else None
        self.queue = Queue(60.0 * study.wait_minutes, clock)
        self._places = Places(study, database, self.queue)

    def new_token(self) -> str:
        """A token for a visitor: 192 random bits, and a code that only this study makes of them."""
        number = secrets.token_urlsafe(24)
        return number + self._code(f"token {number}")[:32]

    def is_token(self, token: str) -> bool:
        """Whether a token is one of `new_token`, and not what a visitor, or who sent them, has chosen."""
        number, code = token[:32], token[32:]
        return hmac.compare_digest(code.encode(), self._code(f"token {number}")[:32].encode())

    def csrf(self, token: str) -> str:
        """What a page must send with every action: another site can't know it."""
        return self._code(token)

    def _code(self, text: str) -> str:
        return hmac.new(self._secret, text.encode(), "sha256").hexdigest()

    def begin(self, token: str, worker: str = "") -> Row | None:
        """Start a participant, in a condition of which the fewest have finished or are at work.

        Returns:
            None where no place of a chain is free: the visitor waits.

        Raises:
            RefusedError: If the study is full, the ID is none, or someone with this ID has begun the game.
        """
        with self.database.transaction():
            if (row := self.database.participant(token)) is not None:
                if row["stage"] == WAITING:
                    self.queue.join(token)
                return row
            stored = stored_worker(self.study, self._secret, worker)
            if stored is not None and (row := self.database.participant_of_worker(stored)) is not None:
                if row["shown_at"] is not None:
                    raise RefusedError(
                        "You have already begun this study. Go on in the browser in which you began."
                    )
                self.database.update(row["id"], {"token_hash": hashed(token), "last_seen": self.clock()})
                return self.required(token)
            now, number = self.clock(), self.database.next_id()
            if (place := self._places.next_place(token, now, number)) is None:
                return None
            values = {
                **place,
                "id": number,
                "token_hash": hashed(token),
                "worker": stored,
                "protocol": self.study.played_protocol,
                "seed": int(stream(self.study.seed, f"participant{number}").integers(2**31)),
                "stage": INSTRUCTIONS,
                "started_at": now,
                "last_seen": now,
            }
            self.database.insert(
                "participants", {**values, "num_available": self.game_of(values).first_available}
            )
        return self.required(token)

    def wait(self, token: str, worker: str = "") -> None:
        """Say that somebody is still there: who waits for a place or a partner, or plays with one."""
        row = self.database.participant(token)
        if row is None and self.queue.is_waiting(token):
            self.begin(token, worker)
        if row is not None and self.plays is not None and row["stage"] == GAME:
            with self.database.transaction():
                if self.plays.judge(row := self.required(token)):
                    self.database.update(row["id"], {"stage": FINISHED, "finished_at": self.clock()})
        if row is None or self.pairs is None:
            return
        self.pairs.sign(row)
        with self.database.transaction():
            row = self.required(token)
            if row["stage"] == WAITING:
                if row["last_seen"] < self.clock() - KEEP_SECONDS:
                    self.database.update(row["id"], {"last_seen": self.clock()})
                for member, values in self.pairs.met(row, token, self.queue):
                    self.database.update(self.required(member)["id"], values)
                    self._show(self.required(member), GAME)
            elif row["stage"] == GAME and self.pairs.is_left(row, partner := self.pairs.partner(row)):
                self.database.update(row["id"], {"stage": LEFT})
                if partner is not None and partner["stage"] == GAME:
                    self.database.update(partner["id"], {"stage": AWAY})

    def required(self, token: str) -> Row:
        """The participant of a token.

        Raises:
            RefusedError: If there is none.
        """
        if (row := self.database.participant(token)) is None:
            raise RefusedError("This page belongs to nobody any more. Open the link of the study again.")
        return row

    def skip(self, token: str) -> None:
        """Begin at the first picture, without the instructions and the quiz."""
        if self.begin(token) is None:
            return
        with self.database.transaction():
            row = self.required(token)
            if row["stage"] in (INSTRUCTIONS, QUIZ_STAGE):
                self._enter(row)

    def go_on(self, token: str, stage: str, settings: Mapping[str, bool]) -> None:
        """Leave the instructions; `settings` are the participant's choices of sound and of names of objects."""
        with self.database.transaction():
            row = self.required(token)
            self.database.update(row["id"], {**settings, "last_seen": self.clock()})
            if row["stage"] == stage == INSTRUCTIONS:
                if PROTOCOLS[row["protocol"]].quiz:
                    self.database.update(row["id"], {"stage": QUIZ_STAGE})
                else:
                    self._enter(row)

    def choose(self, token: str, settings: Mapping[str, bool]) -> None:
        """Store the participant's choices of sound and of names of objects."""
        with self.database.transaction():
            self.database.update(self.required(token)["id"], settings)

    def take_quiz(self, token: str, attempt: int, replies: Mapping[str, str]) -> bool:
        """Judge the quiz; returns whether everything is right, which begins the game."""
        with self.database.transaction():
            row = self.required(token)
            if row["stage"] != QUIZ_STAGE or attempt != row["num_quiz_attempts"]:
                return bool(row["stage"] != QUIZ_STAGE)
            quiz = PROTOCOLS[row["protocol"]].quiz
            is_right = all(replies.get(name) == question.right for name, question in quiz.items())
            self.database.update(row["id"], {"num_quiz_attempts": attempt + 1, "last_seen": self.clock()})
            if is_right:
                self._enter(row)
            return is_right

    def _enter(self, row: Row) -> None:
        """Go to the first step, or wait for a partner."""
        if self.pairs is None:
            self._show(row, GAME)
        else:
            self.database.update(row["id"], {"stage": WAITING})

    def _show(self, row: Row, stage: str, step: int = 0, num_available: int | None = None) -> None:
        """Go to a step of the game, and fix what it shows."""
        num_available = row["num_available"] if num_available is None else num_available
        shown = self.game_of(row).shown(step, num_available)
        values = {"stage": stage, "step": step, "kind": shown.kind, "thing": shown.thing, "num_looks": 0}
        times = {"shown_at": self.clock(), "shown_available": num_available, "num_available": num_available}
        self.database.update(row["id"], values | times)

    def answer(self, token: str, step: int, typed: str, response_ms: float | None = None) -> Row:
        """Judge the answer of a step, and go to the next; an answered step keeps its first answer.

        Args:
            token: Whose.
            step: The step that the page shows.
            typed: At most `MAX_TYPED` characters.
            response_ms: Milliseconds from picture to answer, as the page measured them.

        Returns:
            The row of the answer.

        Raises:
            RefusedError: If nothing can be answered, or the step is a later one.
        """
        with self.database.transaction():
            entry = self._answered(token, step, typed, response_ms)
        if self.plays is not None:  # stored, so that the play may go on with it
            self.plays.seat(self.required(token)).give(step, entry["typed"])
        return entry

    def _answered(self, token: str, step: int, typed: str, response_ms: float | None) -> Row:
        row = self.required(token)
        if (known := self.database.answer(row["id"], step)) is not None:
            return known
        if row["stage"] != GAME or step != row["step"]:
            raise RefusedError("This example can't be answered now.")
        game, shown = self.game_of(row), Shown(kind=row["kind"], thing=row["thing"])
        if shown.kind == LISTENING and self.pairs is not None and self.pairs.message(row) is None:
            raise RefusedError("Your partner has said nothing yet.")
        if self.plays is not None:
            if (read := self.plays.seat(row).read(step, typed)) is None:
                raise RefusedError("This can't be answered now.")
            typed = read
        elif shown.kind == SPEAKING:  # the partner sees what the corpus has
            typed = letters_of(typed)
        is_right = game.is_right(step, shown, typed)
        points = (
            game.points(row["shown_available"]) if is_right and shown.kind not in (ATTENTION, TEST) else 0
        )
        now = self.clock()
        entry = {
            "participant": row["id"],
            "step": step,
            "example": game.example_of(step),
            "kind": shown.kind,
            "thing": shown.thing,
            "num_available": row["shown_available"],
            "num_looks": row["num_looks"],
            "typed": typed,
            "is_right": int(is_right),
            "points": points,
            "shown_at": row["shown_at"],
            "answered_at": now,
            "response_ms": response_ms,
        }
        self.database.insert("answers", entry)
        if self.pairs is not None:
            self.pairs.sign(row)
            if shown.kind == LISTENING:
                self.pairs.judge(row, step, is_right, points)
        self.database.update(row["id"], {"score": row["score"] + points, "last_seen": now})
        after = game.available_after(step, shown, row["num_available"])
        if after != row["num_available"]:
            self._change(row, after, "unlocked")
        if step + 1 < game.num_steps:
            self._show(row, GAME, step + 1, after)
        elif PROTOCOLS[row["protocol"]].quiz:
            self.database.update(row["id"], {"stage": QUESTIONS_STAGE})
        else:
            self.database.update(row["id"], {"stage": FINISHED, "finished_at": now})
        return entry

    def change_panel(self, token: str, before: int, after: int) -> None:
        """Add an object to the panel or remove one, if the page knows how many there are."""
        with self.database.transaction():
            row = self.required(token)
            game = self.game_of(row)
            is_allowed = game.first_available <= after <= game.max_available and abs(after - before) == 1
            can_change = game.first_available < game.max_available
            if row["stage"] == GAME and can_change and before == row["num_available"] and is_allowed:
                self._change(row, after, "added" if after > before else "removed")
                self.database.update(row["id"], {"num_available": after, "last_seen": self.clock()})

    def _change(self, row: Row, after: int, cause: str) -> None:
        values = {"participant": row["id"], "step": row["step"], "num_before": row["num_available"]}
        self.database.insert("changes", {**values, "num_after": after, "cause": cause, "at": self.clock()})

    def look(self, token: str, step: int) -> None:
        """Count that the participant looked at the panel during a step."""
        with self.database.transaction():
            row = self.required(token)
            if row["stage"] == GAME and step == row["step"]:
                self.database.update(row["id"], {"num_looks": row["num_looks"] + 1})

    def reply(self, token: str, replies: Mapping[str, str]) -> None:
        """Store the replies to the questions at the end, and finish."""
        with self.database.transaction():
            row = self.required(token)
            if row["stage"] == QUESTIONS_STAGE:
                for name in QUESTIONS:
                    self.database.reply(row["id"], name, replies.get(name, "")[:MAX_REPLY])
                now = self.clock()
                self.database.update(row["id"], {"stage": FINISHED, "finished_at": now, "last_seen": now})

    def close(self) -> None:
        """End what goes on, and close the file of the answers."""
        if self.plays is not None:
            self.plays.close()
        self.database.close()

    def withdraw(self, token: str) -> bool:
        """Delete all that a participant gave; returns whether there was one."""
        if (row := self.database.participant(token)) is None:
            return False
        if self.plays is not None:
            self.plays.leave(row)
        self.database.forget(row["id"])
        return True


def _plays(study: Study, database: Database) -> "Plays":
    """The plays of a study, which import torch."""
    from ecsuite.people.plays import Plays

    return Plays(study, database)
