from pathlib import Path

import pytest

from ecsuite.corpus import Corpus
from ecsuite.formats import read_corpus


def read_text(tmp_path: Path, text: str, **options: str) -> Corpus:
    (tmp_path / "file.jsonl").write_bytes(text.encode())
    return read_corpus(tmp_path / "file.jsonl", **options)


@pytest.mark.parametrize(
    ("messages", "eos"),
    [
        ([[1, 0], [2, 2, 0]], 0),
        ([[1, 9, 9], [9, 9, 9]], 9),
        ([[1, 0], [], [2, 0]], 0),
        ([[1, 0], [2, 1]], None),
        ([[1, 0, 2, 0], [2, 0]], None),
        ([[3], [3, 3]], None),
        ([[1, 0], [1, 0]], None),
        ([[1, 0]], None),
        ([[], []], None),
    ],
)
def test_eos_is_detected(tmp_path, messages, eos):
    corpus = read_text(tmp_path, "".join(f"{message}\n" for message in messages))
    assert corpus.eos == eos
    assert corpus.metadata["eos_source"] == "detected"
