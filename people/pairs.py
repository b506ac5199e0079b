"""Two people who play with each other: who meets whom, whose turn it is, and what happens when one leaves.

Who is there is known by signs that pages give every second. They are not stored: after a restart of the server
everybody counts as seen at its start, so that nobody has gone because of it.
"""

from collections.abc import Callable
from typing import Any

from ecsuite.grammars.words import stream
from ecsuite.people.database import Database, Row
from ecsuite.people.game import Shown
from ecsuite.people.pair_game import LISTENING, pair_game
from ecsuite.people.stages import AWAY, GAME, LEFT, WAITING
from ecsuite.people.study import Study
from ecsuite.people.waiting import Queue


class Pairs:
    """The pairs of a study.

    Args:
        study: The study.
        database: Its answers.
        clock: Seconds since 1970.
    """

    def __init__(self, study: Study, database: Database, clock: Callable[[], float]) -> None:
        self.study, self.database, self._clock = study, database, clock
        self._start = clock()
        self._seen: dict[int, float] = {}

    def sign(self, row: Row) -> None:
        """Say that a participant is there."""
        self._seen[row["id"]] = self._clock()

    def met(self, row: Row, token: str, queue: Queue) -> list[tuple[str, dict[str, Any]]]:
        """Say that somebody waits for a partner, and find the first who waits in the same condition.

        Args:
            row: Who waits.
            token: Theirs.
            queue: All who wait.

        Returns:
            The tokens of the two who meet and what they have as columns; nothing if nobody else is there, or if the
            participant has waited too long.
        """
        if queue.seconds(token) is not None and not queue.is_waiting(token):
            return []
        queue.join(token)
        for other_token in queue.before(token):
            other = self.database.participant(other_token)
            if other is not None and (other["stage"], other["dataset"]) == (WAITING, row["dataset"]):
                break
        else:
            return []
        number = self.database.next_pair()
        seed = int(stream(self.study.seed, f"pair{number}").integers(2**31))
        for member in (other, row):
            self.sign(member)
        for member_token in (other_token, token):
            queue.leave(member_token)
        seats = map(int, stream(seed, "seats").permutation(2))
        return [
            (member_token, {"pair": number, "seat": seat, "seed": seed})
            for member_token, seat in zip((other_token, token), seats, strict=True)
        ]

    def partner(self, row: Row) -> Row | None:
        """The other one; None if they have withdrawn."""
        return self.database.partner(row["pair"], row["id"])

    def message(self, row: Row) -> str | None:
        """What a listener hears in the present step; None as long as nothing was said."""
        partner = self.partner(row)
        said = None if partner is None else self.database.answer(partner["id"], row["step"])
        return None if said is None else str(said["typed"])

    def judge(self, row: Row, step: int, is_right: bool, points: int) -> None:
        """Store at the speaker's message what its listener made of it, who is given."""
        if (partner := self.partner(row)) is not None:
            self.database.judge(partner["id"], step, is_right, points)
            self.database.update(partner["id"], {"score": partner["score"] + points})

    def told(self, row: Row) -> tuple[str, str]:
        """What a participant is told of the round before, and `right`, `wrong` or nothing."""
        step, game = row["step"] - 1, pair_game(self.study, row)
        if step < 0:
            return "", ""
        shown = game.shown(step, 0)
        listener = row if shown.kind == LISTENING else self.partner(row)
        answer = None if listener is None else self.database.answer(listener["id"], step)
        if answer is None:
            return "Sent.", ""
        return game.told(step, shown, answer["typed"]), "right" if answer["is_right"] else "wrong"

    def is_left(self, row: Row, partner: Row | None) -> bool:
        """Whether a participant is alone, because the other one has withdrawn (None), gone, or taken too long."""
        if partner is None or partner["stage"] in (LEFT, AWAY):
            return True
        if partner["stage"] != GAME:  # has done all rounds
            return False
        now = self._clock()
        if now - self._seen.get(partner["id"], self._start) > self.study.partner_seconds:
            return True
        began = self._turn_of(partner, row)
        return began is not None and now - max(began, self._start) > self.study.turn_seconds

    def _turn_of(self, row: Row, other: Row) -> float | None:
        """Since when it is a participant's turn, None if it is not."""
        if row["kind"] != LISTENING:
            return float(row["shown_at"])
        said = self.database.answer(other["id"], row["step"])
        return None if said is None else max(float(said["answered_at"]), float(row["shown_at"]))

    def view(self, row: Row, names_objects: bool) -> dict[str, Any]:
        """What the page shows of a step: the object, or the message and the candidates, or that the other one types."""
        game = pair_game(self.study, row)
        shown = Shown(kind=row["kind"], thing=row["thing"])
        if shown.kind != LISTENING:
            return game.view(row["step"], shown, names_objects)
        if (message := self.message(row)) is None:
            return {"kind": "partner"}
        return {**game.view(row["step"], shown, names_objects), "message": message}
