"""Write files atomically, and remove temporary files of killed processes."""

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
"""Time without a write after which the process of a temporary file counts as killed."""
_TEMPORARY = re.compile(r"\..+?(?:\.(\d+)\.(\d+))?\.\d+\.tmp")
"""Pattern of names of temporary files of `write_atomically`, with the numbers of process and machine."""


def write_atomically(path: Path | str, data: bytes | Iterable[bytes]) -> None:
    """Write a file atomically: readers, also after a crash, see either the old file or the complete new file.

    Devices and pipes, such as /dev/stdout, are written to directly.

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
    """Write a file atomically, unless it already has this content."""
    try:
        if path.stat().st_size == len(data) and path.read_bytes() == data:
            return
    except OSError:
        pass  # there is none, or it can't be read
    write_atomically(path, data)


def remove_abandoned(folder: Path, name: str | None = None) -> None:
    """Remove temporary files of killed processes.

    These are files of ended processes of this machine, and files of other machines without a write for an hour.

    Args:
        folder: The folder; it need not exist.
        name: Only temporary files of this file; None: of all files in the folder, a cache, and its subfolders.
    """
    patterns = (".*.tmp", "*/.*.tmp") if name is None else (f".{glob.escape(name)}.*.tmp",)
    for leftover in (file for pattern in patterns for file in folder.glob(pattern)):
        with suppress(FileNotFoundError):  # another process may remove it, or rename it to its final name
            found = _TEMPORARY.fullmatch(leftover.name)
            if found is None:
                continue
            if found[2] == str(_machine()):  # independent of the clock, and of suspended processes
                is_abandoned = _has_ended(int(found[1]))
            else:
                is_abandoned = time.time() - leftover.stat().st_mtime > SECONDS_UNTIL_ABANDONED
            if is_abandoned:
                leftover.unlink()


def _temporary(path: Path) -> Path:
    # Random, because threads have the same process number.
    return path.with_name(f".{path.name}.{os.getpid()}.{_machine()}.{secrets.randbelow(10**12)}.tmp")


def check_output_file(file: Path) -> None:
    """Check before a computation that a file can be written; a missing folder is not created.

    The check writes a file, since permissions do not tell on file systems such as /proc.

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
    """Create the folder of an output file before a computation, and remove its abandoned temporary files.

    Raises:
        ConfigError: See `check_output_file`.
    """
    check_output_file(file)
    file.parent.mkdir(parents=True, exist_ok=True)
    remove_abandoned(file.parent, file.name)


@cache
def _machine() -> int:
    """Number of this machine or container since its start."""
    known = [socket.gethostname()]
    with suppress(OSError):
        known.append(Path("/proc/sys/kernel/random/boot_id").read_text())
        known.append(os.readlink("/proc/self/ns/pid"))
    return zlib.crc32("".join(known).encode())


def _has_ended(process: int) -> bool:
    if os.name != "posix":  # on Windows, signal 0 ends the process
        return False
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return True
    except OSError:  # a process of another user
        return False
    return False
