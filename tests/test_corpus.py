import json
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ecsuite.corpus import Corpus, CorpusError, Ragged, read_corpus, write_atomically, write_corpus

CBM_SAMPLE = Path(__file__).parents[1].parent / "shared" / "data" / "cbm" / "comm_results.jsonl"


def rows(ragged: Ragged) -> list[list[int]]:
    return [ragged[index].tolist() for index in range(len(ragged))]


def make_corpus(**changes: Any) -> Corpus:
    parts: dict[str, Any] = {
        "messages": Ragged.from_rows([[1, 2, 0], [], [3, 0], [0], [2147483647, 5, 0]]),
        "eos": 0,
        "meanings": np.array([[0, 1], [1, 1], [0, 0], [1, 0], [2, 2]]),
        "concepts": Ragged.from_rows([[1], [0], [], [0, 1], [1]]),
        "concept_names": ("color=red", "größe=1"),
        "metadata": {"seed": 3, "accuracy": 0.96875, "config": {"game": "disc_tiny"}},
    }
    return Corpus(**(parts | changes))


def read_text(tmp_path: Path, text: str, **options: str) -> Corpus:
    (tmp_path / "file.jsonl").write_bytes(text.encode())
    return read_corpus(tmp_path / "file.jsonl", **options)


# Ragged


def test_from_rows_and_back():
    ragged = Ragged.from_rows([[4, 5], [], [6]])
    assert rows(ragged) == [[4, 5], [], [6]]
    assert ragged.lengths.tolist() == [2, 0, 1]
    assert len(Ragged.from_rows([])) == 0


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
    assert rows(Ragged.from_rows(before).before(0)) == after


@pytest.mark.parametrize("huge", [7, 2_147_483_647])
def test_reindexed_is_dense_in_order_of_id(huge):
    dense, originals = Ragged.from_rows([[huge, 3], [], [3, 5]]).reindexed()
    assert rows(dense) == [[2, 0], [], [0, 1]]
    assert originals.tolist() == [3, 5, huge]
    assert dense.values.dtype == originals.dtype == np.int32


def test_reindexed_of_nothing():
    dense, originals = Ragged.from_rows([[], []]).reindexed()
    assert rows(dense) == [[], []]
    assert originals.size == 0


def test_corpus_reindexes_its_content():
    dense, originals = make_corpus().reindexed()
    assert rows(dense) == [[0, 1], [], [2], [], [4, 3]]
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


# The directory


def assert_equal(one: Corpus, other: Corpus) -> None:
    for name in ("messages", "concepts"):
        first, second = getattr(one, name), getattr(other, name)
        assert (first is None) == (second is None)
        if first is not None:
            np.testing.assert_array_equal(first.values, second.values, strict=True)
            np.testing.assert_array_equal(first.offsets, second.offsets, strict=True)
    assert (one.meanings is None) == (other.meanings is None)
    if one.meanings is not None:
        np.testing.assert_array_equal(one.meanings, other.meanings, strict=True)
    assert (one.eos, one.symbol_names, one.concept_names) == (
        other.eos,
        other.symbol_names,
        other.concept_names,
    )


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"eos": None},
        {"meanings": None},
        {"meanings": np.array([[0.5, 1e300]] * 5)},
        {"meanings": np.array([["red", "disc"]] * 5)},
        {"concepts": None, "concept_names": ()},
        {"meanings": None, "concepts": None, "concept_names": ()},
        {"messages": Ragged.from_rows([[0]] * 5), "symbol_names": ("<end>",)},
    ],
)
def test_round_trip_gives_equal_arrays_and_bytes(tmp_path, changes):
    corpus = make_corpus(**changes)
    write_corpus(corpus, tmp_path / "one")
    again = read_corpus(tmp_path / "one")
    assert_equal(corpus, again)
    assert again.metadata["seed"] == 3
    assert again.metadata["eos_source"] == "declared"
    assert again.metadata["source_format"] == "ecsuite corpus"
    assert_equal(corpus, read_corpus(tmp_path / "one" / "corpus.jsonl"))

    write_corpus(corpus, tmp_path / "two")
    write_corpus(again, tmp_path / "three")
    for path in (tmp_path / "one").iterdir():
        assert (tmp_path / "two" / path.name).read_bytes() == path.read_bytes()
        if path.name != "metadata.json":
            assert (tmp_path / "three" / path.name).read_bytes() == path.read_bytes()


def test_what_the_files_look_like(tmp_path):
    write_corpus(make_corpus(), tmp_path)
    assert (tmp_path / "corpus.jsonl").read_text() == "[1, 2, 0]\n[]\n[3, 0]\n[0]\n[2147483647, 5, 0]\n"
    meanings = (tmp_path / "meanings.jsonl").read_text(encoding="utf-8").splitlines()
    assert meanings[0] == '{"meaning": [0, 1], "concepts": ["größe=1"]}'
    metadata = json.loads((tmp_path / "metadata.json").read_bytes())
    assert list(metadata.pop("sha256")) == ["corpus.jsonl", "meanings.jsonl"]
    assert metadata == {
        "format": "ecsuite-corpus",
        "format_version": 1,
        "num_messages": 5,
        "num_empty": 2,
        "num_symbols": 5,
        "num_distinct_symbols": 5,
        "eos": 0,
        "vocab_size": 5,
        "seed": 3,
        "accuracy": 0.96875,
        "config": {"game": "disc_tiny"},
        "concept_names": ["color=red", "größe=1"],
    }


def test_the_producers_vocab_size_wins_but_counts_do_not(tmp_path):
    write_corpus(make_corpus(metadata={"vocab_size": 99, "num_messages": 7, "sha256": {}}), tmp_path)
    metadata = read_corpus(tmp_path).metadata
    assert (metadata["vocab_size"], metadata["num_distinct_symbols"], metadata["num_messages"]) == (99, 5, 5)


def test_a_smaller_corpus_replaces_a_larger_one(tmp_path):
    write_corpus(make_corpus(), tmp_path)
    write_corpus(make_corpus(meanings=None, concepts=None, concept_names=()), tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["corpus.jsonl", "metadata.json"]
    assert read_corpus(tmp_path).meanings is None


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"messages": Ragged.from_rows([])}, "cannot write a corpus without messages"),
        (
            {"messages": Ragged.from_rows([[1, -2]] * 5)},
            "cannot write the symbol id -2: ids are not negative",
        ),
        ({"meanings": np.zeros((4, 2))}, "cannot write 4 meanings for 5 messages"),
        ({"concepts": Ragged.from_rows([[0]])}, "cannot write 1 concepts for 5 messages"),
        ({"metadata": {"loss": float("nan")}}, "Out of range float values are not JSON compliant"),
    ],
)
def test_a_corpus_that_cannot_be_written_leaves_no_file(tmp_path, changes, message):
    with pytest.raises(ValueError, match=message):
        write_corpus(make_corpus(**changes), tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_another_tools_metadata_is_tolerated(tmp_path):
    variant = tmp_path / "systems" / "egg" / "data" / "variant"
    variant.mkdir(parents=True)
    (variant / "corpus.jsonl").write_text("[1,2,0,0]\n[3,0,0,0]\n")
    (variant / "metadata.json").write_text('{"metrics": {"analysis": {"Token Count": 8, "x": NaN}}}')
    corpus = read_corpus(variant)
    assert rows(corpus.content()) == [[1, 2], [3]]
    assert corpus.metadata == {
        "eos_source": "detected",
        "source_format": "jsonl of integer arrays",
        "source_path": str(variant / "corpus.jsonl"),
    }


def test_meanings_beside_a_plain_corpus_are_used(tmp_path):
    (tmp_path / "corpus.jsonl").write_text("[1]\n[2]\n")
    (tmp_path / "meanings.jsonl").write_text('{"concepts": ["b"]}\n{"concepts": ["a", "b"]}')
    corpus = read_corpus(tmp_path)
    assert corpus.meanings is None
    assert corpus.concepts is not None
    assert rows(corpus.concepts) == [[0], [1, 0]]
    assert corpus.concept_names == ("b", "a")


# EOS


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


# Other formats


@pytest.mark.parametrize("end", ["", "\n"])
@pytest.mark.parametrize(
    "text", ["[1, 2]\n[]\n[30]", "[1,2]\n[]\n[30]", " [1 ,2]\n[ ]\n[30 ]\t", "[1, 2]\r\n[]\r\n[30]"]
)
def test_integer_arrays(tmp_path, text, end):
    corpus = read_text(tmp_path, text + end)
    assert rows(corpus.messages) == [[1, 2], [], [30]]
    assert corpus.metadata["source_format"] == "jsonl of integer arrays"
    assert corpus.metadata["source_path"] == str(tmp_path / "file.jsonl")


def test_a_byte_order_mark_is_skipped(tmp_path):
    assert rows(read_text(tmp_path, "\ufeff[1, 2]\n").messages) == [[1, 2]]


def test_strings(tmp_path):
    corpus = read_text(tmp_path, '"da  bu da"\n""\n"\\u00e9 bu"\n')
    assert rows(corpus.messages) == [[0, 1, 0], [], [2, 1]]
    assert corpus.symbol_names == ("da", "bu", "é")
    assert corpus.metadata["source_format"] == "jsonl of strings"


def test_cbm_pairs(tmp_path):
    corpus = read_text(tmp_path, '["4.7.0", "19.2"]\n["7.0", ""]\n["", "2"]\n')
    assert rows(corpus.messages) == [[0, 1, 2], [1, 2], []]
    assert corpus.symbol_names == ("4", "7", "0")
    assert corpus.concepts is not None
    assert rows(corpus.concepts) == [[0, 1], [], [1]]
    assert corpus.concept_names == ("19", "2")
    assert corpus.metadata["source_format"] == "jsonl of CBM pairs"


def test_the_cbm_sample():
    if not CBM_SAMPLE.is_file():
        pytest.skip(f"{CBM_SAMPLE} is not there")
    corpus = read_corpus(CBM_SAMPLE)
    assert corpus.symbol_names is not None
    assert corpus.eos is not None
    assert len(corpus.messages) == 1000
    assert len(corpus.concept_names) == 50
    assert corpus.symbol_names[corpus.eos] == "0"
    assert corpus.content().lengths.tolist() == [10] * 1000
    assert len(corpus.reindexed()[1]) == 15


@pytest.mark.parametrize("gap", ["\t", ", ", ",", " ", " , "])
def test_csar_pairs(tmp_path, gap):
    lines = [f'[4, 7, 9]{gap}["red", "disc"]', '[[4], ["red"]]', f"[]{gap}[]"]
    corpus = read_text(tmp_path, "\n".join(lines))
    assert rows(corpus.messages) == [[4, 7, 9], [4], []]
    assert corpus.symbol_names is None
    assert corpus.concepts is not None
    assert rows(corpus.concepts) == [[0, 1], [0], []]
    assert corpus.concept_names == ("red", "disc")
    assert corpus.metadata["source_format"] == "jsonl of CSAR pairs"


def test_csar_pairs_of_integers(tmp_path):
    assert read_text(tmp_path, "[4, 7], [1, 2]\n").concept_names == ("1", "2")


def test_the_format_can_be_given(tmp_path):
    with pytest.raises(CorpusError, match=re.escape("file.jsonl:1: expected a string of symbols, got [1]")):
        read_text(tmp_path, "[1]\n", format="strings")
    choices = "auto, ints, strings, cbm, csar, table"
    with pytest.raises(ValueError, match=f"^unknown corpus format 'xml'; choose from {choices}$"):
        read_text(tmp_path, "[1]\n", format="xml")


# Tables


def write_parquet(path: Path, **columns: list[Any]) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pyarrow.table(columns), path)


def test_parquet_integers(tmp_path):
    write_parquet(tmp_path / "a.parquet", score=[0.5, 0.5, 0.5], input_ids=[[1, 2], [], [30]])
    corpus = read_corpus(tmp_path / "a.parquet")
    assert rows(corpus.messages) == [[1, 2], [], [30]]
    assert corpus.messages.values.dtype == np.int32
    assert corpus.messages.offsets.dtype == np.int64
    assert corpus.metadata["source_format"] == "table, column input_ids: a list of non-negative integers"


def test_a_folder_of_parquet_files(tmp_path):
    write_parquet(tmp_path / "1.parquet", text=["da bu"])
    write_parquet(tmp_path / "2.parquet", text=["bu", ""])
    corpus = read_corpus(tmp_path)
    assert rows(corpus.messages) == [[0, 1], [1], []]
    assert corpus.symbol_names == ("da", "bu")


def test_parquet_of_string_lists(tmp_path):
    write_parquet(tmp_path / "a.parquet", tokens=[["da", "bu"], ["bu"]])
    corpus = read_corpus(tmp_path / "a.parquet")
    assert rows(corpus.messages) == [[0, 1], [1]]
    assert corpus.symbol_names == ("da", "bu")


@pytest.mark.parametrize(
    ("column", "faults"),
    [
        ([[1], [-2], None, [1, None], [2**40]], ["-2", "null", "null", None]),
        ([[1.0], [float("nan")]], ["1.0", "NaN"]),
        ([{"a": 1}, {"a": 2}], ['{"a": 1}', '{"a": 2}']),
    ],
)
def test_faults_in_parquet_are_told_by_row(tmp_path, column, faults):
    write_parquet(tmp_path / "a.parquet", input_ids=column)
    first = 2 if len(faults) == 4 else 1
    lines = [
        f"a.parquet:{row}: expected a list of non-negative integers, got {fault}"
        if fault
        else f"a.parquet:{row}: expected integers below 2147483648, got {2**40}"
        for row, fault in enumerate(faults, first)
    ]
    with pytest.raises(CorpusError) as caught:
        read_corpus(tmp_path / "a.parquet")
    assert str(caught.value) == "\n".join(lines)


def test_tables_that_are_none(tmp_path):
    write_parquet(tmp_path / "a.parquet", words=[[1]])
    with pytest.raises(CorpusError) as caught:
        read_corpus(tmp_path)
    columns = "input_ids, messages, tokens, text"
    assert str(caught.value) == f"{tmp_path.name}: expected one of the columns {columns}, got words"
    write_parquet(tmp_path / "a.parquet", text=[])
    with pytest.raises(CorpusError, match=r"^a.parquet: empty table, expected a message a row$"):
        read_corpus(tmp_path / "a.parquet")
    (tmp_path / "a.parquet").write_bytes(b"PAR1 and nothing else")
    with pytest.raises(CorpusError, match=r"^a.parquet: cannot be read as a table: "):
        read_corpus(tmp_path / "a.parquet")


def test_saved_datasets(tmp_path):
    datasets = pytest.importorskip("datasets")
    datasets.disable_progress_bars()
    dataset = datasets.Dataset.from_dict({"input_ids": [[1, 2, 0], [3, 0]]})
    dataset.save_to_disk(tmp_path / "one")
    corpus = read_corpus(tmp_path / "one")
    assert rows(corpus.messages) == [[1, 2, 0], [3, 0]]
    assert corpus.eos == 0
    datasets.DatasetDict(train=dataset).save_to_disk(tmp_path / "single")
    assert rows(read_corpus(tmp_path / "single").messages) == [[1, 2, 0], [3, 0]]
    datasets.DatasetDict(train=dataset, test=dataset).save_to_disk(tmp_path / "two")
    with pytest.raises(CorpusError) as caught:
        read_corpus(tmp_path / "two")
    folder = tmp_path / "two"
    assert str(caught.value) == f"{folder}: choose a split: {folder / 'test'}, {folder / 'train'}"


def test_without_pyarrow_the_remedy_is_named(tmp_path, monkeypatch):
    (tmp_path / "a.parquet").write_bytes(b"PAR1")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(CorpusError, match=r"pip install 'ecsuite\[data\]'$"):
        read_corpus(tmp_path / "a.parquet")


def test_the_extra_that_the_remedy_names_exists():
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
    assert any(requirement.startswith("pyarrow") for requirement in project["optional-dependencies"]["data"])
