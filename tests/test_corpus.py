import os
import subprocess
import sys
import time

import numpy as np
import pytest

from ecsuite.corpus import Corpus
from ecsuite.files.atomic_files import SECONDS_UNTIL_ABANDONED, remove_abandoned, write_atomically


def test_the_old_file_survives_a_failure_half_way(tmp_path):
    def pieces():
        yield b"ne"
        raise RuntimeError("power cut")

    write_atomically(tmp_path / "file", b"old")
    with pytest.raises(RuntimeError, match="power cut"):
        write_atomically(tmp_path / "file", pieces())
    assert (tmp_path / "file").read_bytes() == b"old"
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_what_ended_processes_left_is_removed_at_once_and_living_ones_keep_theirs(tmp_path):
    """Of two processes that write a file, one is killed; another machine's are left alone."""
    written = {}
    for end in ("time.sleep(60)", "os._exit(137)"):
        code = "import os, sys, time\nfrom ecsuite.files.atomic_files import write_atomically\n"
        code += f"def pieces():\n yield b'x'\n print(1, flush=True)\n {end}\nwrite_atomically(sys.argv[1], pieces())"
        before = set(tmp_path.iterdir())
        process = subprocess.Popen([sys.executable, "-c", code, tmp_path / "a"], stdout=subprocess.PIPE)
        assert process.stdout.readline()
        (written[process],) = set(tmp_path.iterdir()) - before
    living, dead = written
    dead.communicate()
    elsewhere = tmp_path / f".a.{dead.pid}.1.5.tmp"
    elsewhere.write_bytes(b"half")
    os.utime(written[living], (0, 0))  # as after a jump of the clock
    remove_abandoned(tmp_path)
    assert set(tmp_path.iterdir()) == {written[living], elsewhere}
    living.kill()
    living.communicate()
    remove_abandoned(tmp_path)
    assert list(tmp_path.iterdir()) == [elsewhere]


def test_what_killed_processes_left_is_removed_after_an_hour(tmp_path):
    (tmp_path / "weights").mkdir()
    old = [tmp_path / ".a.json.99999.tmp", tmp_path / "weights" / ".b[1].safetensors.7.tmp"]
    kept = [tmp_path / name for name in ("a.json", ".hidden", ".mine.tmp", "c.json.7.tmp", ".a.json.123.tmp")]
    long_ago = time.time() - SECONDS_UNTIL_ABANDONED - 1
    for file in (*old, *kept):
        file.write_bytes(b"half")
        if file.name != ".a.json.123.tmp":  # a young one
            os.utime(file, (long_ago, long_ago))
    remove_abandoned(tmp_path / "weights", "b[1].safetensors")
    assert [file.exists() for file in old] == [True, False]
    remove_abandoned(tmp_path)
    remove_abandoned(tmp_path / "none")
    assert not any(file.exists() for file in old) and all(file.exists() for file in kept)


def test_messages_are_taken_as_numpy_takes_rows():
    rows = [[1, 2], [3], [4, 5, 6], []]
    corpus = Corpus(rows, meanings=[[0], [1], [2], [3]])
    assert [corpus.messages[place].tolist() for place in range(-4, 4)] == 2 * rows
    for places in ([-2, -4], np.array([-2, 0]), [2, 0]):
        taken = corpus.take(places)
        assert [row.tolist() for row in taken.messages] == [[4, 5, 6], [1, 2]]
        assert taken.meanings.tolist() == [[2], [0]]
    assert corpus.take(corpus.messages.lengths > 1).meanings.tolist() == [[0], [2]]
    assert not len(corpus.take([]).messages)
    for places in ([4], [-5], [0.5], [True], [[0]]):
        with pytest.raises(IndexError, match="expected "):
            corpus.take(places)
