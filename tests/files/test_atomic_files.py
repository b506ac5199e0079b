"""Atomic writing as the disk and other users see it; what is replaced and removed when is in `test_corpus`."""

import os
import threading
from pathlib import Path

from ecsuite.files import atomic_files
from ecsuite.files.atomic_files import check_output_file, prepare_output_file, write_atomically


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
