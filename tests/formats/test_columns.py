"""Further columns of a corpus: checked like its other files, and selected by."""

import json
from dataclasses import replace

import numpy as np
import pytest

from ecsuite.corpus import Corpus
from ecsuite.formats import read_corpus, write_corpus
from ecsuite.formats.converting import convert
from ecsuite.runtime.errors import CorpusError, DamagedError


def make_corpus(**columns):
    meanings, concepts = np.array([[0, 1], [1, 1], [2, 0]]), [[0], [1], [0, 1]]
    made = Corpus([[1, 2, 0], [3, 0], [0]], eos=0, meanings=meanings, columns=columns)
    object.__setattr__(made, "concepts", type(made.messages).from_rows(concepts))
    object.__setattr__(made, "concept_names", ("a=1", "b=2"))
    return made


SPLIT = np.array(["train", "held_out", "train"])


def test_the_messages_of_a_split(tmp_path):
    write_corpus(make_corpus(split=SPLIT, file=np.array(["a", "b", "c"])), tmp_path)
    whole = read_corpus(tmp_path)
    trained = whole.where("split", "train")
    assert [row.tolist() for row in trained.messages] == [[1, 2, 0], [0]] and trained.eos == 0
    assert trained.meanings.tolist() == [[0, 1], [2, 0]] and trained.columns["file"].tolist() == ["a", "c"]
    assert [row.tolist() for row in trained.concepts] == [[0], [0, 1]]
    assert [row.tolist() for row in whole.where("split", "held_out").messages] == [[3, 0]]


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("split", "test", "no message with split test; split is one of held_out, train"),
        ("speaker", 1, "no column speaker: the corpus has the columns split"),
    ],
)
def test_a_split_that_is_not_there(column, value, message):
    with pytest.raises(CorpusError, match=message):
        make_corpus(split=SPLIT).where(column, value)
    with pytest.raises(CorpusError, match="no column split: the corpus has no columns"):
        make_corpus().where("split", "train")


def test_attributes_have_values_as_columns_do():
    """By the names of the values where there are some; what a message says nothing of is no value."""
    given = Corpus([[1], [2], [3]], meanings={"color": ["red", "blue", "red"], "size": [1, 2, 1]})
    corpus = replace(given, columns={"size": np.array(["S", "M", "L"])}, metadata={"seed": 3})
    assert corpus.values_of("color") == ["blue", "red"]
    assert corpus.where("color", "red").messages.values.tolist() == [1, 3]
    assert corpus.where("size", "S").metadata == {"seed": 3, "where": ["size=S"]}
    some = Corpus([[1], [2]], meanings=[[0], [-1]], concepts=[[0], []], concept_names=("attribute0=red",))
    assert some.column("attribute0").tolist() == ["red", None]
    plain = Corpus([[1], [2], [3]], meanings=[[0, 5], [1, 5], [0, 6]])
    assert plain.where("attribute0", 0).messages.values.tolist() == [1, 3]
    with pytest.raises(
        CorpusError, match="the corpus has no columns, and the attributes attribute0, attribute1"
    ):
        plain.column("size")


def test_as_many_values_as_messages():
    with pytest.raises(CorpusError, match="3 messages, and 2 values of column split"):
        make_corpus(split=np.array(["train", "train"]))


@pytest.mark.parametrize(
    "name", ["log", "corpus", "../split", "Split", "", "Unnamed: 0", "column_0", "metadata"]
)
def test_a_column_may_have_any_name(tmp_path, name):
    """Where it is no good name of a file, the file has a number."""
    write_corpus(make_corpus(**{name: SPLIT, "split": SPLIT}), tmp_path)
    assert {file.name for file in tmp_path.iterdir()} == {
        "corpus.jsonl", "meanings.jsonl", "metadata.json", "split.jsonl", "column_0.jsonl",
    }  # fmt: skip
    read = read_corpus(tmp_path).columns
    assert {key: values.tolist() for key, values in read.items()} == {
        name: SPLIT.tolist(),
        "split": SPLIT.tolist(),
    }


@pytest.mark.parametrize(
    "values",
    [["a", 1, None], [[1], {"a": 2}, None], [True, False, True], [1, 2.5, 3], [1, 2, 3], ["", "1", "null"]],
)
def test_a_column_may_hold_what_json_has(tmp_path, values):
    write_corpus(make_corpus(kept=values), tmp_path)
    assert read_corpus(tmp_path).columns["kept"].tolist() == values


def test_a_changed_column_is_refused(tmp_path):
    write_corpus(make_corpus(split=SPLIT), tmp_path)
    (tmp_path / "split.jsonl").write_text('"train"\n' * 3)
    with pytest.raises(DamagedError, match=r"split.jsonl: .*damaged or edited.*ecsuite verify"):
        read_corpus(tmp_path)
    (tmp_path / "split.jsonl").unlink()
    with pytest.raises(CorpusError, match=r"cannot read .*split.jsonl: No such file"):
        read_corpus(tmp_path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('"train"\n"train"\n', "expected 3 lines, one per message, got 2"),
        ('"train"\n3 4\n"train"\n', "split.jsonl:2: expected one JSON value per line, .*, got 2 JSON values"),
        ('"train"\n9223372036854775808\n1\n', "split.jsonl:2: expected integers of at most 64 bits"),
    ],
)
def test_a_column_that_is_none(tmp_path, text, message):
    from ecsuite.formats.directory import read_column

    (tmp_path / "split.jsonl").write_text(text)
    with pytest.raises(CorpusError, match=message):
        read_column(tmp_path / "split.jsonl", 3)


def test_columns_of_a_corpus_that_is_replaced_go(tmp_path):
    write_corpus(make_corpus(split=SPLIT, row=np.arange(3)), tmp_path)
    (tmp_path / "notes.jsonl").write_text("of the user\n")
    write_corpus(make_corpus(row=np.arange(3)), tmp_path)
    assert {file.name for file in tmp_path.iterdir()} == {
        "corpus.jsonl", "meanings.jsonl", "row.jsonl", "metadata.json", "notes.jsonl",
    }  # fmt: skip
    assert list(read_corpus(tmp_path).columns) == ["row"]
    assert "split.jsonl" not in json.loads((tmp_path / "metadata.json").read_text())["sha256"]


def test_other_forms_keep_columns_or_say_that_they_are_lost(tmp_path):
    corpus = make_corpus(split=SPLIT)
    assert "the column split" in convert(corpus, "elcc", tmp_path / "a.jsonl")
    assert "the column split" not in convert(corpus, "csv", tmp_path / "a.csv")
    header, first, *_ = (tmp_path / "a.csv").read_text().splitlines()
    assert header.endswith(",split") and first.endswith(",train")
