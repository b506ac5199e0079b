import os
import subprocess
import sys
import threading
from pathlib import Path

from ecsuite.files import atomic_files
from ecsuite.files.atomic_files import check_output_file, prepare_output_file, write_atomically
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
