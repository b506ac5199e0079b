import json
import math
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pytest

import ecsuite as ec
from ecsuite.corpus import Corpus
from ecsuite.formats import write_corpus
from ecsuite.formats.converting import convert
from ecsuite.runtime.errors import CorpusError

MESSAGES = [[1, 2], [3], [2, 2, 1]]
COLUMNS = {
    "NaN": (np.array([1.5, np.nan, 2]), [1.5, None, 2.0]),
    "NaN in a list": ([1.5, float("nan"), 2], [1.5, None, 2.0]),
    "dates": (np.array(["2020-01-01", "2020-01-02", "NaT"], "datetime64[ns]"), None),
    "bytes": (np.array([b"a", b"b", b"c"]), ["a", "b", "c"]),
    "NumPy's integers": ([np.int64(1), np.int64(2), np.int64(3)], [1, 2, 3]),
    "texts as objects": (np.array(["a", "b", "c"], object), ["a", "b", "c"]),
    "decimals": ([Decimal("1.5"), Decimal(2), None], [1.5, 2.0, None]),
}
MEANINGS = {
    "truth values": (np.array([[True, False], [True, True], [False, False]]), [[1, 0], [1, 1], [0, 0]]),
    "a value a message": (np.array([4, 5, 6]), [[4], [5], [6]]),
    "texts": (["a", "b", "c"], [["a"], ["b"], ["c"]]),
    "two dimensions": (np.arange(12.0).reshape(3, 2, 2), np.arange(12.0).reshape(3, 4).tolist()),
    "a frame's objects": (
        np.array([["red", 1], ["blue", 2], ["red", 2]], object), [["red", "1"], ["blue", "2"], ["red", "2"]],
    ),
    "bytes": (np.array([[b"a"], [b"b"], [b"c"]]), [["a"], ["b"], ["c"]]),
}  # fmt: skip


def written_and_read(corpus, folder):
    write_corpus(corpus, folder / "written")
    convert(corpus, "csv", folder / "a.csv")
    return [ec.read_corpus(folder / "written"), ec.read_corpus(folder / "a.csv")]


@pytest.mark.parametrize("kind", COLUMNS)
def test_values_of_columns_are_read_as_they_were(tmp_path, kind):
    values, expected = COLUMNS[kind]
    corpus = Corpus(MESSAGES, columns={"rt": values})
    if expected is not None:
        assert corpus.columns["rt"].tolist() == expected
    for again in written_and_read(corpus, tmp_path):
        assert again.columns["rt"].tolist() == corpus.columns["rt"].tolist()


@pytest.mark.parametrize("kind", MEANINGS)
def test_meanings_are_read_as_they_were(tmp_path, kind):
    values, expected = MEANINGS[kind]
    corpus = Corpus(MESSAGES, meanings=values)
    assert corpus.meanings.tolist() == expected
    for again in written_and_read(corpus, tmp_path):
        assert again.meanings.tolist() == expected
        assert again.meanings.dtype.kind == corpus.meanings.dtype.kind


@pytest.mark.parametrize(
    "known",
    [
        {"columns": {"id": [1 << 70, 2, 3]}},
        {"columns": {"id": np.array([1 << 63, 2, 3], np.uint64)}},
        {"meanings": {"size": [1 << 64, 1, 2]}},
        {"meanings": np.array([[1 << 63], [3], [5]], np.uint64)},
        {"meanings": np.array([[1j], [3], [5]])},
        {"meanings": np.array([["a", None], ["b", 1], ["c", 2]], object)},
    ],
)
def test_what_no_corpus_holds_is_refused(known):
    with pytest.raises(CorpusError, match=r"expected .*, got"):
        Corpus(MESSAGES, **known)


def test_integers_of_more_than_64_bits_are_told_with_their_place(tmp_path):
    wide = 9_999_999_999_999_999_990
    rows = [{"message": [1, 2], "meaning": {"size": value}} for value in (3, wide, wide + 1)]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(CorpusError, match=f"a.jsonl:2: expected integers of at most 64 bits, got {wide}"):
        ec.read_corpus(tmp_path / "a.jsonl")
    with pytest.raises(CorpusError, match="the frame: row 1, column size: expected integers of at most 64"):
        ec.read_corpus({"message": ["a", "b"], "size": [1, wide]})
    np.savez(tmp_path / "a.npz", message=[[1], [2]], size=np.array([1, wide], np.uint64))
    with pytest.raises(CorpusError, match=r"a.npz: row 2, column size: expected integers of at most 64 bits"):
        ec.read_corpus(tmp_path / "a.npz")
    (tmp_path / "a.csv").write_text(f'message,meaning\n3 1,"[1, {wide}]"\n4 1,"[1, 2]"\n')
    with pytest.raises(CorpusError, match=r"a.csv: row 2, column meaning: expected integers of at most 64"):
        ec.read_corpus(tmp_path / "a.csv")


@pytest.mark.parametrize("rows", [[[0.5, None], [1, 2.5]], [[1, None], [1, 2]], [[None, 1.5], [1, 2]]])
def test_a_missing_value_in_a_list_is_named(tmp_path, rows):
    text = "".join(json.dumps({"message": [place, 1], "meaning": row}) + "\n" for place, row in enumerate(rows * 6))
    (tmp_path / "a.jsonl").write_text(text)
    corpus = ec.read_corpus(tmp_path / "a.jsonl")
    assert corpus.meanings is None and corpus.metadata["missing"].startswith("a.jsonl:1 lacks a ")
    assert len(ec.read_corpus(tmp_path / "a.jsonl", missing="leave").meanings) == 6


def test_features_that_are_there_or_not_keep_their_names(tmp_path):
    corpus = Corpus(MESSAGES, meanings={"red": [True, False, True], "size": ["s", "l", "l"]})
    convert(corpus, "csv", tmp_path / "a.csv")
    again = ec.read_corpus(tmp_path / "a.csv")
    assert again.attribute_names == corpus.attribute_names and again.concept_names == corpus.concept_names


def spoken(*speakers):
    rows = [(message, color) for message, color in (("a b", "red"), ("c d", "blue"), ("a d", "blue"))] * 8
    return {
        "message": [message for message, _ in rows], "color": [color for _, color in rows],
        "speaker": [speakers[place // 3 % len(speakers)] for place in range(len(rows))],
    }  # fmt: skip


def test_languages_of_texts_and_of_unknown_speakers_are_shown():
    from ecsuite.eval.views.language import LanguageView

    language = LanguageView(ec.read_corpus(spoken(None, "ann")))
    assert set(language.speakers) == {"unknown", "ann"}
    values = np.array([[color, size] for color in ("red", "blue") for size in ("s", "l")])
    grid = LanguageView(Corpus([[1, 2], [1, 3], [2, 2], [2, 3]], meanings=values)).grid
    assert grid is not None and (grid.rows, grid.columns) == (("red", "blue"), ("s", "l"))


def test_no_value_is_no_part(tmp_path):
    from ecsuite.commands.scoring import parts_by

    corpus = ec.read_corpus(spoken("ann", None, "bo"))
    assert list(parts_by(corpus, "speaker")) == ["speaker=ann", "speaker=bo"]
    with pytest.raises(CorpusError, match=r"speaker is one of ann, bo$"):
        corpus.where("speaker", "None")


def test_sets_are_lists(tmp_path):
    rows = {"message": ["a", "b", "c"], "concepts": [{"y", "x"}, frozenset(), frozenset("x")]}
    (tmp_path / "a.csv").write_text("message;concepts\na;{'y', 'x'}\nb;frozenset()\nc;frozenset({'x'})\n")
    for corpus in (ec.read_corpus(rows), ec.read_corpus(tmp_path / "a.csv")):
        assert corpus.concept_names == ("x", "y") and corpus.concepts.lengths.tolist() == [2, 0, 1]


ROWS = {"message": ["a", "b"], "color": ["red", "blue"]}
REFUSED = {
    "a value in place of a column": ({"message": "ab", "color": 1}, {}, "column message: expected a list of cells"),
    "columns of one name": ({1: ["a"], "1": ["b"]}, {}, "two columns have the name 1"),
    "no rows": ({"message": []}, {}, "expected columns of the same length, got 0 cells"),
    "a corpus": (Corpus([[1]]), {}, "expected a path, a frame, .* got Corpus"),
    "a list of columns": (
        ROWS, {"columns": ["color"]}, r"columns: expected roles by name of column, got \['color'\]",
    ),
    "no kind of split": (ROWS, {"split": None}, "split: expected auto, spaces, letters, or the sign .* got None"),
    "meanings that are no path": (ROWS, {"meanings": [[1], [2]]}, "meanings: expected the path of a file, got list"),
    "an EOS beyond all ids": ({"message": [[1], [2]]}, {"eos": 2**31}, "--eos 2147483648: expected a symbol"),
    "numbers beside texts": (
        {"message": ["a", "b"], "meaning": [[1, "a"], [2, "b"]]},
        {}, r"row 0: expected numbers alone, or texts alone, got \[1, \"a\"\]",
    ),
}  # fmt: skip


@pytest.mark.parametrize("fault", REFUSED)
def test_what_is_no_frame_is_refused_in_a_line(fault):
    source, how, message = REFUSED[fault]
    with pytest.raises(ValueError, match=message):
        ec.read_corpus(source, **how)


MESSAGES_OF_FIVE = [[1, 2, 0], [], [3, 0], [0], [2147483647, 5, 0]]


def make_corpus(**changes):
    parts = {
        "messages": MESSAGES_OF_FIVE, "eos": 0, "meanings": np.array([[0, 1], [1, 1], [0, 0], [1, 0], [2, 2]]),
        "concepts": [[1], [0], [], [0, 1], [1]], "concept_names": ("color=red", "größe=1"), "metadata": {"seed": 3},
    }  # fmt: skip
    return Corpus(**(parts | changes))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"messages": [], "meanings": None, "concepts": None, "columns": {}},
            "cannot write a corpus without messages",
        ),
        (
            {"meanings": np.array([[0.5, 1.0]] * 3 + [[0.5, np.nan]] * 2), "attribute_names": ("hue", "size")},
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
        ({"metadata": {"loss": math.inf}}, "^metadata: expected values that JSON allows: Out of range float"),
    ],
)  # fmt: skip
def test_a_corpus_that_cannot_be_written_leaves_no_file(tmp_path, changes, message):
    with pytest.raises(ValueError, match=message):
        write_corpus(make_corpus(**changes), tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_a_corpus_that_cannot_be_written_leaves_the_former(tmp_path):
    write_corpus(make_corpus(), tmp_path)
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    with pytest.raises(CorpusError):
        write_corpus(make_corpus(messages=[[1]] * 5, meanings=np.full((5, 2), np.nan)), tmp_path)
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before


def test_attributes_have_values_as_columns_do():
    given = Corpus([[1], [2], [3]], meanings={"color": ["red", "blue", "red"], "size": [1, 2, 1]})
    corpus = replace(given, columns={"size": np.array(["S", "M", "L"])}, metadata={"seed": 3})
    assert corpus.values_of("color") == ["blue", "red"]
    assert corpus.where("color", "red").messages.values.tolist() == [1, 3]
    assert corpus.where("size", "S").metadata == {"seed": 3, "where": ["size=S"]}
    some = Corpus([[1], [2]], meanings=[[0], [-1]], concepts=[[0], []], concept_names=("attribute0=red",))
    assert some.column("attribute0").tolist() == ["red", None]
    plain = Corpus([[1], [2], [3]], meanings=[[0, 5], [1, 5], [0, 6]])
    assert plain.where("attribute0", 0).messages.values.tolist() == [1, 3]
    with pytest.raises(CorpusError, match="the corpus has no columns, and the attributes attribute0,"):
        plain.column("size")
