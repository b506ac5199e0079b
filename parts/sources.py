"""Where settings come from: the source of a setting, such as a file or a flag, begins the messages about it."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

from ecsuite.parts.config import line_of_key
from ecsuite.runtime.errors import ConfigError, PartError


@contextmanager
def named_source(source: str) -> Iterator[None]:
    """Put the source before the message of a `ConfigError`."""
    try:
        yield
    except PartError:  # which names its own file
        raise
    except ConfigError as error:
        raise ConfigError(with_source(source, str(error))) from None


def with_source(source: str, message: str) -> str:
    """A message with its source: a file with the line of the key that it is about, or a flag, which says the key.

    Args:
        source: A file, a flag, or any name; empty: there is none to tell.
        message: Which begins with the key.
    """
    if not source:
        return message
    found = re.match(r"([\w.]+): |unknown key '([\w.]+)'", message)
    key = (found[1] or found[2]) if found else ""
    if source.startswith("--") and source != "--set" and found and found[1] and not _is_within(key, source):
        said = message.removeprefix(found[0])
        for sign, words in (
            (">= ", "at least "),
            ("<= ", "at most "),
            ("> ", "more than "),
            ("< ", "less than "),
        ):
            said = re.sub(f"^expected (int|float) {sign}", f"expected {words}", said)
        return f"{source}: {said}"
    line = line_of_key(source, key.split(".")) if key else None
    return f"{source}: {message}" if line is None else f"{source}:{line}: {message}"


def _is_within(key: str, flag: str) -> bool:
    """Whether a key is an option of the part that a flag names: `--world` does not say `world.num_values`."""
    section, _, option = key.partition(".")
    return option not in ("", "kind") and section.startswith(flag.removeprefix("--"))
