import os
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from languages import rows_of

from ecsuite.corpus import Corpus
from ecsuite.files.atomic_files import SECONDS_UNTIL_ABANDONED, remove_abandoned, write_atomically
from ecsuite.runtime.ragged import Ragged

# Ragged


def test_from_rows_and_back():
    ragged = Ragged.from_rows([[4, 5], [], [6]])
    assert rows_of(ragged) == [[4, 5], [], [6]]
    assert ragged.lengths.tolist() == [2, 0, 1]
    assert len(Ragged.from_rows([])) == 0


def test_no_integer_is_wrapped():
    with pytest.raises(OverflowError, match="expected integers of 32 bits, got 4294967297"):
        Ragged.from_rows([np.array([3]), np.array([2**32 + 1])])


@given(st.lists(st.lists(st.integers(0, 9), max_size=4), min_size=1, max_size=8), st.data())
def test_rows_are_taken_in_any_order(rows, data):
    chosen = data.draw(st.lists(st.integers(0, len(rows) - 1), max_size=9))
    assert rows_of(Ragged.from_rows(rows).take(np.array(chosen, np.int64))) == [rows[i] for i in chosen]


def test_rows_of_a_table():
    rows = Ragged.from_table(np.array([[3, 1], [4, 1], [5, 9]]))
    assert [rows[index].tolist() for index in range(3)] == [[3, 1], [4, 1], [5, 9]]
    assert rows.values.dtype == np.int32 and rows.offsets.dtype == np.int64
    empty = Ragged.from_table(np.zeros((2, 0), np.int64))
    assert len(empty) == 2 and not empty.lengths.any()


def test_more_rows_than_a_block_are_taken():
    rows = Ragged.from_lengths(np.arange(300_000, dtype=np.int32), np.tile([1, 0, 2], 100_000))
    taken = rows.take(np.arange(len(rows))[::-1])
    assert len(taken) == len(rows) and taken[0].tolist() == [299_998, 299_999]
    assert taken[len(rows) - 1].tolist() == [0] and taken.lengths.tolist() == rows.lengths[::-1].tolist()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ([[1, 2, 0], [0], [], [3, 0, 0, 4], [5, 6]], [[1, 2], [], [], [3], [5, 6]]),
        ([[], [], [0, 0]], [[], [], []]),
        ([], []),
        ([[1], [2]], [[1], [2]]),
    ],
)
def test_before_cuts_at_the_first_occurrence(before, after):
    assert rows_of(Ragged.from_rows(before).before(0)) == after


def test_before_cuts_more_rows_than_a_block():
    """Of 50,000 rows each is cut, some are padded, and some have no end."""
    rows = [[row % 7 + 1] * (row % 4) + [0] * (row % 3) + [9] * (row % 5 == 0) for row in range(50_000)]
    cut = Ragged.from_rows(rows).before(0)
    assert rows_of(cut) == [row[: row.index(0)] if 0 in row else row for row in rows]
    assert [len(block) for block in cut.blocks(30_000)] == [30_000, 20_000]
    assert [row for block in cut.blocks() for row in rows_of(block)] == rows_of(cut)


@pytest.mark.parametrize(
    ("highest", "kind"), [(0, np.uint8), (255, np.uint8), (256, np.uint16), (1 << 16, np.uint32)]
)
def test_narrowed_is_the_same_in_a_smaller_type(highest, kind):
    narrowed = Ragged.from_rows([[0, highest], [], [highest]]).narrowed()
    assert narrowed.values.dtype == kind and rows_of(narrowed) == [[0, highest], [], [highest]]


@pytest.mark.parametrize("huge", [7, 2_147_483_647])
def test_reindexed_is_dense_in_order_of_id(huge):
    dense, originals = Ragged.from_rows([[huge, 3], [], [3, 5]]).reindexed()
    assert rows_of(dense) == [[2, 0], [], [0, 1]]
    assert originals.tolist() == [3, 5, huge]
    assert dense.values.dtype == originals.dtype == np.int32


def test_reindexed_of_nothing():
    dense, originals = Ragged.from_rows([[], []]).reindexed()
    assert rows_of(dense) == [[], []]
    assert originals.size == 0


def test_corpus_reindexes_its_content():
    dense, originals = Corpus(
        messages=Ragged.from_rows([[1, 2, 0], [], [3, 0], [0], [2147483647, 5, 0]]), eos=0
    ).reindexed()
    assert rows_of(dense) == [[0, 1], [], [2], [], [4, 3]]
    assert originals.tolist() == [1, 2, 3, 5, 2147483647]


# Atomic writing


def test_write_atomically_replaces_and_leaves_nothing_else(tmp_path):
    write_atomically(tmp_path / "file", b"old")
    write_atomically(tmp_path / "file", iter([b"n", b"ew"]))
    assert (tmp_path / "file").read_bytes() == b"new"
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_the_old_file_survives_a_failure_half_way(tmp_path):
    def pieces() -> Iterator[bytes]:
        yield b"ne"
        raise RuntimeError("power cut")

    write_atomically(tmp_path / "file", b"old")
    with pytest.raises(RuntimeError, match="power cut"):
        write_atomically(tmp_path / "file", pieces())
    assert (tmp_path / "file").read_bytes() == b"old"
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_writers_with_equal_process_numbers_do_not_collide(tmp_path):
    """As two threads, or processes of two containers that share a folder."""
    file = tmp_path / "file"
    contents = [bytes([number]) * 1000 for number in range(4)]

    def write(content):
        for _ in range(25):
            write_atomically(file, content)

    with ThreadPoolExecutor() as pool:
        list(pool.map(write, contents))
    assert file.read_bytes() in contents
    assert list(tmp_path.iterdir()) == [file]


def test_what_ended_processes_left_is_removed_at_once_and_living_ones_keep_theirs(tmp_path):
    """Of two processes that write a file, one is killed; another machine's are left alone."""
    written = {}
    for end in ("time.sleep(60)", "os._exit(137)"):
        code = "import os, sys, time\nfrom ecsuite.files.atomic_files import write_atomically\n"
        code += "def pieces():\n yield b'x'\n"
        code += f" print(1, flush=True)\n {end}\nwrite_atomically(sys.argv[1], pieces())"
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
    kept = [tmp_path / "a.json", tmp_path / ".hidden", tmp_path / ".mine.tmp", tmp_path / "c.json.7.tmp"]
    for file in (*old, *kept):
        file.write_bytes(b"half")
        long_ago = time.time() - SECONDS_UNTIL_ABANDONED - 1
        os.utime(file, (long_ago, long_ago))
    young = tmp_path / ".a.json.123.tmp"
    young.write_bytes(b"half")
    remove_abandoned(tmp_path / "weights", "b[1].safetensors")
    assert [file.exists() for file in old] == [True, False]
    remove_abandoned(tmp_path)
    remove_abandoned(tmp_path / "none")
    assert not any(file.exists() for file in old)
    assert all(file.exists() for file in (*kept, young))


def test_messages_are_taken_as_numpy_takes_rows():
    """From the end they were those after it, or of the length of another one."""
    corpus = Corpus([[1, 2], [3], [4, 5, 6], []], meanings=[[0], [1], [2], [3]])
    rows = [[1, 2], [3], [4, 5, 6], []]
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
