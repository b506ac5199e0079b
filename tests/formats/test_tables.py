import sys
from typing import Any

import pytest
from languages import rows_of

from ecsuite.formats import read_corpus
from ecsuite.runtime.errors import CorpusError


def not_utf8(kind: str) -> Any:
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
