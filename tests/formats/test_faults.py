import sys
from pathlib import Path

import numpy as np
import pytest

from ecsuite.corpus import Corpus
from ecsuite.formats import json_tables, read_corpus, stored_text, strict_json, write_corpus
from ecsuite.runtime.errors import CorpusError, DamagedError
from ecsuite.runtime.ragged import Ragged
from languages import rows_of

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
        (b"[0, 1]", f"{MEANINGS} [0, 1]"), (b"{}", f"{MEANINGS} {{}}"),
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
)  # fmt: skip
def test_a_faulty_line_among_meanings(tmp_path, line, message):
    (tmp_path / "corpus.jsonl").write_text("[1]\n[2]\n")
    first = b'{"meaning": [0, 1], "concepts": ["a"]}\n'
    (tmp_path / "meanings.jsonl").write_bytes(first + line + b"\n")
    assert fault_of(tmp_path) == f"meanings.jsonl:2: {message}"


@pytest.mark.parametrize("name", ["corpus.jsonl", "meanings.jsonl"])
def test_a_changed_file_is_named(directory, name):
    (directory / name).write_text((directory / name).read_text().replace("1", "2"))
    with pytest.raises(DamagedError, match=f"{name}: damaged or edited .* ecsuite verify "):
        read_corpus(directory)


FAULTS = {
    "a.csv": {
        "message,color\n1 2,red\n3\n": "a.csv: row 3: expected 2 cells, as in the header, got 1",
        "color,shape\nred,star\n": "a.csv: no column of messages among color, shape",
        "message,color\n": "a.csv: a header and no rows, expected one message per row",
        "": "a.csv: empty file, expected a header with a column `message`",
    },
    "a.txt": {"": "a.txt: empty file, expected one message per line, such as 3 1 4"},
    "a.jsonl": {
        '{"message": [1], "meaning": [0, 1]}\n' + '{"message": [1], "meaning": [0]}\n' * 30: (
            "a.jsonl: expected meanings of one length, got 1, 2"
        ),
        '{"message": [1], "meaning": [0]}\n' + '{"message": [1], "meaning": {"a": 1}}\n' * 30: (
            'a.jsonl:2, column meaning: expected a value like the first, got {"a": 1}'
        ),
        '{"message": [1], "c": {"x": 1}, "c.x": 5}\n{"message": [2], "c": {"x": 2}, "c.x": 6}\n': (
            "a.jsonl: two columns have the name c.x: one is in column c.x"
        ),
        '{"message": {"a": 1}}\n': (
            'a.jsonl:1: expected a message as a list of integers or of strings, or as a text, got {"a": 1}'
        ),
        '{"message": [1]}\n[1]\n': (
            'a.jsonl:2: expected an object such as {"message": [3, 1, 4], "meaning": {"color": "red"}}, got [1]'
        ),
        '{"message": [1], "meaning": {"a": 1}}\n{"message": [1], "meaning": "red"}\n': (
            'a.jsonl:2, column meaning: expected a value like the first, got "red"'
        ),
    },
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "text", "message"), [(name, *item) for name, faults in FAULTS.items() for item in faults.items()]
)
def test_a_fault_is_one_line(tmp_path, name, text, message):
    (tmp_path / name).write_text(text)
    with pytest.raises(CorpusError) as caught:
        read_corpus(tmp_path / name)
    assert str(caught.value).splitlines()[0] == f"{tmp_path}/{message}"


@pytest.mark.parametrize("path", ["runs/x", "runs/x/corpus.jsonl"])
def test_a_run_without_a_corpus_says_what_to_do(refused, tmp_path, path):
    (tmp_path / "runs/x").mkdir(parents=True)
    (tmp_path / "runs/x/config.yaml").write_text("name: x\n")
    assert refused("score", path) == (
        "runs/x: the run has no corpus yet: wait until its training ends, or continue it with "
        "`ecsuite train-game runs/x/config.yaml --out runs/x --resume`\n"
    )


def not_utf8(kind):
    import pyarrow

    whole = pyarrow.array([b"ok", b"ab\xff"], pyarrow.binary())
    texts = pyarrow.Array.from_buffers(pyarrow.string(), 2, whole.buffers())
    return texts if kind == "text" else pyarrow.ListArray.from_arrays(pyarrow.array([0, 1, 2]), texts)


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ("text", "a.parquet: row 2: expected a text, got a byte that is not UTF-8: 0xff"),
        ("tokens", "a.parquet: row 2: expected a text, got a byte that is not UTF-8: 0xff"),
        (b"\xff", "a.parquet: cannot be read as a table: 'utf-8' codec can't decode byte 0xff in…"),
    ],
    ids=["text", "tokens", "name of the column"],
)
def test_text_that_is_not_utf8(tmp_path, column, message):
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    values = [1, 2] if isinstance(column, bytes) else not_utf8(column)
    parquet.write_table(pyarrow.table({column: values}), tmp_path / "a.parquet")
    with pytest.raises(CorpusError) as caught:
        read_corpus(tmp_path / "a.parquet")
    assert str(caught.value) == f"{tmp_path}/{message}"


def test_saved_datasets(tmp_path):
    datasets = pytest.importorskip("datasets")
    datasets.disable_progress_bars()
    dataset = datasets.Dataset.from_dict({"input_ids": [[1, 2, 0], [3, 0]]})
    dataset.save_to_disk(tmp_path / "one")
    corpus = read_corpus(tmp_path / "one")
    assert rows_of(corpus.messages) == [[1, 2, 0], [3, 0]]
    assert corpus.eos == 0
    datasets.DatasetDict(train=dataset).save_to_disk(tmp_path / "single")
    assert rows_of(read_corpus(tmp_path / "single").messages) == [[1, 2, 0], [3, 0]]
    datasets.DatasetDict(train=dataset, test=dataset).save_to_disk(tmp_path / "two")
    with pytest.raises(CorpusError) as caught:
        read_corpus(tmp_path / "two")
    folder = tmp_path / "two"
    assert str(caught.value) == f"{folder}: choose a split: {folder / 'test'}, {folder / 'train'}"


def test_without_pyarrow_the_remedy_is_named(tmp_path, monkeypatch):
    (tmp_path / "a.parquet").write_bytes(b"PAR1")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(CorpusError, match=r"pip install -e '\.\[data\]' in the clone of ecsuite$"):
        read_corpus(tmp_path / "a.parquet")


def test_columns_of_the_same_name(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    table = pyarrow.Table.from_arrays([pyarrow.array(["da bu"])] * 3, names=["text", "meaning", "meaning"])
    parquet.write_table(table, tmp_path / "a.parquet")
    message = r"a\.parquet: expected distinct names of columns, got several columns 'meaning'$"
    with pytest.raises(CorpusError, match=message):
        read_corpus(tmp_path / "a.parquet")
