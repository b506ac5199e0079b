"""What a process that torchrun started knows by its environment, without torch."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager

from ecsuite.runtime.errors import ConfigError, DamagedError, DivergedError

SECONDS_TO_BE_ENDED = 60
"""How long a process waits, after an error that all have, for torchrun to end it once the first one has told it."""


def is_started() -> bool:
    """Whether torchrun started this process."""
    return "TORCHELASTIC_RUN_ID" in os.environ and "RANK" in os.environ


def is_first_process() -> bool:
    """Whether this process is the first of those that torchrun started, or the only one."""
    return not is_started() or os.environ["RANK"] == "0"


@contextmanager
def silent_unless_first() -> Iterator[None]:
    """Leave it to the first process to tell an error that all have.

    The first that ends with an error ends the others, so the others wait; their exit codes are the same.
    """
    try:
        yield
    except (ConfigError, DamagedError, DivergedError, OSError) as error:
        if is_first_process():
            raise
        time.sleep(SECONDS_TO_BE_ENDED)
        raise SystemExit({DivergedError: 1, DamagedError: 3}.get(type(error), 2)) from None
