"""Folders of texts are read or refused with one clear line; tuning and test never share a line."""

import gzip
from pathlib import Path

import numpy as np
import pytest

from ecsuite.eval.xferbench.languages import write
from ecsuite.eval.xferbench.presets import NANO
from ecsuite.eval.xferbench.targets import (
    TEST_SHARE,
    Text,
    embedded_texts,
    encode,
    fingerprint,
    prepare,
    read_texts,
    shuffled,
    train_bpe,
)


def test_plain_and_packed_files_are_read_by_name(tmp_path: Path) -> None:
    (tmp_path / "da.txt.gz").write_bytes(gzip.compress(b"en linje\n\n  en til \r\n"))
    (tmp_path / "ab.txt").write_bytes(b"\xef\xbb\xbfone line\n")
    (tmp_path / "SOURCES.md").write_text("not a text")
    assert read_texts(tmp_path) == [
        Text(name="ab", lines=["one line"]),
        Text(name="da", lines=["en linje", "en til"]),
    ]


def test_no_folder(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="nowhere: no such folder of target texts"):
        read_texts(tmp_path / "nowhere")


def test_empty_folder(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"expected target texts such as da\.txt or da\.txt\.gz, found none"):
        read_texts(tmp_path)


def test_two_files_of_one_name(tmp_path: Path) -> None:
    (tmp_path / "da.txt").write_text("a")
    (tmp_path / "da.txt.gz").write_bytes(gzip.compress(b"a"))
    with pytest.raises(ValueError, match=r"both da\.txt and da\.txt\.gz are there; keep one"):
        read_texts(tmp_path)


def test_bad_utf8_says_where(tmp_path: Path) -> None:
    (tmp_path / "da.txt").write_bytes(b"fine\nnot \xff fine\n")
    with pytest.raises(ValueError, match=r"da\.txt:2: not UTF-8: byte 0xff"):
        read_texts(tmp_path)


def test_damaged_gzip(tmp_path: Path) -> None:
    (tmp_path / "da.txt.gz").write_bytes(gzip.compress(b"text " * 1000)[:-20])
    with pytest.raises(ValueError, match=r"da\.txt\.gz: cannot be read: "):
        read_texts(tmp_path)


def test_a_short_text_is_refused() -> None:
    with pytest.raises(
        ValueError, match=r"xx: tuning needs \d+ tokens, the text has \d+; give a longer text"
    ):
        prepare(Text(name="xx", lines=["one", "two", "three"]), NANO)


def test_tuning_and_test_share_no_line() -> None:
    lines = write(1, 40_000)
    target = prepare(Text(name="x", lines=lines + lines[:100]), NANO)
    order = shuffled(lines)
    tokenizer = train_bpe(order[len(order) // TEST_SHARE :], NANO.bpe_size)
    test = [token for row in encode(tokenizer, order[: len(order) // TEST_SHARE]) for token in row]
    tune = [token for row in encode(tokenizer, order[len(order) // TEST_SHARE :]) for token in row]
    assert np.array_equal(target.test, test[: NANO.test_tokens + 1])
    assert np.array_equal(target.tune, tune[: NANO.tune_tokens + 1])
    assert target.vocab_size == NANO.bpe_size


def test_the_order_of_lines_and_their_repetition_do_not_matter() -> None:
    lines = write(2, 5_000)
    assert shuffled(lines) == shuffled(lines[::-1] + lines)
    assert shuffled(lines) != sorted(lines)


def test_bpe_loses_nothing() -> None:
    lines = ["Žahegaa ko biv.", "日本語 \t x"]
    tokenizer = train_bpe(lines, 300)
    assert [tokenizer.decode(ids) for ids in encode(tokenizer, lines)] == [line + "\n" for line in lines]


def test_fingerprints_follow_names_and_content() -> None:
    one = fingerprint([Text(name="da", lines=["a", "b"])])
    assert one.startswith("da#")
    assert one != fingerprint([Text(name="da", lines=["a", "c"])])
    assert fingerprint([Text(name="da", lines=[]), Text(name="fr", lines=[])]).startswith("da+fr#")


def test_embedded_texts_are_long_enough() -> None:
    texts = embedded_texts(NANO)
    assert [text.name for text in texts] == ["artificial-1", "artificial-2"]
    for text in texts:
        prepare(text, NANO)
