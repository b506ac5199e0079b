import os
import time

import numpy as np
import pytest

from ecsuite.corpus import Corpus
from ecsuite.files.atomic_files import SECONDS_UNTIL_ABANDONED, remove_abandoned

# Ragged


# Atomic writing


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
