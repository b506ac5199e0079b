"""Faults at filesystem events: a process dies, or its disk is full or read-only, at the n-th change of a file.

Events are writes, fsync, rename, unlink, mkdir, rmdir, and opening for writing, below one folder.
"""

import builtins
import errno
import io
import os

DEAD = 137
"""Exit code of a process that died at an event, as of one that is killed."""
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
NEEDS_ROOM = ("write", "open", "mkdir", "fsync")
"""Events that fail on a full disk."""
ERRORS = {"full": errno.ENOSPC, "read_only": errno.EROFS, "denied": errno.EACCES}
"""What the system says by fault."""


class Events:
    """Counts the events of this process from `install` on, and makes one of them fail.

    Args:
        folder: Where they count.
        at: The number of the event that fails, from 1; None: none.
        fault: die: the process ends before the event, and half of what is written is there; full: it and each later
            event that needs room fail with ENOSPC; read_only, denied: it and each later event fail.
    """

    def __init__(self, folder, at, fault):
        self.folder, self.at, self.fault, self.count = os.path.realpath(folder), at, fault, 0
        self.kinds = {}
        self.directories = {}

    def happens(self, kind, path, before=lambda: None):
        if not self._counts(path):
            return
        self.count += 1
        self.kinds[kind] = self.kinds.get(kind, 0) + 1
        if self.at is None or self.count < self.at:
            return
        if self.fault == "die":
            before()
            os._exit(DEAD)
        if kind in NEEDS_ROOM or self.fault != "full":
            before()
            raise OSError(ERRORS[self.fault], os.strerror(ERRORS[self.fault]), path)

    def _counts(self, path):
        if isinstance(path, int):
            path = os.readlink(f"/proc/self/fd/{path}")  # of a pipe, no path
            return path.startswith(self.folder)
        return os.path.abspath(os.fsdecode(path)).startswith(self.folder)

    def install(self, exchange=setattr):
        """Exchange the functions that change files, with `exchange(module, name, function)`."""
        for kind, name in (("unlink", "unlink"), ("unlink", "remove"), ("mkdir", "mkdir"), ("rmdir", "rmdir")):
            exchange(os, name, self._checked(kind, getattr(os, name)))
        for name in ("rename", "replace"):
            exchange(os, name, self._checked("rename", getattr(os, name)))
        exchange(os, "fsync", self._checked("fsync", os.fsync))
        plain_open, plain_file = os.open, io.open

        def opened(path, flags, *args, **kwargs):
            if flags & WRITING:
                self.happens("open", path)
            return plain_open(path, flags, *args, **kwargs)

        def file(path, mode="r", *args, **kwargs):
            if not set(mode) & set("wxa+"):
                return plain_file(path, mode, *args, **kwargs)
            self.happens("open", path)
            found = plain_file(path, mode, *args, **kwargs)
            return Written(found, self, path) if self._counts(path) else found

        exchange(os, "open", opened)
        exchange(io, "open", file)
        exchange(builtins, "open", file)

    def _checked(self, kind, function):
        def checked(path, *args, **kwargs):
            self.happens(kind, path)
            return function(path, *args, **kwargs)

        return checked


class Written:
    """A file that is open for writing."""

    def __init__(self, file, events, path):
        self._file, self._events, self._path = file, events, path

    def write(self, data):
        def half():
            self._file.write(data[: len(data) // 2])
            self._file.flush()

        self._events.happens("write", self._path, half)
        return self._file.write(data)

    def __enter__(self):
        self._file.__enter__()
        return self

    def __exit__(self, *args):
        return self._file.__exit__(*args)

    def __iter__(self):
        return iter(self._file)

    def __getattr__(self, name):
        return getattr(self._file, name)
