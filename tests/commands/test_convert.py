"""`ecsuite convert`: what other tools read, and what is left out."""

import csv

import numpy as np
import pytest

from ecsuite.corpus import Corpus, Ragged
from ecsuite.formats import read_corpus, write_corpus

ROWS = [[1, 2, 0], [3, 0], [0]]


@pytest.fixture
def corpus(tmp_path):
    """A corpus with EOS, meanings and concepts, in the folder `run`."""
    corpus = Corpus(
        Ragged.from_rows(ROWS),
        eos=0,
        meanings=np.array([[0, 1], [1, 0], [1, 1]]),
        concepts=Ragged.from_rows([[0, 3], [1, 2], [1, 3]]),
        concept_names=("a=0", "a=1", "b=0", "b=1"),
    )
    write_corpus(corpus, tmp_path / "run")
    return corpus


def test_lines_of_symbols_are_read_as_they_were(ecsuite, tmp_path, corpus):
    code, out, _ = ecsuite("convert", "run", "out/lines.jsonl", "--to", "elcc")
    assert code == 0 and out == "3 messages in out/lines.jsonl; left out: meanings and concepts, metadata\n"
    again = read_corpus(tmp_path / "out" / "lines.jsonl")
    assert [row.tolist() for row in again.messages] == ROWS and again.eos == 0


def test_a_table_of_messages_and_attributes(ecsuite, tmp_path, corpus):
    code, out, _ = ecsuite("convert", "run", "out.csv", "--to", "csv")
    assert code == 0 and out.endswith("left out: EOS, metadata\n")
    with open(tmp_path / "out.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert rows[0] == {"message": "1 2", "attribute0": "0", "attribute1": "1", "concepts": "a=0 b=1"}
    assert [row["message"] for row in rows] == ["1 2", "3", ""]


def test_a_data_set_of_hugging_face(ecsuite, tmp_path, corpus):
    datasets = pytest.importorskip("datasets")
    code, out, _ = ecsuite("convert", "run", "saved", "--to", "hf")
    assert code == 0 and out.endswith("left out: metadata\n")
    assert datasets.load_from_disk(str(tmp_path / "saved"))["attribute1"][:] == [1, 0, 1]
    assert [row.tolist() for row in read_corpus(tmp_path / "saved").messages] == ROWS


def test_symbols_that_are_texts_keep_their_names(ecsuite, tmp_path):
    (tmp_path / "texts.jsonl").write_text('"da bu"\n"bu da"\n')
    assert ecsuite("convert", "texts.jsonl", "out.csv", "--to", "csv")[0] == 0
    assert (tmp_path / "out.csv").read_text() == "message\nda bu\nbu da\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "out", "--to", "egg"], "unknown form 'egg'; choices: elcc, hf, csv"),
        (["run", "run", "--to", "csv"], "run is there already: choose another name"),
        (["gone", "out", "--to", "csv"], "cannot read gone: No such file or directory"),
    ],
)
def test_mistakes(ecsuite, corpus, arguments, message):
    code, _, err = ecsuite("convert", *arguments)
    assert (code, err) == (2, f"{message}\n")
