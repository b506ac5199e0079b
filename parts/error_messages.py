"""Messages for people in one line, however long or odd the values are that they show."""

import errno
import os
from pathlib import Path

from ecsuite.runtime.errors import RUN_AGAIN
from ecsuite.runtime.printable import printable

MAX_LENGTH = 300
"""Most characters of a message."""
_BEGINNING = 170
"""Characters of its beginning that are kept of a longer one: they have the place; the end says what to type."""
AFTER_FULL = f"; files of before are whole: make room, then {RUN_AGAIN}"
"""End of the message on a full disk."""
NO_ACCESS = (errno.EROFS, errno.EACCES, errno.EPERM)
"""Errors of files and folders that this user may not change, or not read."""


def path_text(path: str | Path) -> str:
    """A path as text that is safe to print: bytes in it that are no UTF-8 are shown as their numbers."""
    return printable(os.fsencode(path).decode(errors="backslashreplace"))


def of_system(error: OSError) -> str:
    """Message of an error of the system, with the place and what to do."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return one_line(error) + AFTER_FULL
    if error.errno is None or error.filename is None:
        return one_line(error)
    place = Path(os.fsdecode(error.filename))
    if place.name.startswith(".") and place.suffix in (".lock", ".tmp"):
        place = place.parent  # the file is ours, and has a name that nobody typed
    if error.errno not in NO_ACCESS:
        told = os.strerror(error.errno).lower()
        expected = ": expected a folder" if error.errno in (errno.EEXIST, errno.ENOTDIR) else ""
        return one_line(f"{place}: {told}{expected}")
    return one_line(
        f"{place}: {os.strerror(error.errno).lower()}: expected one that you may change; choose another (--out, "
        "--cache), or change who may write there"
    )


def one_line(message: object) -> str:
    """A message that is safe to print, see `printable`, and cut in its middle."""
    text = printable(message)
    if len(text) <= MAX_LENGTH:
        return text
    return f"{text[:_BEGINNING]} … {text[_BEGINNING + 3 - MAX_LENGTH :]}"
