import sys
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from languages import rows_of

from ecsuite.formats import read_corpus
from ecsuite.runtime.errors import CorpusError


def write_parquet(path: Path, **columns: list[Any]) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pyarrow.table(columns), path)


def test_parquet_integers(tmp_path):
    write_parquet(tmp_path / "a.parquet", score=[0.5, 0.5, 0.5], input_ids=[[1, 2], [], [30]])
    corpus = read_corpus(tmp_path / "a.parquet")
    assert rows_of(corpus.messages) == [[1, 2], [], [30]]
    assert corpus.messages.values.dtype == np.int32
    assert corpus.messages.offsets.dtype == np.int64
    assert corpus.metadata["source_format"] == "table of Arrow or Parquet"


def test_a_folder_of_parquet_files(tmp_path):
    write_parquet(tmp_path / "1.parquet", text=["da bu"])
    write_parquet(tmp_path / "2.parquet", text=["bu", ""])
    corpus = read_corpus(tmp_path)
    assert rows_of(corpus.messages) == [[0, 1], [1], []]
    assert corpus.symbol_names == ("da", "bu")


def test_parquet_of_string_lists(tmp_path):
    write_parquet(tmp_path / "a.parquet", tokens=[["da", "bu"], ["bu"]])
    corpus = read_corpus(tmp_path / "a.parquet")
    assert rows_of(corpus.messages) == [[0, 1], [1]]
    assert corpus.symbol_names == ("da", "bu")


INTS = "expected a message as a list of integers or of strings, or as a text, got"


@pytest.mark.parametrize(
    ("column", "faults"),
    [
        (
            [[1], [-2], [1, None], [2**40]],
            f"a.parquet: row 2: {INTS} -2 (and 2 more)",
        ),
        ([[2**40]], f"a.parquet: row 1: expected integers below 2147483648, got {2**40}"),
        ([[1.0], [float("nan")]], f"a.parquet: row 1: {INTS} 1.0 (and 1 more)"),
        ([{"a": 1}], f'a.parquet: row 1: {INTS} {{"a": 1}}'),
    ],
)
def test_faults_in_parquet_are_told_by_row(tmp_path, column, faults):
    write_parquet(tmp_path / "a.parquet", input_ids=column)
    with pytest.raises(CorpusError) as caught:
        read_corpus(tmp_path / "a.parquet")
    assert str(caught.value) == f"{tmp_path}/{faults}"


def not_utf8(kind: str) -> Any:
    """An Arrow array of texts whose second one is not UTF-8."""
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


def test_tables_that_are_none(tmp_path):
    write_parquet(tmp_path / "a.parquet", words=[[1]])
    with pytest.raises(CorpusError) as caught:
        read_corpus(tmp_path)
    first, *_, command = str(caught.value).splitlines()
    assert first == f"{tmp_path}: no column of messages among words"
    assert command.startswith("  read_corpus(..., columns={'words': 'message'})")
    write_parquet(tmp_path / "a.parquet", text=[])
    with pytest.raises(CorpusError, match=r"/a.parquet: empty table, expected one message per row$"):
        read_corpus(tmp_path / "a.parquet")
    (tmp_path / "a.parquet").write_bytes(b"PAR1 and nothing else")
    with pytest.raises(CorpusError, match=r"/a.parquet: cannot be read as a table: "):
        read_corpus(tmp_path / "a.parquet")


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


def test_the_extra_that_the_remedy_names_exists():
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    assert any(requirement.startswith("pyarrow") for requirement in project["optional-dependencies"]["data"])


def test_places_outside_of_an_arrow_file(tmp_path):
    """Reading there would end the process."""
    pyarrow = pytest.importorskip("pyarrow")
    batch = pyarrow.record_batch({"input_ids": [[3, 1], [4]]})
    sink = pyarrow.BufferOutputStream()
    with pyarrow.ipc.new_stream(sink, batch.schema) as stream:
        stream.write_batch(batch)
    right, wrong = (np.array([0, 2, end], dtype=np.int32).tobytes() for end in (3, 99_999_999))
    data = sink.getvalue().to_pybytes()
    assert data.count(right) == 1
    (tmp_path / "data-0.arrow").write_bytes(data.replace(right, wrong))
    with pytest.raises(CorpusError, match=r"cannot be read as a table: "):
        read_corpus(tmp_path)


def test_columns_of_the_same_name(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    table = pyarrow.Table.from_arrays([pyarrow.array(["da bu"])] * 3, names=["text", "meaning", "meaning"])
    parquet.write_table(table, tmp_path / "a.parquet")
    message = r"a\.parquet: expected distinct names of columns, got several columns 'meaning'$"
    with pytest.raises(CorpusError, match=message):
        read_corpus(tmp_path / "a.parquet")


def test_a_damaged_footer_is_one_line(tmp_path):
    write_parquet(tmp_path / "a.parquet", text=["da bu"])
    data = (tmp_path / "a.parquet").read_bytes()
    footer = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    (tmp_path / "a.parquet").write_bytes(data[:footer] + b"\xff" * 8 + data[footer + 8 :])
    with pytest.raises(CorpusError) as caught:
        read_corpus(tmp_path / "a.parquet")
    said = str(caught.value)
    assert said.startswith(f"{tmp_path}/a.parquet: cannot be read as a table: ") and "\n" not in said
