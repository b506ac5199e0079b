"""Frequencies of texts and corpora."""

import gzip
from pathlib import Path

import numpy as np
import pytest

from ecsuite.corpus import Corpus
from ecsuite.formats import write_corpus
from ecsuite.grammars.frequencies import unigrams
from ecsuite.runtime.errors import CorpusError
from ecsuite.runtime.ragged import Ragged


def test_words_of_a_text_by_frequency(tmp_path: Path) -> None:
    path = tmp_path / "text.txt"
    path.write_text("\ufeffb a c\n\n a  ä\tc a", encoding="utf-8")
    words, probabilities = unigrams(path, 10)
    assert words == ("a", "c", "b", "ä")
    assert probabilities == pytest.approx(np.array([3, 2, 1, 1]) / 7)
    words, probabilities = unigrams(path, 2)
    assert words == ("a", "c") and probabilities == pytest.approx(np.array([3, 2]) / 5)


def test_symbols_of_a_corpus_by_frequency(tmp_path: Path) -> None:
    write_corpus(Corpus(messages=Ragged.from_rows([[7, 3, 3, 0], [900_000, 3, 0]]), eos=0), tmp_path)
    words, probabilities = unigrams(tmp_path, 10)
    assert words == ("3", "7", "900000")  # EOS is no symbol
    assert probabilities == pytest.approx(np.array([3, 1, 1]) / 5)
    assert unigrams(tmp_path / "corpus.jsonl", 10)[0] == words


def test_symbols_that_are_strings_keep_their_names(tmp_path: Path) -> None:
    (tmp_path / "said.jsonl").write_text('"da bu da"\n"bu da"\n"ki"\n')
    assert unigrams(tmp_path / "said.jsonl", 2)[0] == ("da", "bu")


def test_compressed_texts_are_read(tmp_path: Path) -> None:
    said = b"da bu da\nbu da ki\n"
    (tmp_path / "text.txt").write_bytes(said)
    (tmp_path / "text.txt.gz").write_bytes(gzip.compress(said))
    plain, packed = (unigrams(tmp_path / name, 10) for name in ("text.txt", "text.txt.gz"))
    assert plain[0] == packed[0] == ("da", "bu", "ki") and (plain[1] == packed[1]).all()


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.txt", b" \n", r"a\.txt: expected words, found none"),
        ("a.txt", b"\xff\xfe", r"a\.txt:1: not UTF-8: byte 0xff"),
        ("none.txt", None, r"none\.txt: cannot be read: No such file or directory"),
        ("a.gz", b"no gzip", r"a\.gz: cannot be read: "),
        ("a.gz", gzip.compress(b"da " * 999)[:-9], r"a\.gz: cannot be read: "),
    ],
)
def test_texts_that_cannot_be_read(name: str, content: bytes | None, message: str, tmp_path: Path) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(CorpusError, match=message):
        unigrams(tmp_path / name, 10)
