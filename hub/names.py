"""Names of files that are safe to write on any machine: the same ones may be pushed and pulled."""

from collections.abc import Iterable

from ecsuite.runtime.errors import ConfigError, shown
from ecsuite.runtime.printable import printable

LONGEST = 200
"""Most bytes of a part of a name; file systems have at most 255, and temporary names are longer."""
FORBIDDEN = set('\\:*?"<>|')
"""Characters that some file system or program reads as something else."""


def require_safe_names(names: Iterable[str], where: str) -> None:
    """Refuse names that lead out of their folder, are hidden, can't be shown, or are one for some file systems.

    Raises:
        ConfigError: For the first of them.
    """
    taken: dict[str, str] = {}
    for name in names:
        if (why := _fault(name)) is not None:
            raise ConfigError(f"{where}: the file name {shown(name)} {why}: nothing of it was taken")
        other = taken.setdefault(name.casefold(), name)
        if other != name:
            raise ConfigError(
                f"{where}: the file names {shown(other)} and {shown(name)} differ only in their case"
            )


def _fault(name: str) -> str | None:
    """What is wrong with a name; None if nothing is."""
    parts = name.split("/")
    if not all(parts):
        return "is absolute, or has an empty part"
    if any(part.startswith(".") for part in parts):
        return "leads out of its folder, or is hidden"
    if printable(name) != name or FORBIDDEN & set(name):
        return "has characters that are not allowed"
    if any(part != part.strip() or part.endswith(".") for part in parts):
        return "begins or ends with a space, or ends with a dot"
    if any(len(part.encode()) > LONGEST for part in parts):
        return f"has a part of more than {LONGEST} bytes"
    return None
