"""What happened on the pretended device, by the line of the package that asked for it."""

import sys
import threading
from collections import Counter
from pathlib import Path

PACKAGE = Path(__file__).parents[2]
OTHERS = (str(PACKAGE / "tests" / "pretended_cuda"), str(PACKAGE / ".venv"))


class Log:
    """Counts of events.

    Attributes:
        syncs: Times that the processor waited for the device, by what for and line.
        launches: Kernels started, by line: operations that are not views. CUDA may start several for one operation.
        unordered: Operations whose CUDA kernels add in any order, by name and line.
        undeclared: Draws from the device's global generator, by name and line.
    """

    def __init__(self):
        self.syncs, self.launches, self.unordered, self.undeclared = (Counter() for _ in range(4))

    def report(self) -> str:
        counts = [
            (f"{name} {what}", line, count) for name in ("syncs", "unordered", "undeclared") for (what, line),
            count in sorted(getattr(self, name).items())
        ]  # fmt: skip
        counts += [("launches", line, count) for line, count in self.launches.most_common()]
        return "\n".join(f"{count:6} {what:30} {line}" for what, line, count in counts)


def line() -> str:
    """The innermost line of the package, or else of a test, that is being executed."""
    frame, in_test = sys._getframe(1), None
    while frame is not None:
        name = frame.f_code.co_filename
        if name.startswith(str(PACKAGE)) and not name.startswith(OTHERS):
            found = f"{name[len(str(PACKAGE)) + 1 :]}:{frame.f_lineno}"
            if not found.startswith("tests/"):
                return found
            in_test = in_test or found
        frame = frame.f_back
    backward = threading.current_thread() is not threading.main_thread()
    return in_test or ("the backward pass" if backward else "torch")
