"""Atomic writing as the disk and other users see it; what is replaced and removed when is in `test_corpus`."""

import os
import stat

import pytest

from ecsuite.files import atomic_files
from ecsuite.files.atomic_files import remove_abandoned, write_atomically


def test_content_is_on_the_disk_before_its_name_and_the_name_before_anything_else(tmp_path, monkeypatch):
    done = []
    flush, replace = os.fsync, os.replace

    def fsync(number):
        status = os.fstat(number)
        done.append("folder" if stat.S_ISDIR(status.st_mode) else f"{status.st_size} bytes")
        flush(number)

    def rename(*names):
        done.append("name")
        replace(*names)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(os, "replace", rename)
    write_atomically(tmp_path / "file", iter([b"abc", b"de"]))
    assert done == ["5 bytes", "name", "folder"]


@pytest.mark.parametrize(
    ("error", "is_kept"), [(PermissionError, True), (ProcessLookupError, False), (OverflowError, False)]
)
def test_files_of_a_living_process_of_another_user_are_kept(tmp_path, monkeypatch, error, is_kept):
    """The system answers a signal to such a process with EPERM."""

    def kill(process, number):
        assert (process, number) == (4321, 0)
        raise error

    monkeypatch.setattr(os, "kill", kill)
    file = tmp_path / f".a.json.4321.{atomic_files._machine()}.7.tmp"
    file.write_bytes(b"half")
    remove_abandoned(tmp_path)
    assert file.exists() == is_kept
