"""Locks of files: the kernel's, which end with their process; the file says who holds it.

On a file system without locks (some network ones) nothing keeps two processes apart, which a note says.
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
    """The right to use what belongs to a file; it ends with `release`, or with this process.

    Args:
        file: Made when it is locked; its folder must exist.
        note: Told if the file system has no locks.
    """

    def __init__(self, file: Path, note: Callable[[str], None] = lambda _: None) -> None:
        self.file, self._note = file, note
        # Without the fallback to lock files, which a killed process leaves behind.
        self._lock = FileLock(file, thread_local=False, fallback_to_soft=False)

    def acquire(self, *, waits: bool = False) -> bool:
        """Take the lock; returns False if another one has it, and `waits` is not set.

        Raises:
            OSError: If the system refuses the file of the lock.
        """
        # What the system refuses is an error here, and would be another one's lock for `FileLock`, which waits for it.
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
        """Holder of the lock and time of the lock, as far as the file says."""
        try:
            return self.file.read_text().strip() or "another process"
        except (OSError, UnicodeDecodeError):
            return "another process"

    @property
    def is_of_this_process(self) -> bool:
        """Whether the file says that this process has the lock."""
        return self.holder.startswith(f"{process_name(os.getpid())},")

    def release(self, *, removes: bool = False) -> None:
        """Give the lock back; does nothing without it.

        Args:
            removes: Whether the file is removed as well. Who waits for it makes it anew.
        """
        if removes:
            self.file.unlink(missing_ok=True)
        self._lock.release()


def process_name(number: int) -> str:
    """How a process of this machine is called where others read it."""
    return f"process {number} on {socket.gethostname()}"
