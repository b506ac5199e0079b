"""Files as researchers have them, each with what it means: symbols, values, roles, scores, or what is to be said."""

import gzip
import json
import lzma
import os
import threading
from itertools import product

import numpy as np
import pytest
from table_files import (
    COLORS,
    GRID,
    IDS,
    PERFECT,
    SHAPES,
    WORDS,
    answered,
    quoted,
    records,
    said,
    scores,
    table,
)

import ecsuite as ec
from ecsuite.runtime.errors import ConfigError, CorpusError, ReadingQuestion

SAME = {
    "lists as pandas writes them": table(quoted(map(str, IDS))),
    "arrays as NumPy writes them": table(["[" + " ".join(map(str, row)) + "]" for row in IDS]),
    "arrays as Python shows them": table(quoted(f"array([{a}, {b}])" for a, b in IDS)),
    "scalars as NumPy 2 shows them": table(quoted(f"[np.int64({a}), np.int64({b})]" for a, b in IDS)),
    "tensors": table(quoted(f"tensor([{a}, {b}], device='cuda:0')" for a, b in IDS)),
    "tuples": table(quoted(map(str, map(tuple, IDS)))),
    "commas": table(quoted(f"{a},{b}" for a, b in IDS)),
    "commas and spaces": table(quoted(f"{a}, {b}" for a, b in IDS)),
    "hyphens": table(f"{a}-{b}" for a, b in IDS),
    "underscores": table(f"{a}_{b}" for a, b in IDS),
    "slashes": table(f"{a}/{b}" for a, b in IDS),
    "bars and spaces": table(f"{a} | {b}" for a, b in IDS),
    "semicolons between symbols": table(f"{a};{b}" for a, b in IDS),
    "pluses": table(f"{a}+{b}" for a, b in IDS),
    "dots": table(f"{a}.{b}." for a, b in IDS),
    "a column a symbol": table((f"{a},{b}" for a, b in IDS), "message_0,message_1,color,shape"),
    "a column a symbol, from 1": table((f"{a},{b}" for a, b in IDS), "symbol1,symbol2,color,shape"),
    "spaces": table(f"{a} {b}" for a, b in IDS),
    "newlines in a cell": table(quoted(f"{a}\n{b}" for a, b in IDS)),
    "tabs between cells": table((f"{a} {b}" for a, b in IDS), separator="\t"),
    "semicolons": table((f"{a} {b}" for a, b in IDS), separator=";"),
    "bars": table((f"{a} {b}" for a, b in IDS), separator="|"),
    "capitals": table((f"{a} {b}" for a, b in IDS), "Message,color,shape"),
    "a role in the header": table((f"{a} {b}" for a, b in IDS), "code:message,color,shape"),
}
"""Tables that say the same, whatever stands between cells and symbols."""
WIDE = ("a column a symbol", "a column a symbol, from 1")


@pytest.mark.sample(12)
@pytest.mark.parametrize("name", SAME)
@pytest.mark.parametrize("ending", ["csv", "txt"])
def test_tables_that_say_the_same(tmp_path, name, ending):
    if ending == "txt" and name in ("newlines in a cell", "semicolons", "bars", *WIDE):
        pytest.skip("a table with these is called .csv")
    (tmp_path / f"a.{ending}").write_text(SAME[name])
    corpus = ec.read_corpus(tmp_path / f"a.{ending}")
    assert said(corpus) == IDS and corpus.meanings.tolist() == list(map(list, GRID))
    assert scores(corpus) == pytest.approx(PERFECT)


def test_lists_that_are_padded_end_at_eos(tmp_path):
    rows = [[*row, 0, 0] for row in IDS]
    (tmp_path / "a.csv").write_text(table(quoted(map(str, rows))))
    (tmp_path / "b.jsonl").write_text(records(rows))
    for name in ("a.csv", "b.jsonl"):
        corpus = ec.read_corpus(tmp_path / name)
        assert corpus.eos == 0 and said(corpus) == rows and scores(corpus) == pytest.approx(PERFECT)


def test_a_list_among_texts_is_named(tmp_path):
    cells = quoted(map(str, IDS))
    cells[4] = "3 5"
    (tmp_path / "a.csv").write_text(table(cells))
    with pytest.raises(
        CorpusError, match=r'a.csv: row 6, column message: expected a list, as in other rows, got "3 5"'
    ):
        ec.read_corpus(tmp_path / "a.csv")


def test_typed_words_are_read_by_letters_where_that_is_asked(tmp_path, ecsuite):
    (tmp_path / "a.csv").write_text(table("".join(row) for row in WORDS))
    whole, letters = (
        ec.read_corpus(tmp_path / "a.csv", split="spaces"),
        ec.read_corpus(tmp_path / "a.csv", split="letters"),
    )
    assert said(whole)[0] == ["nepo"] and said(letters)[0] == list("nepo")
    assert scores(letters, ["topsim"])["topsim"] == pytest.approx(1)
    code, out, err = ecsuite("score", "a.csv", "--metrics", "topsim")
    assert (code, out) == (2, "") and err.splitlines() == [
        "a.csv: is a message one symbol, or several?",
        "  9 different messages without spaces, such as nepo, newa, nemi",
        "  ecsuite score a.csv --metrics topsim --split letters  # nepo is 4 symbols: n e p o",
        "  ecsuite score a.csv --metrics topsim --split spaces   # nepo is one symbol",
    ]
    code, out, err = ecsuite("score", "a.csv", "--metrics", "topsim", "--split", "letters", "--json")
    assert json.loads(out)["scores"][0]["value"] == pytest.approx(1)


EXPERIMENT = "participant,trial,rt,message,color,shape"


def test_columns_of_experiments_are_kept(tmp_path, ecsuite):
    lines = [
        f"p{place // 9},{place},{500 + 7.25 * place},{a} {b},{color},{shape}"
        for place, ((a, b), (color, shape)) in enumerate(zip(IDS, GRID, strict=True))
    ]
    (tmp_path / "a.csv").write_text("\n".join([EXPERIMENT, *lines]) + "\n")
    corpus = ec.read_corpus(tmp_path / "a.csv")
    assert scores(corpus) == pytest.approx(PERFECT)
    assert corpus.columns["participant"].tolist() == [f"p{place // 9}" for place in range(18)]
    assert corpus.columns["rt"].dtype == float and corpus.columns["trial"].tolist() == list(range(18))
    assert corpus.metadata["roles"]["participant"] == "group" and corpus.metadata["roles"]["rt"] == "kept"
    _, _, err = ecsuite("score", "a.csv", "--metrics", "topsim")
    assert err == (
        "note: a.csv: message: message; attributes: color, shape; group: participant; "
        "kept: trial (a value a row), rt (a value a row) (--column NAME=ROLE)\n"
    )
    chosen = ec.read_corpus(tmp_path / "a.csv", columns={"participant": "attribute", "color": "kept"})
    assert chosen.attribute_names == ("participant", "shape") and "color" in chosen.columns
    code, _, err = ecsuite("score", "a.csv", "--metrics", "topsim", "--column", "colour=kept")
    assert code == 2 and err.startswith("unknown column 'colour'; did you mean 'color'?")
    code, _, err = ecsuite("score", "a.csv", "--column", "color=atribute")
    assert code == 2 and err.startswith("unknown role 'atribute'; did you mean 'attribute'?")
    code, _, err = ecsuite("score", "a.csv", "--column", "color=message", "--column", "message=message")
    told = "expected one symbol in each of the 2 columns of the message"
    assert (code, err) == (2, f'a.csv: row 2, column message: {told}, got "3 5"\n')


@pytest.mark.parametrize("header", ["", "Unnamed: 0", "index"])
def test_the_index_of_pandas_is_kept(tmp_path, header):
    lines = [
        f"{place},{a} {b},{color},{shape}"
        for place, ((a, b), (color, shape)) in enumerate(zip(IDS, GRID, strict=True))
    ]
    (tmp_path / "a.csv").write_text("\n".join([f"{header},message,color,shape", *lines]) + "\n")
    corpus = ec.read_corpus(tmp_path / "a.csv")
    assert corpus.attribute_names == ("color", "shape") and list(corpus.columns) == [header or "Unnamed: 0"]


@pytest.mark.parametrize("between", ["\t", " -> ", " ||| "])
def test_two_columns_of_a_text_are_meaning_and_message(tmp_path, between):
    lines = [
        f"{' '.join(meaning)}{between}{' '.join(message)}"
        for meaning, message in zip(GRID, WORDS, strict=True)
    ]
    (tmp_path / "a.txt").write_text("\n".join(lines) + "\n")
    corpus, (question,) = answered(tmp_path / "a.txt")
    assert question.asked.endswith("which has the messages?")
    assert said(corpus) == WORDS and corpus.meanings.tolist() == list(map(list, GRID))
    assert scores(corpus) == pytest.approx(PERFECT)
    assert "message: 2; meaning: 1" in corpus.metadata["notes"][0]
    turned = ec.read_corpus(tmp_path / "a.txt", columns={"1": "message"})
    assert said(turned) == list(map(list, GRID))


def test_two_columns_without_names_are_asked_about(tmp_path):
    (tmp_path / "a.txt").write_text(
        "one thing\tthe first word\na second\tanother line here\nmore\tand more of it\n"
    )
    with pytest.raises(ReadingQuestion, match="2 columns with tabs: which has the messages") as caught:
        ec.read_corpus(tmp_path / "a.txt")
    *columns, (whole, _) = caught.value.readings
    assert [words["columns"] for words, _ in columns] == [{"2": "message"}, {"1": "message"}]
    assert said(ec.read_corpus(tmp_path / "a.txt", **whole))[0] == ["one", "thing", "the", "first", "word"]
    assert said(ec.read_corpus(tmp_path / "a.txt", columns={"2": "message"}))[0] == ["the", "first", "word"]


def test_a_table_of_decimals_is_no_corpus(tmp_path):
    (tmp_path / "a.txt").write_text("0.5 1.25 3\n2.5 1 0.125\n")
    with pytest.raises(CorpusError, match=r"a.txt: a table of decimals, expected messages"):
        ec.read_corpus(tmp_path / "a.txt")


def test_decimal_commas_are_numbers(tmp_path):
    (tmp_path / "a.csv").write_text("message;L;a\n3 5;30,5;1,25\n3 9;60,25;2\n1 5;90,0;0,5\n")
    corpus = ec.read_corpus(tmp_path / "a.csv", numeric="features")
    assert corpus.meanings.tolist() == [[30.5, 1.25], [60.25, 2], [90, 0.5]]
    assert corpus.attribute_names == ("L", "a")


LAB = [[30.5 + 29.75 * a, -40.5 + 40.75 * b] for a in range(3) for b in range(3)] * 2


def test_numbers_are_values_or_features(tmp_path):
    """Decimals in lists are features; numbers in columns where that is asked, with a note where it seems meant."""
    lines = [f"{a} {b},{x},{y}" for (a, b), (x, y) in zip(IDS, LAB, strict=True)]
    (tmp_path / "columns.csv").write_text("message,L,a\n" + "\n".join(lines) + "\n")
    (tmp_path / "lists.csv").write_text(
        "message,meaning\n" + "".join(f'{a} {b},"{lab}"\n' for (a, b), lab in zip(IDS, LAB, strict=True))
    )
    with pytest.raises(ReadingQuestion, match="are the numbers of L, a values, or measures") as caught:
        ec.read_corpus(tmp_path / "columns.csv")
    assert [words["numeric"] for words, _ in caught.value.readings] == ["features", "values"]
    values = ec.read_corpus(tmp_path / "columns.csv", numeric="values")
    assert values.meanings.dtype.kind == "U"
    features = ec.read_corpus(tmp_path / "columns.csv", numeric="features")
    lists = ec.read_corpus(tmp_path / "lists.csv")
    assert features.meanings.tolist() == lists.meanings.tolist() == LAB
    by_role = ec.read_corpus(tmp_path / "columns.csv", columns={"L": "feature", "a": "feature"})
    assert by_role.meanings.tolist() == LAB
    pixels = "".join(
        json.dumps({"message": row, "meaning": [7 * place, 400 - place]}) + "\n"
        for place, row in enumerate(IDS)
    )
    (tmp_path / "pixels.jsonl").write_text(pixels)
    assert ec.read_corpus(tmp_path / "pixels.jsonl", numeric="features").meanings.dtype == float


def test_eos_may_be_said(tmp_path, ecsuite):
    (tmp_path / "a.jsonl").write_text("[1, 2, 3]\n[1, 2, 0]\n[1, 0, 0]\n[2, 3, 1]\n[3, 0, 0]\n[2, 1, 0]\n")
    assert ec.read_corpus(tmp_path / "a.jsonl").eos is None
    corpus = ec.read_corpus(tmp_path / "a.jsonl", eos=0)
    assert (
        corpus.content().lengths.tolist() == [3, 2, 1, 3, 1, 2] and corpus.metadata["eos_source"] == "given"
    )
    (tmp_path / "b.jsonl").write_text("[1, 0]\n[2, 0]\n")
    assert (ec.read_corpus(tmp_path / "b.jsonl").eos, ec.read_corpus(tmp_path / "b.jsonl", eos=None).eos) == (
        0,
        None,
    )
    code, out, _ = ecsuite("score", "a.jsonl", "--metrics", "elcc", "--eos", "0")
    assert code == 0 and "EOS 0, as given" in out
    code, _, err = ecsuite("score", "a.jsonl", "--eos", "stop")
    assert (code, err) == (2, "--eos stop: expected a symbol such as 0, or none\n")


def test_a_missing_value_is_named_and_may_be_left_out(tmp_path, ecsuite):
    text = table(f"{a} {b}" for a, b in IDS).splitlines()
    text[5] = text[5].rpartition(",")[0] + ","
    (tmp_path / "a.csv").write_text("\n".join(text) + "\n")
    code, out, err = ecsuite("score", "a.csv", "--metrics", "posdis,topsim", "--json")
    reasons = {score["name"]: score["reason"] for score in json.loads(out)["scores"]}
    assert (
        code == 0
        and "a.csv: row 6, column shape lacks" not in err
        and "a.csv: row 6 lacks a value of shape" in err
    )
    assert reasons["posdis"] == "a.csv: row 6 lacks a value of shape (--missing leave or value)"
    whole = ec.read_corpus(tmp_path / "a.csv", missing="leave")
    assert len(whole.messages) == 17 and scores(whole)["topsim"] == pytest.approx(1)
    valued = ec.read_corpus(tmp_path / "a.csv", missing="value")
    assert "shape=missing" in valued.concept_names and len(valued.meanings) == 18
    lacking = records().replace(', "shape": "box"}', "}", 1)
    (tmp_path / "b.jsonl").write_text(lacking)
    assert "b.jsonl:3 lacks a value of shape" in ec.read_corpus(tmp_path / "b.jsonl").metadata["missing"]
    assert len(ec.read_corpus(tmp_path / "b.jsonl", missing="leave").messages) == 17


JSON = {
    "one document of messages": ("a.json", json.dumps(IDS)),
    "one document of records": ("a.json", "[" + ",".join(records().splitlines()) + "]"),
    "a printed document": (
        "a.json",
        json.dumps([json.loads(line) for line in records().splitlines()], indent=2),
    ),
    "printed records": (
        "a.jsonl",
        "\n".join(json.dumps(json.loads(line), indent=1) for line in records().splitlines()),
    ),
    "columns": ("a.json", json.dumps({"messages": IDS, "color": [color for color, _ in GRID]})),
    "other keys": ("a.jsonl", records().replace('"message"', '"signal"').replace('"meaning"', '"object"')),
    "no ending": ("a", records()),
    "lists of words": ("a.jsonl", "".join(json.dumps(row) + "\n" for row in WORDS)),
}


@pytest.mark.parametrize("name", JSON)
def test_forms_of_json(tmp_path, name):
    file, text = JSON[name]
    (tmp_path / file).write_text(text)
    corpus = ec.read_corpus(tmp_path / file)
    assert said(corpus) == (WORDS if "words" in name else IDS)


def test_keys_of_egg_and_attributes_beside_messages(tmp_path):
    rows = [{"sender_input": [a, b], "message": [a, b, 0], "receiver_output": [0.1]} for a, b in IDS]
    (tmp_path / "egg.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    corpus = ec.read_corpus(tmp_path / "egg.jsonl")
    assert corpus.meanings.tolist() == IDS and corpus.columns["receiver_output"].tolist() == [[0.1]] * 18
    flat_rows = [
        {"message": message, "color": color, "shape": shape}
        for message, (color, shape) in zip(IDS, GRID, strict=True)
    ]
    (tmp_path / "flat.jsonl").write_text("".join(json.dumps(row) + "\n" for row in flat_rows))
    assert ec.read_corpus(tmp_path / "flat.jsonl").attribute_names == ("color", "shape")


def test_meanings_of_all_forms(tmp_path):
    def read(meaning):
        rows = [
            {"message": message, "meaning": meaning(*each)} for message, each in zip(IDS, GRID, strict=True)
        ]
        (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        return ec.read_corpus(tmp_path / "a.jsonl")

    nested = read(lambda color, shape: {"left": {"color": color}, "right": {"shape": shape}})
    assert nested.attribute_names == ("left.color", "right.shape") and scores(nested) == pytest.approx(
        PERFECT
    )
    onehot = read(
        lambda color, shape: [
            [int(color == each) for each in COLORS],
            [int(shape == each) for each in SHAPES],
        ]
    )
    assert onehot.meanings.shape == (18, 2)
    assert scores(onehot, ["topsim", "posdis"]) == pytest.approx({"topsim": 1, "posdis": 1})
    assert "one-hot: 2 attributes with 3, 3 values" in onehot.metadata["notes"][0]
    numbers = ec.read_corpus(tmp_path / "a.jsonl", numeric="features")
    assert numbers.meanings.shape == (18, 6) and scores(numbers, ["topsim"]) == pytest.approx({"topsim": 1})
    truths = read(
        lambda color, shape: {"red": color == "red", "blue": color == "blue", "star": shape == "star"}
    )
    assert set(truths.concept_names) == {"red", "blue", "star"}
    assert truths.meanings[0].tolist() == [1, 0, 1] and truths.attribute_names == ("red", "blue", "star")


def test_arrays_of_messages(tmp_path):
    np.save(tmp_path / "a.npy", np.array(IDS))
    np.savez(tmp_path / "a.npz", message=np.array(IDS), sender_input=np.array(IDS))
    np.savez(tmp_path / "b.npz", a=np.array(IDS), b=np.array(IDS))
    assert said(ec.read_corpus(tmp_path / "a.npy")) == IDS
    assert ec.read_corpus(tmp_path / "a.npz").meanings.tolist() == IDS
    with pytest.raises(
        CorpusError,
        match=r"b.npz: a NumPy archive with arrays a \(18, 2\), b \(18, 2\): name the messages with --column",
    ):
        ec.read_corpus(tmp_path / "b.npz")
    assert said(ec.read_corpus(tmp_path / "b.npz", columns={"b": "message"})) == IDS
    one_hot = np.eye(10)[np.array(IDS)]
    np.savez(tmp_path / "c.npz", message=one_hot, message_length=np.full(18, 1.0))
    assert said(ec.read_corpus(tmp_path / "c.npz")) == [row[:1] for row in IDS]
    np.save(tmp_path / "objects.npy", np.array([[1], "a"], dtype=object), allow_pickle=True)
    with pytest.raises(CorpusError, match="Python objects, which can run code"):
        ec.read_corpus(tmp_path / "objects.npy")


@pytest.mark.parametrize(
    ("arrays", "told"),
    [
        ({"length": [-1, 2]}, "its lengths do not fit: expected 0 to 2"),
        ({"length": [1, 3]}, "its lengths do not fit: expected 0 to 2"),
        ({"length": [1]}, "its lengths do not fit: expected 0 to 2"),
        ({"size": [1]}, "array size: expected 2 rows, as array message; got 1"),
        ({"size": [1, 2, 3]}, "array size: expected 2 rows, as array message; got 3"),
        ({"message": [[[0, 1], [0, 1]], [[0, 1], [0, 0]]]}, "expected one-hot symbols, 0 or 1; got int64"),
        ({"message": [[1, 2], [3, -2]]}, "expected whole numbers from 0"),
    ],
    ids=["negative", "too long", "too few", "few rows", "many rows", "no symbol", "no id"],
)
def test_arrays_that_do_not_fit_are_refused(tmp_path, arrays, told):
    np.savez(tmp_path / "a.npz", **{"message": [[1, 2], [3, 4]], **arrays})
    with pytest.raises(CorpusError, match=rf"a\.npz: .*{told}"):
        ec.read_corpus(tmp_path / "a.npz")


def test_pairs_with_concepts(tmp_path):
    (tmp_path / "a.jsonl").write_text('["green hat", ["green", "hat"]]\n["red hat", ["red", "hat"]]\n')
    corpus = ec.read_corpus(tmp_path / "a.jsonl")
    assert said(corpus) == [["green", "hat"], ["red", "hat"]] and set(corpus.concept_names) == {
        "green",
        "hat",
        "red",
    }


def test_concepts_of_two_columns_are_one_set(tmp_path):
    (tmp_path / "a.csv").write_text("message,first:concept,second:concept\n3,red big,cup\n4,,star\n")
    corpus = ec.read_corpus(tmp_path / "a.csv")
    names = [[corpus.concept_names[each] for each in row] for row in corpus.concepts]
    assert list(map(sorted, names)) == [["big", "cup", "red"], ["star"]]


def test_a_feature_that_one_row_lacks_leaves_no_meanings(tmp_path):
    (tmp_path / "a.csv").write_text("message,size:feature,age:feature\n3,0.5,1\n4,,2\n")
    corpus = ec.read_corpus(tmp_path / "a.csv")
    assert corpus.meanings is None and "row 3 lacks a feature" in corpus.metadata["missing"]
    whole = ec.read_corpus(tmp_path / "a.csv", missing="leave")
    assert whole.meanings.tolist() == [[0.5, 1.0]] and said(whole) == [[3]]


def test_two_columns_of_one_name_are_refused(tmp_path):
    (tmp_path / "a.csv").write_text("message,size,size\n3,1,2\n")
    with pytest.raises(CorpusError, match=r"a\.csv: row 1: two columns have the name"):
        ec.read_corpus(tmp_path / "a.csv")


def test_rows_keep_their_numbers_where_others_are_left_out(tmp_path):
    (tmp_path / "a.csv").write_text("message,size:feature\n3,\n4,big\n")
    with pytest.raises(CorpusError, match=r"a\.csv: row 3, column size: expected a number of a feature"):
        ec.read_corpus(tmp_path / "a.csv", missing="leave")


def test_truth_values_are_no_features(tmp_path):
    (tmp_path / "a.csv").write_text("message,new,size\n3,true,1\n4,false,2\n")
    corpus = ec.read_corpus(tmp_path / "a.csv", numeric="features", columns={"new": "attribute"})
    assert corpus.concept_names == ("new",) and corpus.meanings.tolist() == [[1.0], [2.0]]


def test_a_key_may_come_in_a_later_record(tmp_path):
    rows = [{"message": [3], "color": "red"}, {"message": [4], "size": "big", "color": "blue"}]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    corpus = ec.read_corpus(tmp_path / "a.jsonl")
    assert "size=big" in corpus.concept_names
    assert corpus.metadata["missing"] == "a.jsonl:1 lacks a value of size"


def test_a_letter_of_two_characters_is_one_symbol(tmp_path):
    (tmp_path / "a.txt").write_text("cafe\u0301\nno\u0308\n", encoding="utf-8")
    assert said(ec.read_corpus(tmp_path / "a.txt", split="letters")) == [list("caf\u00e9"), list("n\u00f6")]


def test_symbols_keep_their_text(tmp_path):
    (tmp_path / "a.txt").write_text("01 5\n1 5\n001 9\n")
    assert len({row[0] for row in said(ec.read_corpus(tmp_path / "a.txt"))}) == 3
    (tmp_path / "b.csv").write_text("message,size\n3,01\n4,1\n5,001\n")
    assert len(ec.read_corpus(tmp_path / "b.csv").concept_names) == 3
    (tmp_path / "c.csv").write_text("message,size\n3,9223372036854775808\n4,1\n")
    with pytest.raises(CorpusError, match=r"c.csv: row 2, column size: expected integers of at most 64 bits"):
        ec.read_corpus(tmp_path / "c.csv")
    (tmp_path / "d.txt").write_text("caf\u00e9 a\ncafe\u0301 b\n", encoding="utf-8")
    corpus = ec.read_corpus(tmp_path / "d.txt")
    assert (
        len({row[0] for row in said(corpus)}) == 2 and "two Unicode spellings" in corpus.metadata["notes"][0]
    )


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress])
@pytest.mark.parametrize(
    ("name", "text"), [("a.jsonl", records()), ("a.csv", SAME["commas"]), ("a.txt", "3 5\n1 9\n")]
)
def test_packed_files(tmp_path, name, text, pack):
    plain, packed = tmp_path / name, tmp_path / f"{name}.{'gz' if pack is gzip.compress else 'xz'}"
    plain.write_text(text)
    packed.write_bytes(pack(text.encode()))
    assert said(ec.read_corpus(plain)) == said(ec.read_corpus(packed))


def test_a_pipe_is_read(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=lambda: (tmp_path / "pipe").write_text(records()))
    writer.start()
    assert said(ec.read_corpus(tmp_path / "pipe")) == IDS
    writer.join()


def test_frames(tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        {"message": IDS, "color": [color for color, _ in GRID], "shape": [shape for _, shape in GRID]}
    )
    expected = [list(each) for each in GRID]
    for source in (
        frame,
        frame.to_dict("list"),
        frame.to_dict("records"),
        frame.assign(message=[np.array(row) for row in IDS]),
    ):
        corpus = ec.read_corpus(source)
        assert said(corpus) == IDS and corpus.meanings.tolist() == expected
    frame.loc[3, "shape"] = None
    assert ec.read_corpus(frame).metadata["missing"].endswith("row 3 lacks a value of shape")
    frame.loc[2, "shape"] = None
    assert (
        ec.read_corpus(frame).metadata["missing"].endswith("row 2 lacks a value of shape, and 1 more values")
    )
    pyarrow = pytest.importorskip("pyarrow")
    arrow = pyarrow.table({"message": IDS, "color": [color for color, _ in GRID]})
    assert said(ec.read_corpus(arrow)) == IDS
    pyarrow.feather = pytest.importorskip("pyarrow.feather")
    pyarrow.feather.write_feather(arrow, tmp_path / "a.feather")
    assert said(ec.read_corpus(tmp_path / "a.feather")) == IDS
    with pytest.raises(ConfigError, match="expected a path, a frame"):
        ec.read_corpus(3)


def test_meanings_from_python(tmp_path):
    pandas = pytest.importorskip("pandas")
    texts = [" ".join(row) for row in WORDS]
    frame = pandas.DataFrame(GRID, columns=["color", "shape"])
    rows = [{"color": color, "shape": shape} for color, shape in GRID]
    named = [frame.set_index("color"), frame.set_index(["color", "shape"]), frame.set_axis(texts)]
    for meanings in (frame, *named, rows, frame.to_dict("list"), [list(each) for each in GRID]):
        assert scores(ec.Corpus.from_strings(texts, meanings=meanings)) == pytest.approx(PERFECT)
    with pytest.raises(CorpusError, match="expected meanings of one kind and length"):
        ec.Corpus.from_strings(["a", "b"], meanings=[{"a": 1}, 3])
    with pytest.raises(CorpusError, match="meanings: expected columns of different names"):
        ec.Corpus.from_strings(texts, meanings=frame.set_axis(["a", "a"], axis=1))


def test_meanings_in_a_second_file(tmp_path, ecsuite):
    (tmp_path / "said.txt").write_text("\n".join(" ".join(row) for row in WORDS) + "\n")
    (tmp_path / "meant.csv").write_text("color,shape\n" + "\n".join(map(",".join, GRID)) + "\n")
    (tmp_path / "meant.txt").write_text("\n".join(map(" ".join, GRID)) + "\n")
    for meant in ("meant.csv", "meant.txt"):
        corpus = ec.read_corpus(tmp_path / "said.txt", meanings=tmp_path / meant)
        assert scores(corpus) == pytest.approx(PERFECT)
    for number in (1, 19):
        (tmp_path / "other.csv").write_text("color\n" + number * "red\n")
        code, _, err = ecsuite("score", "said.txt", "--meanings", "other.csv")
        assert (code, err) == (2, f"other.csv: expected 18 rows, one per message, got {number}\n")


OTHER = {
    "a.png": (b"\x89PNG\r\n\x1a\n0000", "a PNG image"),
    "a.bmp": (
        b"BM\xf6\x00\x00\x00\x00\x00",
        "a.bmp: binary data, such as a picture or a sound; expected messages: ",
    ),
    "a.webp": (b"RIFF<\x00\x00\x00WEBPVP8 ", "binary data, such as a picture or a sound"),
    "a.wav": (b"RIFF<\x00\x00\x00WAVEfmt ", "binary data, such as a picture or a sound"),
    "a.svg": (b'<svg xmlns="http://www.w3.org/2000/svg"/>', "an SVG image"),
    "a.html": (b"<!DOCTYPE html><p>404", "an HTML page"),
    "a.pkl": (b"\x80\x04\x95abc.", "a pickle, which can run code"),
    "a.xlsx": (b"PK\x03\x04......[Content_Types].xml", "an Excel workbook: save the sheet as CSV"),
    "a.pt": (b"PK\x03\x04......archive/data.pkl", "a file of torch, which is a pickle"),
    "a.parquet": (b"message\n", "can't be read as parquet"),
    "a.pdf": (b"%PDF-1.7", "a PDF"),
    "a.csv": ("message\n3 5\n".encode("utf-16"), "not UTF-8"),
}


@pytest.mark.parametrize("name", OTHER)
def test_what_is_no_corpus_is_told_what_it_is(tmp_path, ecsuite, name):
    content, message = OTHER[name]
    (tmp_path / name).write_bytes(content)
    code, out, err = ecsuite("score", name)
    assert (code, out, err.count("\n")) == (2, "", 1) and message in err


def test_the_same_file_gives_the_same_objects_everywhere(tmp_path, ecsuite):
    text = (
        "\n".join(
            [
                "id;colour;size;note",
                *(f"{n};{c};{s},5;n{n}" for n, (c, s) in enumerate(product(COLORS, (1, 2, 3, 4)))),
            ]
        )
        + "\n"
    )
    (tmp_path / "a.csv").write_text(text)
    small = (
        "--set training.num_examples=64 --epochs 1 --set evaluation.num_valid=32 --set task.num_distractors=2"
    )
    code, _, err = ecsuite("train-game", "a.csv", *small.split(), "--out", "run")
    assert code == 0 and "attributes: colour, size; kept: id (a value a row), note (a value a row)" in err
    run = ec.read_corpus(tmp_path / "run")
    assert run.columns["note"].tolist() == [f"n{n}" for n in range(12)]
    assert {name.partition("=")[0] for name in run.concept_names} == {"colour", "size"}
    code, out, _ = ecsuite("show", "a.csv", "--set", "task.num_distractors=2")
    assert code == 0 and "size=1.5" in out and "note" not in out.replace("note:", "")
    code, _, err = ecsuite(
        "train-game",
        "a.csv",
        *small.split(),
        "--column",
        "note=attribute",
        "--column",
        "size=kept",
        "--out",
        "other",
    )
    assert code == 0 and {
        name.partition("=")[0] for name in ec.read_corpus(tmp_path / "other").concept_names
    } == {"colour", "note"}


def test_what_populations_and_experiments_leave(tmp_path):
    """A mapping of agents, phrases of three roles, and a typed language with coordinates."""
    (tmp_path / "agents.json").write_text(
        json.dumps({"agent_0": [[3, 5], [1, 9]], "agent_1": [[2, 5], [2, 9]]})
    )
    with pytest.raises(CorpusError, match="no column of messages among agent_0, agent_1"):
        ec.read_corpus(tmp_path / "agents.json")
    assert said(ec.read_corpus(tmp_path / "agents.json", columns={"agent_1": "message"})) == [[2, 5], [2, 9]]
    phrases = [
        f"{verb} {a} {b}\t{a} {verb} {b}{' mk' * (n % 2)}"
        for n, (verb, a, b) in enumerate(product(("love", "hate"), ("ann", "tom"), ("ann", "tom")))
    ]
    (tmp_path / "phrases.txt").write_text("\n".join(phrases) + "\n")
    corpus = ec.read_corpus(tmp_path / "phrases.txt", columns={"2": "message"})
    assert corpus.meanings.shape == (8, 3) and said(corpus)[1] == ["ann", "love", "tom", "mk"]
    (tmp_path / "typed.txt").write_text("wod\t12,34\t5,5\nkika\t99,10\t6,5\nwod\t12,35\t7,5\n")
    typed = ec.read_corpus(
        tmp_path / "typed.txt", columns={"1": "message", "2": "feature", "3": "feature"}, split="letters"
    )
    assert said(typed)[1] == list("kika") and typed.meanings.tolist() == [
        [12.34, 5.5],
        [99.1, 6.5],
        [12.35, 7.5],
    ]


def test_a_file_of_one_record(tmp_path):
    record = {"message": ["ne", "po"], "concepts": ["red", "star"]}
    (tmp_path / "a.jsonl").write_text(json.dumps(record) + "\n")
    assert said(ec.read_corpus(tmp_path / "a.jsonl")) == [["ne", "po"]]
    (tmp_path / "a.json").write_text(json.dumps({"messages": ["ne po", "lu wa"], "color": ["red", "blue"]}))
    assert said(ec.read_corpus(tmp_path / "a.json")) == [["ne", "po"], ["lu", "wa"]]


def test_a_first_line_of_a_spreadsheet_and_names_of_rows_of_r(tmp_path):
    (tmp_path / "sep.csv").write_text("sep=;\n" + table(quoted(map(str, IDS)), separator=";"))
    lines = table([" ".join(row) for row in WORDS]).splitlines()
    numbered = [f"{place},{line}" for place, line in enumerate(lines[1:], 1)]
    (tmp_path / "r.csv").write_text("\n".join([lines[0], *numbered]) + "\n")
    for name in ("sep.csv", "r.csv"):
        corpus = ec.read_corpus(tmp_path / name)
        assert scores(corpus) == pytest.approx(PERFECT) and corpus.attribute_names == ("color", "shape")
    wrong = [
        f"{place % 3},{line}" for place, line in enumerate(lines[1:])
    ]  # messages with commas, not quoted
    (tmp_path / "wrong.csv").write_text("\n".join([lines[0], *wrong]) + "\n")
    with pytest.raises(CorpusError, match="row 2: expected 3 cells, as in the header, got 4"):
        ec.read_corpus(tmp_path / "wrong.csv")
    (tmp_path / "short.csv").write_text("sep=;\n" + "message;color\n1 2;red\n3 4\n")
    with pytest.raises(CorpusError, match="row 4: expected 2 cells, as in the header, got 1"):
        ec.read_corpus(tmp_path / "short.csv")


@pytest.mark.parametrize(
    "values", [("1.1", "1.10", "2"), ("+1", "1", "-1"), ("1e2", "100", "2"), ("1.0", "1", "2")]
)
def test_values_that_are_one_number_stay_different(tmp_path, values):
    written = dict(zip(COLORS, values, strict=True))
    rows = [f"{a} {b},{written[color]},{shape}" for (a, b), (color, shape) in zip(IDS, GRID, strict=True)]
    (tmp_path / "a.csv").write_text("message,section,shape\n" + "\n".join(rows) + "\n")
    corpus, questions = answered(tmp_path / "a.csv", numeric="values")
    assert not questions and scores(corpus) == pytest.approx(PERFECT)
    if "1.10" in values:
        with pytest.raises(ReadingQuestion, match="are the numbers of section values, or measures"):
            ec.read_corpus(tmp_path / "a.csv")
    assert ec.read_corpus(tmp_path / "a.csv", columns={"section": "feature", "shape": "kept"}).meanings[
        0, 0
    ] == float(values[0])


@pytest.mark.parametrize(
    "meaning",
    ['"{{""size"": {}, ""shape"": ""{}""}}"', "\"{{'size': {}, 'shape': '{}'}}\"", '"size={}, shape={}"'],
)
@pytest.mark.parametrize("header", ["message,meaning", "message,meaning,size"])
def test_decimals_in_a_meaning_are_values(tmp_path, meaning, header):
    sizes = dict(zip(COLORS, (1.5, 2.5, 3.0), strict=True))
    rows = [
        f"{a} {b},{meaning.format(sizes[color], shape)}"
        for (a, b), (color, shape) in zip(IDS, GRID, strict=True)
    ]
    rows = [f"{row},{number}.5" if "size" in header else row for number, row in enumerate(rows)]
    (tmp_path / "a.csv").write_text("\n".join([header, *rows]) + "\n")
    corpus = ec.read_corpus(tmp_path / "a.csv", numeric="values")
    assert corpus.attribute_names == ("size", "shape") and scores(corpus) == pytest.approx(PERFECT)
    assert {*corpus.meanings[:, 0]} == {"1.5", "2.5", "3.0"}


@pytest.mark.parametrize(
    ("name", "text", "place"),
    [
        ("a.csv", "message,color\n1 2,red\n,blue\n3,red\n", "a.csv: row 3"),
        ("a.jsonl", '{"message": [1], "color": "red"}\n{"color": "red"}\n', "a.jsonl:2"),
        ("a.jsonl", '{"message": [1], "color": "red"}\n{"message": null, "color": "red"}\n', "a.jsonl:2"),
    ],
)
def test_a_row_without_a_message_is_named(tmp_path, name, text, place):
    (tmp_path / name).write_text(text)
    assert (
        f"{place} has no message: taken as empty messages"
        in ec.read_corpus(tmp_path / name).metadata["notes"]
    )


def test_values_in_two_spellings_are_named():
    corpus = ec.read_corpus({"message": ["a", "b"], "colour": ["caf\u00e9", "cafe\u0301"]})
    assert "which count as two values" in corpus.metadata["notes"][-1]


def test_many_columns_are_read_in_time_that_grows_as_they_do(monkeypatch):
    from ecsuite.formats import roles

    calls = []
    plain = roles.plain_name
    monkeypatch.setattr(roles, "plain_name", lambda name: calls.append(name) or plain(name))
    table = {"message": ["a", "b", "b"], **{f"a{place}": ["x", "y", "x"] for place in range(300)}}
    assert len(ec.read_corpus(table).attribute_names) == 300
    assert len(calls) < 3000, "each name was looked at for each column"
