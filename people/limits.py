"""How often somebody may ask: a bucket of permits that fills up again with time."""

import time
from collections.abc import Callable

MAX_KEYS = 100_000
"""Most askers that are remembered; beyond, those whose bucket is full again are forgotten."""


class Limiter:
    """A bucket of permits for each asker.

    Args:
        burst: Permits in a full bucket.
        per_second: How many are added in a second.
        clock: Seconds; tests give another one.
    """

    def __init__(self, burst: float, per_second: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._burst, self._per_second, self._clock = burst, per_second, clock
        self._buckets: dict[str, tuple[float, float]] = {}

    def allows(self, key: str) -> bool:
        """Take a permit from the bucket of an asker; returns False if it is empty."""
        now = self._clock()
        if len(self._buckets) >= MAX_KEYS:
            self._buckets = {
                name: bucket
                for name, bucket in self._buckets.items()
                if self._left(bucket, now) < self._burst
            }
        left = self._left(self._buckets.get(key, (self._burst, now)), now)
        self._buckets[key] = (max(left - 1, 0.0), now)
        return left >= 1

    def _left(self, bucket: tuple[float, float], now: float) -> float:
        return min(self._burst, bucket[0] + (now - bucket[1]) * self._per_second)
