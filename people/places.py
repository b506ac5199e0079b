"""Which place a visitor gets: the condition with the fewest participants, or the next place of a chain."""

from collections.abc import Mapping
from typing import Any

from ecsuite.grammars.words import stream
from ecsuite.people.chains import Chains
from ecsuite.people.database import Database
from ecsuite.people.errors import RefusedError
from ecsuite.people.study import Study
from ecsuite.people.waiting import Queue

FULL = "This study has all the participants that it needs. Thank you for your interest."
"""What later visitors are told."""


class Places:
    """The places of a study.

    Args:
        study: The study.
        database: Its answers.
        queue: Those who wait for a place of a chain.
    """

    def __init__(self, study: Study, database: Database, queue: Queue) -> None:
        self.study, self.database, self._queue = study, database, queue
        self._chains = Chains(study, database) if study.chains else None

    def next_place(self, token: str, now: float, number: int) -> Mapping[str, Any] | None:
        """The condition of the next participant as columns; None if the visitor has to wait.

        Args:
            token: The visitor's.
            now: Seconds since 1970.
            number: That of the participant.

        Raises:
            RefusedError: If nobody more is wanted.
        """
        if self._chains is None:
            return self._condition(now, number)
        if (free := self._chains.free(now)) is None:
            self._queue.leave(token)
            raise RefusedError(FULL)
        self._queue.join(token)
        if len(self._queue.before(token)) >= len(free):
            return None
        self._queue.leave(token)
        return free[0]

    def _condition(self, now: float, number: int) -> dict[str, Any]:
        since = [now - self.study.place_seconds(has_begun) for has_begun in (True, False)]
        counts = self.database.condition_counts(*since)
        conditions = self.study.conditions
        fewest = min(counts.get(condition, 0) for condition in conditions)
        if fewest >= self.study.wanted:
            raise RefusedError(FULL)
        open_ones = [each for each in conditions if counts.get(each, 0) == fewest]
        chosen = open_ones[int(stream(self.study.seed, f"condition{number}").integers(len(open_ones)))]
        return dict(zip(("dataset", "grammar"), chosen, strict=True))
