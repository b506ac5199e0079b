"""Values of NumPy, pandas and JSON that a corpus may have: each is written and read as the same, or refused."""

import json
from decimal import Decimal

import numpy as np
import pytest

import ecsuite as ec
from ecsuite.corpus import Corpus
from ecsuite.formats import read_corpus, write_corpus
from ecsuite.formats.cells import typed
from ecsuite.formats.converting import convert
from ecsuite.runtime.errors import ConfigError, CorpusError

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
        np.array([["red", 1], ["blue", 2], ["red", 2]], object),
        [["red", "1"], ["blue", "2"], ["red", "2"]],
    ),
    "bytes": (np.array([[b"a"], [b"b"], [b"c"]]), [["a"], ["b"], ["c"]]),
}


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


def test_meanings_of_a_frame_are_scored():
    """`frame.to_numpy()` of texts and numbers is an array of objects, whose values were no values."""
    meanings = np.array([[color, size] for color in ("red", "blue") for size in (1, 2)] * 3, object)
    corpus = Corpus([[int(color == "red"), 1 + size] for color, size in meanings.tolist()], meanings=meanings)
    assert [score.value for score in ec.score(corpus, ["posdis", "topsim"]).scores] == pytest.approx([1, 1])


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


def test_given_concepts_stay():
    corpus = Corpus(
        [[1], [2]], meanings=[["a"], ["b"]], concepts=ec.Corpus([[0], [0]]).messages, concept_names=("thing",)
    )
    assert corpus.concept_names == ("thing",) and corpus.meanings.tolist() == [["a"], ["b"]]


def test_integers_of_more_than_64_bits_are_told_with_their_place(tmp_path):
    wide = 9_999_999_999_999_999_990
    rows = [{"message": [1, 2], "meaning": {"size": value}} for value in (3, wide, wide + 1)]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(CorpusError, match=f"a.jsonl:2: expected integers of at most 64 bits, got {wide}"):
        ec.read_corpus(tmp_path / "a.jsonl")
    with pytest.raises(
        CorpusError, match="the frame: row 1, column size: expected integers of at most 64 bits"
    ):
        ec.read_corpus({"message": ["a", "b"], "size": [1, wide]})
    np.savez(tmp_path / "a.npz", message=[[1], [2]], size=np.array([1, wide], np.uint64))
    with pytest.raises(CorpusError, match=r"a.npz: row 2, column size: expected integers of at most 64 bits"):
        ec.read_corpus(tmp_path / "a.npz")
    (tmp_path / "a.csv").write_text(f'message,meaning\n3 1,"[1, {wide}]"\n4 1,"[1, 2]"\n')
    with pytest.raises(
        CorpusError, match=r"a.csv: row 2, column meaning: expected integers of at most 64 bits"
    ):
        ec.read_corpus(tmp_path / "a.csv")


@pytest.mark.parametrize(
    "row", ['{"message": [1], "rt": 1e999}', '{"message": [1], "meaning": [0.5, -1e400]}']
)
def test_numbers_that_are_infinite_are_none(tmp_path, row):
    (tmp_path / "a.jsonl").write_text('{"message": [2], "rt": 1, "meaning": [0.5, 1]}\n' + row + "\n")
    with pytest.raises(CorpusError, match=r"a.jsonl:2: expected .*, got -?1e\d+$"):
        ec.read_corpus(tmp_path / "a.jsonl")


def test_arrays_of_dates_and_bytes(tmp_path):
    dates = np.array(["2020-01-01", "2020-01-02"] * 5, "datetime64[ns]")
    np.savez(
        tmp_path / "a.npz", message=np.arange(20).reshape(10, 2), meaning=np.tile([[0, 1], [1, 1]], (5, 1)),
        speaker=np.array([b"x", b"y"] * 5), date=dates, rt=[0.5, np.nan] * 5,
    )  # fmt: skip
    corpus = ec.read_corpus(tmp_path / "a.npz")
    assert corpus.columns["speaker"][:2].tolist() == ["x", "y"]
    assert corpus.columns["date"][0].startswith("2020-01-01") and corpus.columns["rt"][1] is None
    for again in written_and_read(corpus, tmp_path):
        assert again.columns["rt"].tolist() == corpus.columns["rt"].tolist()


@pytest.mark.parametrize("rows", [[[0.5, None], [1, 2.5]], [[1, None], [1, 2]], [[None, 1.5], [1, 2]]])
def test_a_missing_value_in_a_list_is_named(tmp_path, rows):
    text = "".join(
        json.dumps({"message": [place, 1], "meaning": row}) + "\n" for place, row in enumerate(rows * 6)
    )
    (tmp_path / "a.jsonl").write_text(text)
    corpus = ec.read_corpus(tmp_path / "a.jsonl")
    assert corpus.meanings is None and corpus.metadata["missing"].startswith("a.jsonl:1 lacks a ")
    assert len(ec.read_corpus(tmp_path / "a.jsonl", missing="leave").meanings) == 6


def test_features_that_are_there_or_not_keep_their_names(tmp_path):
    corpus = Corpus(MESSAGES, meanings={"red": [True, False, True], "size": ["s", "l", "l"]})
    convert(corpus, "csv", tmp_path / "a.csv")
    again = ec.read_corpus(tmp_path / "a.csv")
    assert again.attribute_names == corpus.attribute_names and again.concept_names == corpus.concept_names


# Who speaks, where it is not always known


def spoken(*speakers):
    rows = [(message, color) for message, color in (("a b", "red"), ("c d", "blue"), ("a d", "blue"))] * 8
    return {
        "message": [message for message, _ in rows], "color": [color for _, color in rows],
        "speaker": [speakers[place // 3 % len(speakers)] for place in range(len(rows))],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("speakers", "expected"),
    [
        (("ann", None, "bo"), ["ann", "bo"]),
        ((2, None, 10), [2, 10]),
        ((1, "x", None, True), ["1", "True", "x"]),
        (({"id": 1}, None, "x"), ["x", "{'id': 1}"]),
        ((0.5, float("nan"), 1.0), [0.5, 1.0]),
    ],
)
def test_messages_without_a_speaker_are_of_none(tmp_path, speakers, expected):
    corpus = ec.read_corpus(spoken(*speakers))
    assert corpus.values_of("speaker") == expected
    assert any("lacks a speaker" in note for note in corpus.metadata["notes"])
    card = ec.score(corpus, ["topsim", "cbm", "language_similarity", "contact"])
    assert all(score.signature.endswith(f"|speakers:{len(expected)}") for score in card.scores[:2])
    assert set(card.scores[0].details["by_speaker"]) == set(map(str, expected))
    assert "None" not in str(card)
    alone = [ec.score(corpus.where("speaker", each), ["cbm"]).scores[0].value for each in expected]
    cbm = next(score for score in card.scores if score.name == "cbm")
    assert cbm.value == pytest.approx(np.mean(alone))
    lost = convert(corpus, "elcc", tmp_path / "languages")
    assert len(list((tmp_path / "languages").iterdir())) == len(expected)
    assert any("without a speaker" in each for each in lost)


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


def test_communities_have_names():
    table = spoken("ann", "bo", "cy", "di")
    home = {"ann": "north", "bo": "north", "cy": "south", "di": "south"}
    table |= {"community:kept": [home[each] for each in table["speaker"]], "before:kept": table["message"]}
    scores = {score.name: score for score in ec.score(ec.read_corpus(table), ["contact"]).scores}
    assert scores["similarity_between"].value == scores["similarity_within"].value == 1
    assert set(scores["survival"].details["by_community"]) == {"north", "south"}


def test_sets_are_lists(tmp_path):
    rows = {"message": ["a", "b", "c"], "concepts": [{"y", "x"}, frozenset(), frozenset("x")]}
    (tmp_path / "a.csv").write_text("message;concepts\na;{'y', 'x'}\nb;frozenset()\nc;frozenset({'x'})\n")
    for corpus in (ec.read_corpus(rows), ec.read_corpus(tmp_path / "a.csv")):
        assert corpus.concept_names == ("x", "y") and corpus.concepts.lengths.tolist() == [2, 0, 1]


def test_the_index_of_a_frame(tmp_path):
    """What has a name, or is a text, is a column; a column that is the index, too, is there once."""
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"message": ["a", "b"], "color": ["red", "blue"]}, index=["x.png", "y.png"])
    assert ec.read_corpus(frame).columns["index"].tolist() == ["x.png", "y.png"]
    corpus = ec.read_corpus(frame.set_index("color", drop=False))
    assert corpus.attribute_names == ("color",) and not corpus.columns
    assert not ec.read_corpus(frame.reset_index(drop=True)).columns
    numbered = pandas.DataFrame([["a", "red"], ["b", "blue"]])
    assert ec.read_corpus(numbered, columns={0: "message"}).attribute_names == ("1",)


ROWS = {"message": ["a", "b"], "color": ["red", "blue"]}
REFUSED = {
    "a value in place of a column": (
        {"message": "ab", "color": 1},
        {},
        "column message: expected a list of cells",
    ),
    "columns of one name": ({1: ["a"], "1": ["b"]}, {}, "two columns have the name 1"),
    "no rows": ({"message": []}, {}, "expected columns of the same length, got 0 cells"),
    "a corpus": (Corpus([[1]]), {}, "expected a path, a frame, .* got Corpus"),
    "a list of columns": (
        ROWS,
        {"columns": ["color"]},
        r"columns: expected roles by name of column, got \['color'\]",
    ),
    "no kind of split": (
        ROWS,
        {"split": None},
        "split: expected auto, spaces, letters, or the sign .* got None",
    ),
    "meanings that are no path": (
        ROWS,
        {"meanings": [[1], [2]]},
        "meanings: expected the path of a file, got list",
    ),
    "an EOS beyond all ids": ({"message": [[1], [2]]}, {"eos": 2**31}, "--eos 2147483648: expected a symbol"),
    "numbers beside texts": (
        {"message": ["a", "b"], "meaning": [[1, "a"], [2, "b"]]},
        {},
        r"row 0: expected numbers alone, or texts alone, got \[1, \"a\"\]",
    ),
}


@pytest.mark.parametrize("fault", REFUSED)
def test_what_is_no_frame_is_refused_in_a_line(fault):
    source, how, message = REFUSED[fault]
    with pytest.raises(ValueError, match=message):
        ec.read_corpus(source, **how)


@pytest.mark.parametrize("form", ["csv", "elcc"])
def test_concepts_and_speakers_without_names_for_files(tmp_path, form):
    """Concepts are then called by their ids; names of speakers are no names of files, which is said."""
    corpus = Corpus([[1], [2]], concepts=[[0], [7]], columns={"speaker": ["Anna", "Ben"]})
    write_corpus(corpus, tmp_path / "run")
    assert ec.read_corpus(tmp_path / "run").concept_names == ("0", "7")
    lost = convert(corpus, form, tmp_path / "out.csv")
    assert ("names of speakers" in lost) == (form == "elcc")
    if form == "csv":
        assert ec.read_corpus(tmp_path / "out.csv").concept_names == ("0", "7")


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        (
            {"message": np.zeros((0, 3), int)},
            "a.npz: array message: expected one message per row, got no rows",
        ),
        ({"message": np.full((2, 3, 4), 0.25)}, r"expected one-hot symbols, 0 or 1; got float64 \(2, 3, 4\)"),
        ({"message": [[1, 2]], "message_length": [1.5]}, "its lengths are float64: expected whole numbers"),
        ({"message": [[1, 2]], "message_length": ["a"]}, "its lengths are <U1: expected whole numbers"),
    ],
)
def test_arrays_that_are_no_messages_are_refused(tmp_path, arrays, message):
    np.savez(tmp_path / "a.npz", **arrays)
    with pytest.raises(CorpusError, match=message):
        ec.read_corpus(tmp_path / "a.npz")


def test_the_eos_of_a_header_is_refused_in_the_name_of_its_file(tmp_path):
    (tmp_path / "a.csv").write_text("message:eos=z\n1 2\n2 1\n")
    with pytest.raises(ConfigError, match=r"a.csv: EOS z: expected a symbol such as 0, or none"):
        ec.read_corpus(tmp_path / "a.csv")


def test_numbers_that_begin_with_zeros_are_texts():
    assert typed(["01.5", "2.5", ""]) == ["01.5", "2.5", None] and typed(["0.5", "+2.5"]) == [0.5, 2.5]


def test_the_first_of_two_columns_of_a_role_has_it(tmp_path):
    (tmp_path / "a.csv").write_text("message,meaning,meanings\na b,1,x\nb a,2,y\na b,1,x\n")
    roles = {"message": "message", "meaning": "meaning", "meanings": "kept"}
    assert read_corpus(tmp_path / "a.csv").metadata["roles"] == roles


@pytest.mark.parametrize(
    ("cells", "values"),
    [
        (["[]", "[]"], [[], []]),
        (["0", "[]"], [0, []]),
        (["[]", "[[]]"], ["[]", "[[]]"]),
        (["()", "[]"], ["()", "[]"]),
        (["[]", "ne po"], ["[]", "ne po"]),
        (["[1]", "[]"], [[1], []]),
    ],
)
def test_empty_brackets_are_lists_beside_values_and_texts_beside_brackets(cells, values):
    assert typed(cells) == values
