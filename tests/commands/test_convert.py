"""`ecsuite convert`: what other tools read, and what is left out."""

import csv
from types import SimpleNamespace

import numpy as np
import pytest
from safetensors.torch import load_file

from ecsuite.corpus import Corpus
from ecsuite.formats import read_corpus, write_corpus
from ecsuite.formats.converting import convert
from ecsuite.games.runs.egg_bridge import corpus_from_interaction
from ecsuite.runtime.ragged import Ragged

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
    assert code == 0 and out.endswith("left out: metadata\n")
    with open(tmp_path / "out.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert rows[0] == {"message": "1 2 0", "a": "0", "b": "1"}
    assert [row["message"] for row in rows] == ["1 2 0", "3 0", "0"]


def test_a_data_set_of_hugging_face(ecsuite, tmp_path, corpus):
    datasets = pytest.importorskip("datasets")
    code, out, _ = ecsuite("convert", "run", "saved", "--to", "hf")
    assert code == 0 and out.endswith("left out: metadata\n")
    assert datasets.load_from_disk(str(tmp_path / "saved"))["b"][:] == [1, 0, 1]
    assert [row.tolist() for row in read_corpus(tmp_path / "saved").messages] == ROWS


def test_tensors_that_make_an_interaction_of_egg(ecsuite, tmp_path, corpus):
    code, out, _ = ecsuite("convert", "run", "out.safetensors", "--to", "egg")
    assert code == 0 and out.endswith("left out: concept names, metadata\n")
    fields = load_file(tmp_path / "out.safetensors")
    assert fields["message"].tolist() == [[1, 2, 0], [3, 0, 0], [0, 0, 0]]
    assert fields["message_length"].tolist() == [3, 2, 1]
    # EGG's `Interaction` is a dataclass with these fields.
    interaction = SimpleNamespace(receiver_input=None, receiver_output=None, aux_input={}, aux={}, **fields)
    again = corpus_from_interaction(interaction, num_values=2)
    assert [row.tolist() for row in again.messages] == ROWS and again.eos == 0
    assert (again.meanings == corpus.meanings).all() and (fields["labels"].numpy() == corpus.meanings).all()


@pytest.mark.parametrize(
    ("rows", "meanings", "expected"),
    [
        ([[0, 1], [2]], None, {"message": [[1, 2, 0], [3, 0, 0]]}),
        ([[4]], [[0.5, -1]], {"message": [[4, 0]], "sender_input": [[0.5, -1]]}),
        ([[4]], [[-1]], {"sender_input": [[-1]]}),
    ],
)
def test_symbols_and_meanings_that_egg_has_otherwise(tmp_path, rows, meanings, expected):
    lost = convert(Corpus(rows, meanings=meanings), "egg", tmp_path / "out")
    assert ("ids of symbols (now one more)" in lost) == (rows[0][0] == 0)
    fields = load_file(tmp_path / "out")
    assert {name: fields[name].tolist() for name in expected} == expected
    assert ("sender_input" in fields) == (meanings is not None)


def test_symbols_that_are_texts_keep_their_names(ecsuite, tmp_path):
    (tmp_path / "texts.jsonl").write_text('"da bu"\n"bu da"\n')
    assert ecsuite("convert", "texts.jsonl", "out.csv", "--to", "csv")[0] == 0
    assert (tmp_path / "out.csv").read_text() == "message\nda bu\nbu da\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "out", "--to", "eg"], "unknown form 'eg'; did you mean 'egg'? choices: elcc, hf, egg, csv"),
        (["run", "run", "--to", "csv"], "run: exists already: choose another name"),
        (["gone", "out", "--to", "csv"], "cannot read gone: No such file or directory"),
    ],
)
def test_mistakes(ecsuite, corpus, arguments, message):
    code, _, err = ecsuite("convert", *arguments)
    assert (code, err) == (2, f"{message}\n")


def test_elcc_of_several_speakers_is_a_file_each(ecsuite, tmp_path):
    write_corpus(Corpus([[1, 2], [2], [3]], columns={"speaker": [0, 1, 0]}), tmp_path / "run")
    code, out, _ = ecsuite("convert", "run", "out", "--to", "elcc")
    assert code == 0 and out == "3 messages in out; left out: metadata\n"
    assert {file.name: file.read_text() for file in (tmp_path / "out").iterdir()} == {
        "speaker-0.jsonl": "[1, 2]\n[3]\n",
        "speaker-1.jsonl": "[2]\n",
    }


def test_a_column_that_is_called_as_messages_are(tmp_path):
    """It is read as the kept column that it is, where its header or the user says so."""
    kept = np.array(["x", "y", "z"])
    convert(Corpus(Ragged.from_rows(ROWS), eos=0, columns={"messages": kept}), "csv", tmp_path / "out.csv")
    read = read_corpus(tmp_path / "out.csv")
    assert [row.tolist() for row in read.messages] == ROWS and read.columns["messages"].tolist() == list(
        "xyz"
    )
    (tmp_path / "mine.csv").write_text("text,message\nlong words,1 2\nother words,3 2\n")
    read = read_corpus(tmp_path / "mine.csv", columns={"text": "kept"})
    assert read.messages[0].tolist() == [1, 2] and read.columns["text"][0] == "long words"


def test_values_of_other_types_are_told(tmp_path):
    columns = {"rate": np.array([0.5, np.inf, 1]), "seen": [True, 1, None], "turn": [1, 2, 3]}
    corpus = Corpus(Ragged.from_rows(ROWS), eos=0, columns=columns)
    assert convert(corpus, "csv", tmp_path / "out.csv") == [
        "types of the values of rate",
        "types of the values of seen",
        "metadata",
    ]


def test_features_beside_concepts_without_names_before_the_sign(tmp_path):
    """No attribute has the empty name, so features stay features."""
    corpus = Corpus(
        Ragged.from_rows(ROWS), eos=0, meanings=np.array([[0.5], [0.25], [0.5]]),
        concepts=Ragged.from_rows([[0], [0], [0]]), concept_names=("=x",),
    )  # fmt: skip
    convert(corpus, "csv", tmp_path / "out.csv")
    assert read_corpus(tmp_path / "out.csv").meanings.tolist() == [[0.5], [0.25], [0.5]]
