import gzip
import json
import lzma
import os
import threading

import numpy as np
import pytest

import ecsuite as ec
from ecsuite.runtime.errors import CorpusError, ReadingQuestion
from table_files import COLORS, GRID, IDS, PERFECT, WORDS, answered, quoted, records, said, scores, table

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


@pytest.mark.sample(12)
@pytest.mark.parametrize("name", SAME)
def test_tables_that_say_the_same(tmp_path, name):
    (tmp_path / "a.csv").write_text(SAME[name])
    corpus = ec.read_corpus(tmp_path / "a.csv")
    assert said(corpus) == IDS and corpus.meanings.tolist() == list(map(list, GRID))
    assert scores(corpus) == pytest.approx(PERFECT)


def test_a_missing_value_is_named_and_may_be_left_out(tmp_path, ecsuite):
    text = table(f"{a} {b}" for a, b in IDS).splitlines()
    text[5] = text[5].rpartition(",")[0] + ","
    (tmp_path / "a.csv").write_text("\n".join(text) + "\n")
    code, out, err = ecsuite("score", "a.csv", "--metrics", "posdis,topsim", "--json")
    reasons = {score["name"]: score["reason"] for score in json.loads(out)["scores"]}
    assert code == 0 and "a.csv: row 6, column shape lacks" not in err
    assert "a.csv: row 6 lacks a value of shape" in err
    assert reasons["posdis"] == "a.csv: row 6 lacks a value of shape (--missing leave or value)"
    whole = ec.read_corpus(tmp_path / "a.csv", missing="leave")
    assert len(whole.messages) == 17 and scores(whole)["topsim"] == pytest.approx(1)
    valued = ec.read_corpus(tmp_path / "a.csv", missing="value")
    assert "shape=missing" in valued.concept_names and len(valued.meanings) == 18
    lacking = records().replace(', "shape": "box"}', "}", 1)
    (tmp_path / "b.jsonl").write_text(lacking)
    assert "b.jsonl:3 lacks a value of shape" in ec.read_corpus(tmp_path / "b.jsonl").metadata["missing"]
    assert len(ec.read_corpus(tmp_path / "b.jsonl", missing="leave").messages) == 17


def test_arrays_of_messages(tmp_path):
    np.save(tmp_path / "a.npy", np.array(IDS))
    np.savez(tmp_path / "a.npz", message=np.array(IDS), sender_input=np.array(IDS))
    np.savez(tmp_path / "b.npz", a=np.array(IDS), b=np.array(IDS))
    assert said(ec.read_corpus(tmp_path / "a.npy")) == IDS
    assert ec.read_corpus(tmp_path / "a.npz").meanings.tolist() == IDS
    with pytest.raises(CorpusError, match=r"b.npz: a NumPy archive with arrays a \(18, 2\), b \(18, 2\):"):
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


def test_rows_keep_their_numbers_where_others_are_left_out(tmp_path):
    (tmp_path / "a.csv").write_text("message,size:feature\n3,\n4,big\n")
    with pytest.raises(CorpusError, match=r"a\.csv: row 3, column size: expected a number of a feature"):
        ec.read_corpus(tmp_path / "a.csv", missing="leave")


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
    assert len({row[0] for row in said(corpus)}) == 2
    assert "two Unicode spellings" in corpus.metadata["notes"][0]


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress])
@pytest.mark.parametrize(("name", "text"), [("a.jsonl", records()), ("a.csv", SAME["commas"]), ("a.txt", "3 5\n1 9\n")])
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


OTHER = {
    "a.png": (b"\x89PNG\r\n\x1a\n0000", "a PNG image"),
    "a.bmp": (b"BM\xf6\x00\x00\x00\x00\x00", "a.bmp: binary data, such as a picture or a sound; expected messages: "),
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
}  # fmt: skip


@pytest.mark.parametrize("name", OTHER)
def test_what_is_no_corpus_is_told_what_it_is(tmp_path, refused, name):
    content, message = OTHER[name]
    (tmp_path / name).write_bytes(content)
    assert message in refused("score", name)


def test_a_file_of_one_record(tmp_path):
    record = {"message": ["ne", "po"], "concepts": ["red", "star"]}
    (tmp_path / "a.jsonl").write_text(json.dumps(record) + "\n")
    assert said(ec.read_corpus(tmp_path / "a.jsonl")) == [["ne", "po"]]
    (tmp_path / "a.json").write_text(json.dumps({"messages": ["ne po", "lu wa"], "color": ["red", "blue"]}))
    assert said(ec.read_corpus(tmp_path / "a.json")) == [["ne", "po"], ["lu", "wa"]]


@pytest.mark.parametrize("values", [("1.1", "1.10", "2"), ("+1", "1", "-1"), ("1e2", "100", "2"), ("1.0", "1", "2")])
def test_values_that_are_one_number_stay_different(tmp_path, values):
    written = dict(zip(COLORS, values, strict=True))
    rows = [f"{a} {b},{written[color]},{shape}" for (a, b), (color, shape) in zip(IDS, GRID, strict=True)]
    (tmp_path / "a.csv").write_text("message,section,shape\n" + "\n".join(rows) + "\n")
    corpus, questions = answered(tmp_path / "a.csv", numeric="values")
    assert not questions and scores(corpus) == pytest.approx(PERFECT)
    if "1.10" in values:
        with pytest.raises(ReadingQuestion, match="are the numbers of section values, or measures"):
            ec.read_corpus(tmp_path / "a.csv")
    assert ec.read_corpus(tmp_path / "a.csv", columns={"section": "feature", "shape": "kept"}).meanings[0, 0] == float(
        values[0]
    )


def test_columns_of_a_json_document(tmp_path):
    (tmp_path / "a.json").write_text(json.dumps({"messages": IDS, "color": [color for color, _ in GRID]}))
    assert said(ec.read_corpus(tmp_path / "a.json")) == IDS
