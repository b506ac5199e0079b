"""`ecsuite convert`: what other tools read, and what is left out."""

import numpy as np
import pytest

from ecsuite.corpus import Corpus
from ecsuite.formats import read_corpus, write_corpus
from ecsuite.runtime.ragged import Ragged

ROWS = [[1, 2, 0], [3, 0], [0]]


@pytest.fixture
def corpus(tmp_path):
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


def test_a_data_set_of_hugging_face(ecsuite, tmp_path, corpus):
    datasets = pytest.importorskip("datasets")
    code, out, _ = ecsuite("convert", "run", "saved", "--to", "hf")
    assert code == 0 and out.endswith("left out: metadata\n")
    assert datasets.load_from_disk(str(tmp_path / "saved"))["b"][:] == [1, 0, 1]
    assert [row.tolist() for row in read_corpus(tmp_path / "saved").messages] == ROWS


def test_elcc_of_several_speakers_is_a_file_each(ecsuite, tmp_path):
    write_corpus(Corpus([[1, 2], [2], [3]], columns={"speaker": [0, 1, 0]}), tmp_path / "run")
    code, out, _ = ecsuite("convert", "run", "out", "--to", "elcc")
    assert code == 0 and out == "3 messages in out; left out: metadata\n"
    assert {file.name: file.read_text() for file in (tmp_path / "out").iterdir()} == {
        "speaker-0.jsonl": "[1, 2]\n[3]\n",
        "speaker-1.jsonl": "[2]\n",
    }
