from pathlib import Path

import numpy as np
import pytest

from ecsuite.corpus import Corpus
from ecsuite.formats import json_tables, read_corpus, stored_text, strict_json, write_corpus
from ecsuite.runtime.errors import CorpusError
from ecsuite.runtime.ragged import Ragged

INTS = "expected a list of non-negative integers, got"
WIDE = "expected integers of at most 64 bits, got"
NUMBERS = "expected a meaning to be a list of numbers, or of strings, got"
MEANINGS = 'expected an object such as {"meaning": [0, 2], "concepts": ["color=red"]}, got'


def fault_of(path: Path) -> str:
    with pytest.raises(CorpusError) as caught:
        read_corpus(path)
    return str(caught.value).removeprefix(f"{path if path.is_dir() else path.parent}/")


def fault_in(folder: Path, data: bytes, name: str = "corpus.jsonl") -> str:
    (folder / name).write_bytes(data)
    return fault_of(folder / name)


@pytest.fixture
def small_blocks(monkeypatch):
    for module in (stored_text, json_tables):
        monkeypatch.setattr(module, "_BLOCK", 64)


# Whole files


def test_nothing_to_read(tmp_path):
    path = tmp_path / "no.jsonl"
    assert fault_of(path) == f"cannot read {path}: No such file or directory"
    assert fault_of(tmp_path) == f"{tmp_path}: the folder has no corpus.jsonl, Parquet file or saved dataset"
    for name in ("b.jsonl", "a.jsonl"):
        (tmp_path / name).write_text('{"message": [1]}\n')
    assert fault_of(tmp_path).endswith("; name one of its files: a.jsonl, b.jsonl")


def test_a_huge_line_is_read_if_plain(tmp_path, monkeypatch, small_blocks):
    monkeypatch.setattr(strict_json, "_MAX_LINE_BYTES", 1000)
    numbers = list(range(1000))
    (tmp_path / "corpus.jsonl").write_text(f"[1]\n{numbers}\n[2]\n")
    assert read_corpus(tmp_path).messages[1].tolist() == numbers
    message = fault_in(tmp_path, f"[1]\n{[*numbers, 2.5]}\n[2]\n".encode())
    assert message == f"corpus.jsonl:2: {INTS} a line of 4895 bytes that is not plain [1, 2, 3]"


def test_a_line_without_end_is_refused(tmp_path, monkeypatch, small_blocks):
    monkeypatch.setattr(stored_text, "_MAX_LINE_BYTES", 1000)
    message = fault_in(tmp_path, b"[1]\n" + b"[" * 5000)
    assert message == "corpus.jsonl:2: expected a line of at most 1000 bytes, got more"


# The files beside


@pytest.fixture
def directory(tmp_path):
    corpus = Corpus(
        messages=Ragged.from_rows([[1, 0], [2, 0], [3, 0]]),
        eos=0,
        meanings=np.array([[0, 1], [1, 0], [1, 1]]),
        concepts=Ragged.from_rows([[0], [1], [0, 1]]),
        concept_names=("a", "b"),
    )
    write_corpus(corpus, tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"[0, 1]", f"{MEANINGS} [0, 1]"),
        (b"{}", f"{MEANINGS} {{}}"),
        (b'{"colour": 1}', f'{MEANINGS} {{"colour": 1}}'),
        (b'{"meaning": [1], "meaning": [2]}', f'{MEANINGS} the duplicate key "meaning"'),
        (b'{"meaning": 1}', f"{NUMBERS} 1"),
        (b'{"meaning": [true]}', f"{NUMBERS} [true]"),
        (b'{"meaning": [1, "a"]}', f'{NUMBERS} [1, "a"]'),
        (b'{"meaning": [1e999]}', f"{MEANINGS} 1e999"),
        (b'{"meaning": [9223372036854775808]}', f"{WIDE} 9223372036854775808"),
        (b'{"meaning": [NaN]}', f"{MEANINGS} NaN"),
        (b'{"concepts": ["a", 1]}', 'expected concepts to be a list of strings, got ["a", 1]'),
        (b'{"concepts": {"a": 1}}', 'expected concepts to be a list of strings, got {"a": 1}'),
        (b'{"concepts": ["\\udc00"]}', f'{MEANINGS} a lone surrogate: {{"concepts": ["\\udc00"]}}'),
        (
            b'{"meaning": [1]}',
            'expected a line like the first, {"meaning": [0, 1], "concepts": ["a"]}, got {"meaning": [1]}',
        ),
        (b"", f"{MEANINGS} an empty line"),
    ],
)
def test_a_faulty_line_among_meanings(tmp_path, line, message):
    (tmp_path / "corpus.jsonl").write_text("[1]\n[2]\n")
    first = b'{"meaning": [0, 1], "concepts": ["a"]}\n'
    (tmp_path / "meanings.jsonl").write_bytes(first + line + b"\n")
    assert fault_of(tmp_path) == f"meanings.jsonl:2: {message}"
