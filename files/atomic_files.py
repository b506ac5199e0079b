"""Files that are written atomically, and what killed processes left of them."""

import glob
import os
import re
import secrets
import socket
import time
import zlib
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from pathlib import Path

from ecsuite.runtime.errors import ConfigError

SECONDS_UNTIL_ABANDONED = 3600
"""Time without a write after which a temporary file is taken to be of a killed process."""
_TEMPORARY = re.compile(r"\..+?(?:\.(\d+)\.(\d+))?\.\d+\.tmp")
"""Names of the temporary files of `write_atomically`, with the number of their process and that of its machine."""


def write_atomically(path: Path | str, data: bytes | Iterable[bytes]) -> None:
    """Write a file atomically: readers, also after a crash, find either the old file or the complete new one.

    A device or a pipe, such as /dev/stdout, is written to, and stays what it is.

    Args:
        path: The file; its directory must exist.
        data: The content, in one or several pieces. If iterating raises, the old file is unchanged.
    """
    path = Path(path)
    if path.is_char_device() or path.is_fifo():
        with open(path, "wb") as file:
            file.writelines([data] if isinstance(data, bytes) else data)
        return
    temporary = _temporary(path)
    try:
        with open(temporary, "xb") as file:
            for piece in (data,) if isinstance(data, bytes) else data:
                file.write(piece)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    directory = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(directory)  # makes the renaming durable
    finally:
        os.close(directory)


def write_if_changed(path: Path, data: bytes) -> None:
    """Write a file atomically, unless this is its content already."""
    try:
        if path.stat().st_size == len(data) and path.read_bytes() == data:
            return
    except OSError:
        pass  # there is none, or it can't be read
    write_atomically(path, data)


def remove_abandoned(folder: Path, name: str | None = None) -> None:
    """Remove temporary files that killed processes left.

    Those are files of processes of this machine that have ended, and files of other machines to which nothing was
    written for an hour.

    Args:
        folder: A folder that is opened for writing; it need not exist.
        name: Only temporary files of this file; None: of all files in the folder, which is a cache, and its subfolders.
    """
    patterns = (".*.tmp", "*/.*.tmp") if name is None else (f".{glob.escape(name)}.*.tmp",)
    for leftover in (file for pattern in patterns for file in folder.glob(pattern)):
        with suppress(FileNotFoundError):  # another process may remove it, or rename it to its final name
            found = _TEMPORARY.fullmatch(leftover.name)
            if found is None:
                continue
            if found[2] == str(_machine()):  # whatever the clock says, and however long a process was stopped
                is_abandoned = _has_ended(int(found[1]))
            else:
                is_abandoned = time.time() - leftover.stat().st_mtime > SECONDS_UNTIL_ABANDONED
            if is_abandoned:
                leftover.unlink()


def _temporary(path: Path) -> Path:
    """A new name for what is written of a file."""
    # Random, because threads have the same process number.
    return path.with_name(f".{path.name}.{os.getpid()}.{_machine()}.{secrets.randbelow(10**12)}.tmp")


def check_output_file(file: Path) -> None:
    """Check before the work starts that a file can be written; a folder that is missing stays so.

    It is tried: on file systems such as /proc nothing can be written, whatever their permissions say.

    Raises:
        ConfigError: If the file is a folder, its name is too long, or nothing can be written into its folder.
    """
    if file.is_dir():
        raise ConfigError(f"{file}: expected a file name, got a folder")
    if file.is_char_device() or file.is_fifo():
        return
    folder = next(each for each in file.absolute().parents if each.exists())
    trial = _temporary(folder / file.name)
    try:
        with open(trial, "xb"):
            pass
        trial.unlink()
    except OSError as error:
        raise ConfigError(
            f"{file}: can't be written ({(error.strerror or str(error)).lower()}); choose another file (--out, --plot)"
        ) from None


def prepare_output_file(file: Path) -> None:
    """Create the folder of an output file before the work starts, and remove what killed processes left of the file.

    Raises:
        ConfigError: See `check_output_file`.
    """
    check_output_file(file)
    file.parent.mkdir(parents=True, exist_ok=True)
    remove_abandoned(file.parent, file.name)


@cache
def _machine() -> int:
    """A number of this machine since it was started; containers with process numbers of their own have their own."""
    known = [socket.gethostname()]
    with suppress(OSError):
        known.append(Path("/proc/sys/kernel/random/boot_id").read_text())
        known.append(os.readlink("/proc/self/ns/pid"))
    return zlib.crc32("".join(known).encode())


def _has_ended(process: int) -> bool:
    """Whether there is no process with this number on this machine."""
    if os.name != "posix":  # where a signal of number 0 ends the process
        return False
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return True
    except OSError:  # of another user
        return False
    return False
