"""Atomic writing as the disk and other users see it; what is replaced and removed when is in `test_corpus`."""

import os
import stat
import threading
from pathlib import Path

import pytest

from ecsuite.files import atomic_files
from ecsuite.files.atomic_files import (
    check_output_file,
    prepare_output_file,
    remove_abandoned,
    write_atomically,
)


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


def test_an_error_leaves_the_old_file_and_nothing_else(tmp_path):
    def pieces():
        yield b"new"
        raise KeyboardInterrupt

    (tmp_path / "file").write_bytes(b"old")
    with pytest.raises(KeyboardInterrupt):
        write_atomically(tmp_path / "file", pieces())
    assert [(file.name, file.read_bytes()) for file in tmp_path.iterdir()] == [("file", b"old")]


def test_files_of_another_machine_are_removed_after_an_hour(tmp_path):
    """Nobody here knows whether their process goes on. Names that look like patterns are names."""
    old, new, other = (tmp_path / f".{name}.1.7.3.tmp" for name in ("a[1].json", "[a].json", "a1.json"))
    for file in (old, new, other):
        file.touch()
    for file in (old, other):
        os.utime(file, (0, 0))
    for name in ("a[1].json", "[a].json"):
        remove_abandoned(tmp_path, name)
    assert sorted(tmp_path.iterdir()) == sorted([new, other])


@pytest.mark.parametrize(
    ("owner", "name", "other"),
    [(os, "readlink", "pid:[1]"), (Path, "read_text", "another-start")],
    ids=["container", "start"],
)
def test_numbers_of_processes_are_those_of_their_container(tmp_path, monkeypatch, owner, name, other):
    """A process that goes on in another container of the machine, or went on before it was started, has no number."""
    file = tmp_path / f".a.json.{2**22 + 1}.{atomic_files._machine()}.7.tmp"
    file.touch()
    monkeypatch.setattr(owner, name, lambda path: other)
    atomic_files._machine.cache_clear()
    try:
        remove_abandoned(tmp_path)
    finally:
        atomic_files._machine.cache_clear()
    assert file.exists()


def test_the_folder_of_an_output_file_is_made_again(tmp_path):
    for _ in range(2):
        prepare_output_file(tmp_path / "new" / "page.html")
        (tmp_path / "new").rmdir()


def test_what_was_left_of_an_output_file_is_removed_before_the_work(tmp_path):
    check_output_file(tmp_path / "page.html")
    assert not list(tmp_path.iterdir())  # nothing of the trial
    left = tmp_path / f".page.html.{2**22 + 1}.{atomic_files._machine()}.7.tmp"
    left.touch()
    prepare_output_file(tmp_path / "page.html")
    assert not left.exists()


def test_a_pipe_and_a_device_are_written_to_and_stay(tmp_path, monkeypatch):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()
    write_atomically(pipe, [b"one ", b"two"])
    reader.join(10)
    assert read == [b"one two"] and pipe.is_fifo()
    link = tmp_path / "null"
    link.symlink_to("/dev/null")
    write_atomically(link, b"nothing")
    assert link.is_symlink() and Path("/dev/null").is_char_device()
    monkeypatch.setattr(atomic_files, "_temporary", None)  # no file beside them is tried
    check_output_file(pipe)
    check_output_file(link)
