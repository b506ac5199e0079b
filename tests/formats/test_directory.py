import json
import math
from typing import Any

import numpy as np
import pytest
from languages import rows_of

from ecsuite.corpus import Corpus
from ecsuite.files.checksums import checksum_of
from ecsuite.formats import read_corpus, write_corpus
from ecsuite.runtime.errors import CorpusError
from ecsuite.runtime.ragged import Ragged


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


def assert_equal(one: Corpus, other: Corpus) -> None:
    for name in ("messages", "concepts"):
        first, second = getattr(one, name), getattr(other, name)
        assert (first is None) == (second is None)
        if first is not None:
            np.testing.assert_array_equal(first.values, second.values, strict=True)
            np.testing.assert_array_equal(first.offsets, second.offsets, strict=True)
    assert (one.meanings is None) == (other.meanings is None)
    if one.meanings is not None:
        np.testing.assert_array_equal(one.meanings, other.meanings)
        assert (
            one.meanings.dtype.kind == other.meanings.dtype.kind
        )  # integers are read as int32 where they fit
    assert list(one.columns) == list(other.columns)
    for name, values in one.columns.items():
        np.testing.assert_array_equal(values, other.columns[name], strict=True)
    names = [(corpus.eos, corpus.symbol_names, corpus.concept_names) for corpus in (one, other)]
    assert names[0] == names[1]


@pytest.mark.parametrize(("value", "kind"), [(-(1 << 31), np.int32), (1 << 31, np.int64), (0.5, np.float64)])
def test_meanings_that_are_integers_take_32_bits_where_they_fit(tmp_path, value, kind):
    write_corpus(make_corpus(meanings=np.array([[7, value]] * 5)), tmp_path)
    read = read_corpus(tmp_path).meanings
    assert read.dtype == kind and read.tolist() == [[7, value]] * 5


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
        {"columns": {"split": np.array(["train", "held_out"] * 2 + ["größe"]), "row": np.arange(5)}},
        {"concepts": None, "concept_names": (), "columns": {"weight": np.array([0.5, 1, 2, 1e300, -3])}},
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
    assert metadata.pop("checksum") == checksum_of(metadata)
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


def test_checksums_of_files_of_a_run_are_not_copied_to_where_these_are_not(tmp_path):
    of_run = {"rounds": {"sha256": "0" * 64}, "interactions": {"sha256": "1" * 64, "num_rounds": 2}}
    own = {"answers": 5, "other": {"sha256": "2" * 64}}
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "rounds.jsonl").write_text("{}\n")
    kept = {}
    for name in ("run", "copy"):
        write_corpus(Corpus(Ragged.from_rows([[1]]), metadata=of_run | own), tmp_path / name)
        kept[name] = read_corpus(tmp_path / name).metadata
    assert own.items() <= kept["copy"].items() and not of_run.keys() & kept["copy"].keys()
    assert kept["run"]["rounds"] == of_run["rounds"] and "interactions" not in kept["run"]


def test_a_smaller_corpus_replaces_a_larger_one(tmp_path):
    write_corpus(make_corpus(), tmp_path)
    write_corpus(make_corpus(meanings=None, concepts=None, concept_names=()), tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["corpus.jsonl", "metadata.json"]
    assert read_corpus(tmp_path).meanings is None


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"messages": [], "meanings": None, "concepts": None, "columns": {}},
            "cannot write a corpus without messages",
        ),
        (
            {
                "meanings": np.array([[0.5, 1.0]] * 3 + [[0.5, np.nan]] * 2),
                "attribute_names": ("hue", "size"),
            },
            r"^meanings\[3, 1\], attribute size: expected a finite number, got nan$",
        ),
        (
            {"columns": {"loss": [1.0, 2.0, -np.inf, 3.0, 4.0]}},
            r"^columns\['loss'\]\[2\]: expected finite numbers, got -Infinity$",
        ),
        (
            {"columns": {"seen": [None, "a", {"x": [1.5]}, {"x": [np.inf]}, 2]}},
            r"^columns\['seen'\]\[3\]: expected finite numbers, got \{\"x\": \[Infinity\]\}$",
        ),
        (
            {"metadata": {"loss": math.inf}},
            "^metadata: expected values that JSON allows: Out of range float",
        ),
    ],
)
def test_a_corpus_that_cannot_be_written_leaves_no_file(tmp_path, changes, message):
    with pytest.raises(ValueError, match=message):
        write_corpus(make_corpus(**changes), tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_a_corpus_that_cannot_be_written_leaves_the_former(tmp_path):
    """Its messages were replaced before the meanings were found to have no JSON, and it was damaged then."""
    write_corpus(make_corpus(), tmp_path)
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    other = Ragged.from_rows([[1]] * 5)
    with pytest.raises(CorpusError):
        write_corpus(make_corpus(messages=other, meanings=np.full((5, 2), np.nan)), tmp_path)
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before


def test_another_tools_metadata_is_tolerated(tmp_path):
    variant = tmp_path / "systems" / "egg" / "data" / "variant"
    variant.mkdir(parents=True)
    (variant / "corpus.jsonl").write_text("[1,2,0,0]\n[3,0,0,0]\n")
    (variant / "metadata.json").write_text('{"metrics": {"analysis": {"Token Count": 8, "x": NaN}}}')
    corpus = read_corpus(variant)
    assert rows_of(corpus.content()) == [[1, 2], [3]]
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
    assert rows_of(corpus.concepts) == [[0], [1, 0]]
    assert corpus.concept_names == ("b", "a")
