"""Visitors who wait: in which order they came, who is still there, and whose time is over.

Nothing of it is stored: somebody who waits has given nothing yet. After a restart of the server they wait anew.
"""

from collections.abc import Callable
from dataclasses import dataclass

GONE = 15.0
"""Seconds without a sign after which somebody who waits has gone: pages give one every two seconds."""
FORGOTTEN = 86_400.0
"""Seconds after which nothing is known any more of somebody who has gone."""


@dataclass(kw_only=True, slots=True)
class Waiting:
    """Somebody who waits."""

    since: float
    seen: float


class Queue:
    """Those who wait, in the order in which they came.

    Args:
        limit: Seconds that somebody waits at most.
        clock: Seconds.
    """

    def __init__(self, limit: float, clock: Callable[[], float]) -> None:
        self._limit, self._clock = limit, clock
        self._waiting: dict[str, Waiting] = {}

    def join(self, key: str) -> None:
        """Say that somebody waits; who has waited too long begins to wait anew."""
        now = self._clock()
        self._waiting = {name: each for name, each in self._waiting.items() if each.seen >= now - FORGOTTEN}
        if not self.is_waiting(key):
            self.leave(key)
        self._waiting.setdefault(key, Waiting(since=now, seen=now)).seen = now

    def leave(self, key: str) -> None:
        """Take somebody out."""
        self._waiting.pop(key, None)

    def seconds(self, key: str) -> float | None:
        """How long somebody has waited; None if they don't."""
        return self._clock() - self._waiting[key].since if key in self._waiting else None

    def is_waiting(self, key: str) -> bool:
        """Whether somebody waits, and not too long yet."""
        return key in self._waiting and self._clock() - self._waiting[key].since < self._limit

    def _is_there(self, key: str) -> bool:
        return self.is_waiting(key) and self._waiting[key].seen >= self._clock() - GONE

    def before(self, key: str) -> list[str]:
        """Those who came before somebody and are still there, the first first."""
        earlier = list(self._waiting)[: list(self._waiting).index(key)]
        return [other for other in earlier if self._is_there(other)]
