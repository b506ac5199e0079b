"""Locks: who holds one is named, they end with their process, and file systems without them are told of."""

import errno
import fcntl
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from ecsuite.files.locks import Lock

HOLD = """
import sys, time
from pathlib import Path
from ecsuite.files.locks import Lock
lock = Lock(Path(sys.argv[1]))
assert lock.acquire()
print(1, flush=True)
time.sleep(60)
"""


def test_a_lock_names_its_holder_and_ends_with_it(tmp_path):
    file = tmp_path / "lock"
    holder = subprocess.Popen([sys.executable, "-c", HOLD, str(file)], stdout=subprocess.PIPE)
    assert holder.stdout.readline()
    second = Lock(file)
    assert not second.acquire() and second.holder.startswith(f"process {holder.pid} on ")
    assert ", since 2" in second.holder and not second.is_of_this_process
    holder.kill()
    holder.communicate()
    assert second.acquire() and second.is_of_this_process
    second.release(removes=True)
    assert not file.exists()


@pytest.mark.parametrize("error", [errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS])
def test_a_file_system_without_locks_is_told_of_and_used(tmp_path, monkeypatch, error):
    def no_lock(*_):
        raise OSError(error, os.strerror(error))

    monkeypatch.setattr(fcntl, "flock", no_lock)
    notes = []
    lock = Lock(tmp_path / "lock", notes.append)
    assert lock.acquire()
    (note,) = notes
    assert note.startswith(f"{tmp_path}: its file system has no locks") and "start no second process" in note
    lock.release(removes=True)


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="there is no /proc")
def test_what_the_system_refuses_is_no_lock_of_another_process():
    """`--out /proc/x` waited for ever for the end of another process."""
    for waits in (False, True):
        with pytest.raises(OSError, match="/proc/x"):
            Lock(Path("/proc/x.lock")).acquire(waits=waits)


def test_other_errors_are_errors(tmp_path, monkeypatch):
    def broken(*_):
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(fcntl, "flock", broken)
    with pytest.raises(OSError, match=os.strerror(errno.EIO)):
        Lock(tmp_path / "lock").acquire()


def test_a_file_is_removed_while_its_lock_is_held(tmp_path, monkeypatch):
    """Else that of the next who has it would be removed."""
    lock, found = Lock(tmp_path / "lock"), []
    assert lock.acquire()
    monkeypatch.setattr(lock._lock, "release", lambda: found.append(lock.file.exists()))
    lock.release(removes=True)
    assert found == [False]


def test_a_lock_of_a_similar_process_is_not_of_this_one(tmp_path):
    lock = Lock(tmp_path / "lock")
    number, machine = os.getpid(), socket.gethostname()
    for holder in (f"{number}1 on {machine}", f"{number} on {machine}2", f"{number} on {machine[:-1]}"):
        lock.file.write_text(f"process {holder}, since 2026-11-25 12:00:00\n")
        assert not lock.is_of_this_process
