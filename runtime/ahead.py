"""Prefetching of values of a pure function by other threads: batches for CUDA, not for CPUs."""

import os
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Generic, TypeVar

Value = TypeVar("Value")
NUM_THREADS = max(1, min(3, (os.cpu_count() or 1) - 1))
NUM_AHEAD = 6
"""Number of values computed in advance."""


class Prefetcher(Generic[Value]):
    """Calls a function of an index, and prefetches its values for the following indices.

    An error in a prefetched value is raised when the value is requested.

    Args:
        function: Pure function, which several threads may call at once.
    """

    def __init__(self, function: Callable[[int, int], Value]) -> None:
        self.function = function
        self.threads = ThreadPoolExecutor(NUM_THREADS, "drawing")
        self.coming: dict[tuple[int, int], Future[Value]] = {}

    def __call__(self, number: int, size: int) -> Value:
        """Return the value of an index; `size` is a further argument, usually constant."""
        wanted = [(following, size) for following in range(number, number + NUM_AHEAD + 1)]
        before, self.coming = self.coming, {}
        for key in wanted:
            self.coming[key] = before.pop(key) if key in before else self.threads.submit(self.function, *key)
        for unused in before.values():
            unused.cancel()
        return self.coming.pop(wanted[0]).result()
