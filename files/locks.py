"""File locks of the kernel, which end with their process; the lock file names the holder.

On file systems without locks (some network file systems), processes are not kept apart, and a note reports it.
"""

import errno
import os
import socket
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from filelock import FileLock, Timeout

NO_LOCKS = (errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS)
"""Errors of file systems that have no locks."""


class Lock:
    """A lock, which ends with `release` or with this process.

    Args:
        file: The lock file, which is created; its folder must exist.
        note: Called with a message if the file system has no locks.
    """

    def __init__(self, file: Path, note: Callable[[str], None] = lambda _: None) -> None:
        self.file, self._note = file, note
        # No fallback to files without kernel locks, which outlive a killed process.
        self._lock = FileLock(file, thread_local=False, fallback_to_soft=False)

    def acquire(self, *, waits: bool = False) -> bool:
        """Take the lock; return False if another process has it and `waits` is False.

        Raises:
            OSError: If the lock file can't be opened.
        """
        # `FileLock` would treat missing permissions as a lock of another process, and wait for it.
        os.close(os.open(self.file, os.O_CREAT | os.O_RDWR, 0o644))
        try:
            self._lock.acquire(blocking=waits)
        except Timeout:
            return False
        except OSError as error:
            if error.errno not in NO_LOCKS:
                raise
            self._note(
                f"{self.file.parent}: its file system has no locks ({os.strerror(error.errno)}): start no second "
                "process on the same files"
            )
            return True
        self.file.write_text(f"{process_name(os.getpid())}, since {datetime.now():%Y-%m-%d %H:%M:%S}\n")
        return True

    @property
    def holder(self) -> str:
        """Holder and time of the lock, if the file has them."""
        try:
            return self.file.read_text().strip() or "another process"
        except (OSError, UnicodeDecodeError):
            return "another process"

    @property
    def is_of_this_process(self) -> bool:
        """Whether this process is the holder in the file."""
        return self.holder.startswith(f"{process_name(os.getpid())},")

    def release(self, *, removes: bool = False) -> None:
        """Release the lock, if it is held.

        Args:
            removes: Whether to remove the file; waiting processes create it again.
        """
        if removes:
            self.file.unlink(missing_ok=True)
        self._lock.release()


def process_name(number: int) -> str:
    """Name of a process of this machine for other processes and users."""
    return f"process {number} on {socket.gethostname()}"
