"""Values of a pure function, which other threads compute before they are asked for: batches for CUDA, not for CPUs."""

import os
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Generic, TypeVar

Value = TypeVar("Value")
NUM_THREADS = max(1, min(3, (os.cpu_count() or 1) - 1))
NUM_AHEAD = 6
"""Values that are computed before they are asked for."""


class Ahead(Generic[Value]):
    """Calls a function of a number, and has it computed for the numbers that follow.

    An error in what was computed ahead is raised when it is asked for, and not if it never is.

    Args:
        function: Depends on its arguments alone, and may be called by several threads at once.
    """

    def __init__(self, function: Callable[[int, int], Value]) -> None:
        self.function = function
        self.threads = ThreadPoolExecutor(NUM_THREADS, "drawing")
        self.coming: dict[tuple[int, int], Future[Value]] = {}

    def __call__(self, number: int, size: int) -> Value:
        """The value of a number; `size` is a further argument, in general the same at each call."""
        wanted = [(following, size) for following in range(number, number + NUM_AHEAD + 1)]
        before, self.coming = self.coming, {}
        for key in wanted:
            self.coming[key] = before.pop(key) if key in before else self.threads.submit(self.function, *key)
        for unused in before.values():
            unused.cancel()
        return self.coming.pop(wanted[0]).result()
