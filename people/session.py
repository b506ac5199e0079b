"""Actions of participants; only the server judges answers, awards points and advances the study.

A participant's row stores the position in the study. Every request contains the position that the page shows (the
stage, the step, the number of unlocked objects), and is ignored at another position: an action that is sent twice,
from two tabs or after a reload, counts once. Each action is one transaction and returns the participant's new row.
"""

import hmac
import secrets
from collections.abc import Callable, Mapping

from ecsuite.grammars.words import stream
from ecsuite.people.database import NOBODY, RefusedError, Row, hashed
from ecsuite.people.kinds import (
    ATTENTION,
    QUESTIONS,
    TEST,
    BadRequestError,
    LiveKind,
    Queue,
    Shown,
    StudyKind,
)
from ecsuite.people.objects import letters_of
from ecsuite.people.study import (
    FINISHED,
    GAME,
    INSTRUCTIONS,
    QUESTIONS_STAGE,
    QUIZ_STAGE,
    WAITING,
    Study,
)

MAX_TYPED = 64
"""Maximum length of an answer in characters."""
MAX_REPLY = 2000
"""Maximum length of a reply to a question in characters."""
CASES: Mapping[str, Callable[[str], str]] = {"none": str, "prolific": str.lower, "mturk": str.upper}
"""Normalisation of the IDs of each platform."""


class Sessions:
    """The sessions of a study's participants.

    Args:
        kind: The study.
    """

    def __init__(self, kind: StudyKind) -> None:
        self.kind, self.study, self.database, self.clock = kind, kind.study, kind.database, kind.clock
        self.live = kind if isinstance(kind, LiveKind) else None
        self.queue = Queue(60.0 * self.study.wait_minutes, self.clock)
        self._secret = bytes.fromhex(self.database.setting("secret"))

    def new_token(self) -> str:
        """Make a token for a visitor: 192 random bits and their HMAC under the study's secret."""
        number = secrets.token_urlsafe(24)
        return number + self.code(f"token {number}")[:32]

    def code(self, text: str) -> str:
        """HMAC of a text under the study's secret; the HMAC of a token is the page's CSRF code."""
        return hmac.new(self._secret, text.encode(), "sha256").hexdigest()

    def required(self, token: str) -> Row:
        """The participant with a token.

        Raises:
            RefusedError: If the token is unknown.
        """
        if (row := self.database.participant(token)) is None:
            raise RefusedError(NOBODY)
        return row

    def begin(self, token: str, worker: str = "") -> Row | None:
        """Add a participant to the study.

        Returns:
            The participant; None if no place in a chain is free, and the visitor waits.

        Raises:
            RefusedError: If the study is full, the ID is not valid, or a participant with this ID has begun the game.
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
            if (place := self.kind.place(self.queue, token, number, now)) is None:
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
            num_available = self.kind.game(values).first_available
            self.database.insert("participants", {**values, "num_available": num_available})
            return self.required(token)

    def wait(self, token: str, worker: str = "") -> Row | None:
        """Handle the heartbeat of a visitor who waits for a place or a partner, or plays with others."""
        row = self.database.participant(token)
        if row is None and self.queue.is_waiting(token):
            return self.begin(token, worker)
        if row is None or self.live is None:
            return row
        with self.database.transaction(token) as row:
            self.live.signed(self.queue, token, row)
        return row

    def skip(self, token: str) -> Row | None:
        """Begin the game at once, without the instructions and the quiz."""
        if self.begin(token) is None:
            return None
        with self.database.transaction(token) as row:
            if row["stage"] in (INSTRUCTIONS, QUIZ_STAGE):
                self._enter(row)
        return row

    def go_on(self, token: str, stage: str, settings: Mapping[str, bool]) -> Row:
        """Leave the instructions; `settings` are the participant's choices about sound and names of objects."""
        with self.database.transaction(token) as row:
            row |= {**settings, "last_seen": self.clock()}
            if row["stage"] == stage == INSTRUCTIONS:
                if self.kind.quiz:
                    row["stage"] = QUIZ_STAGE
                else:
                    self._enter(row)
        return row

    def choose(self, token: str, settings: Mapping[str, bool]) -> Row:
        """Store the participant's choices about sound and names of objects."""
        with self.database.transaction(token) as row:
            row |= settings
        return row

    def take_quiz(self, token: str, attempt: int, replies: Mapping[str, str]) -> tuple[Row, bool]:
        """Judge the quiz, and begin the game if all replies are right.

        Returns:
            The participant, and whether all replies are right.
        """
        with self.database.transaction(token) as row:
            if row["stage"] != QUIZ_STAGE or attempt != row["num_quiz_attempts"]:
                return row, bool(row["stage"] != QUIZ_STAGE)
            is_right = all(replies.get(name) == each.right for name, each in self.kind.quiz.items())
            row |= {"num_quiz_attempts": attempt + 1, "last_seen": self.clock()}
            if is_right:
                self._enter(row)
        return row, is_right

    def _enter(self, row: Row) -> None:
        """Go to the first step, or wait for a partner."""
        if self.kind.waits_for_partner:
            row["stage"] = WAITING
        else:
            show_step(self.kind, row, 0, row["num_available"], self.clock())

    def answer(self, token: str, step: int, typed: str, response_ms: float | None = None) -> tuple[Row, Row]:
        """Judge the answer of a step, and go to the next step; the first answer of a step is never replaced.

        Args:
            token: Token of the participant.
            step: The step that the page shows.
            typed: The answer, at most `MAX_TYPED` characters.
            response_ms: Milliseconds from picture to answer, measured by the page.

        Returns:
            The rows of the participant and of the answer.

        Raises:
            BadRequestError: If the answer is not allowed in this step.
            RefusedError: If the participant is not in the game, or has not reached the step.
        """
        with self.database.transaction(token) as row:
            if row["stage"] != GAME or step != row["step"]:
                if (entry := self.database.answer(row["id"], step)) is None:
                    raise RefusedError("This example can't be answered now.")
            else:
                game, now = self.kind.game(row), self.clock()
                shown = Shown(kind=row["kind"], meaning=row["thing"])
                if self.live is not None:
                    typed = self.live.read(row, typed)
                elif shown.kind == TEST and not letters_of(typed):
                    raise BadRequestError("Type letters from a to z.")
                is_right = game.is_right(step, shown, typed)
                has_points = is_right and shown.kind not in (ATTENTION, TEST)
                entry = {
                    "participant": row["id"],
                    "step": step,
                    "example": game.example_of(step),
                    "kind": shown.kind,
                    "thing": shown.meaning,
                    "num_available": row["shown_available"],
                    "num_looks": row["num_looks"],
                    "typed": typed,
                    "is_right": int(is_right),
                    "points": game.points(row["shown_available"]) if has_points else 0,
                    "shown_at": row["shown_at"],
                    "answered_at": now,
                    "response_ms": response_ms,
                }
                self.database.insert("answers", entry)
                if self.live is not None:
                    self.live.answered(row, entry)
                row |= {"score": row["score"] + entry["points"], "last_seen": now}
                after = game.available_after(step, shown, row["num_available"])
                if after != row["num_available"]:
                    self._store_change(row, after, "unlocked")
                if step + 1 < game.num_steps:
                    show_step(self.kind, row, step + 1, after, now)
                elif self.kind.quiz:
                    row["stage"] = QUESTIONS_STAGE
                else:
                    row |= {"stage": FINISHED, "finished_at": now}
        if self.live is not None:
            self.live.stored(row, entry)
        return row, entry

    def change_panel(self, token: str, before: int, after: int) -> Row:
        """Add an object to the panel or remove one, if the page shows the current number of objects."""
        with self.database.transaction(token) as row:
            game = self.kind.game(row)
            is_allowed = game.first_available <= after <= game.max_available and abs(after - before) == 1
            can_change = game.first_available < game.max_available
            if row["stage"] == GAME and can_change and before == row["num_available"] and is_allowed:
                self._store_change(row, after, "added" if after > before else "removed")
                row |= {"num_available": after, "last_seen": self.clock()}
        return row

    def _store_change(self, row: Row, after: int, cause: str) -> None:
        values = {"participant": row["id"], "step": row["step"], "num_before": row["num_available"]}
        self.database.insert("changes", {**values, "num_after": after, "cause": cause, "at": self.clock()})

    def look(self, token: str, step: int) -> Row:
        """Count that the participant looked at the panel during a step."""
        with self.database.transaction(token) as row:
            if row["stage"] == GAME and step == row["step"]:
                row["num_looks"] += 1
        return row

    def reply(self, token: str, replies: Mapping[str, str]) -> Row:
        """Store the replies to the questions at the end, and finish."""
        with self.database.transaction(token) as row:
            if row["stage"] == QUESTIONS_STAGE:
                for name in QUESTIONS:
                    self.database.reply(row["id"], name, replies.get(name, "")[:MAX_REPLY])
                now = self.clock()
                row |= {"stage": FINISHED, "finished_at": now, "last_seen": now}
        return row

    def withdraw(self, token: str) -> bool:
        """Delete all data of a participant; return whether the participant existed."""
        if (row := self.database.participant(token)) is None:
            return False
        if self.live is not None:
            self.live.withdrawn(row)
        self.database.forget(row["id"])
        return True

    def close(self) -> None:
        """End all games, and close the database."""
        if self.live is not None:
            self.live.close()
        self.database.close()


def show_step(kind: StudyKind, row: Row, step: int, num_available: int, now: float) -> None:
    """Go to a step of the game, and store its content in the participant's row."""
    shown = kind.game(row).shown(step, num_available)
    row |= {"stage": GAME, "step": step, "kind": shown.kind, "thing": shown.meaning, "num_looks": 0}
    row |= {"shown_at": now, "shown_available": num_available, "num_available": num_available}


def stored_worker(study: Study, secret: bytes, worker: str) -> str | None:
    """Normalise a platform's participant ID for storage: strip spaces, unify case, and hash it if the study says so.

    Args:
        study: The study.
        secret: The study's secret, the key of the hash.
        worker: The ID in the link.

    Returns:
        The stored form; None without an ID, or if the study stores none.

    Raises:
        RefusedError: If the study has a platform, and the ID is not valid there.
    """
    worker = CASES[study.platform](worker.strip())
    if study.platform != "none" and not (worker.isascii() and worker.isalnum()):
        raise RefusedError("This link has no participant ID. Open the study from the platform.")
    if not worker or study.worker_ids == "none":
        return None
    if study.worker_ids == "plain":
        return worker
    return hmac.new(secret, b"worker" + worker.encode(), "sha256").hexdigest()
