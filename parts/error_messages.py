"""Error messages in one line, even for long or unusual values."""

import errno
import os
from pathlib import Path

from ecsuite.runtime.errors import RUN_AGAIN
from ecsuite.runtime.printable import printable

MAX_LENGTH = 300
"""Maximum number of characters of a message."""
_BEGINNING = 170
"""Number of leading characters kept of a longer message: they name the place; the end says what to type."""
_LONGEST_WORD = 50
"""Maximum number of characters of a word that is not cut, such as a name of a setting."""
AFTER_FULL = f"; earlier files are complete: make room, then {RUN_AGAIN}"
"""End of the message on a full disk."""
NO_ACCESS = (errno.EROFS, errno.EACCES, errno.EPERM)
"""Errors of files and folders without permission."""


def path_text(path: str | Path) -> str:
    """Format a path as printable text; bytes that are not UTF-8 are escaped."""
    return printable(os.fsencode(path).decode(errors="backslashreplace"))


def of_system(error: OSError) -> str:
    """Message of an operating system error, with the path and a remedy."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return one_line(error) + AFTER_FULL
    if error.errno is None or error.filename is None:
        return one_line(error)
    place = Path(os.fsdecode(error.filename))
    if place.name.startswith(".") and place.suffix in (".lock", ".tmp"):
        place = place.parent  # the file is internal, with a name that the user did not type
    if error.errno not in NO_ACCESS:
        told = os.strerror(error.errno).lower()
        expected = ": expected a folder" if error.errno in (errno.EEXIST, errno.ENOTDIR) else ""
        return one_line(f"{place}: {told}{expected}")
    return one_line(
        f"{place}: {os.strerror(error.errno).lower()}: expected one that you may change: choose another (--out, "
        "--cache), or change who may write there"
    )


def one_line(message: object) -> str:
    """Make a message printable, see `printable`, and cut its middle if it is too long."""
    text = printable(message)
    if len(text) <= MAX_LENGTH:
        return text
    start, end = text[:_BEGINNING], text[_BEGINNING + 3 - MAX_LENGTH :]
    if " " in start[-_LONGEST_WORD:]:
        start = start.rpartition(" ")[0]
    if " " in end[:_LONGEST_WORD]:
        end = end.partition(" ")[2]
    return f"{start} … {end}"
