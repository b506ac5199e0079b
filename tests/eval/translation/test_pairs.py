"""Reading pairs, errors in files, and splits without leaks."""

import gzip
import lzma
from pathlib import Path

import pytest

from ecsuite.config import ConfigError
from ecsuite.eval.translation.pairs import Pair, read_pairs, split_pairs


def write(path: Path, pairs: list[Pair]) -> Path:
    path.write_text("".join(f"{source}\t{target}\n" for source, target in pairs))
    return path


def numbered(count: int) -> list[Pair]:
    return [Pair(f"number {index}", f"nombre {index}") for index in range(count)]


@pytest.mark.parametrize(
    ("name", "pack"), [("a.tsv", bytes), ("a.tsv.gz", gzip.compress), ("a.tsv.xz", lzma.compress)]
)
def test_reads_plain_and_packed_files(tmp_path, name, pack):
    path = tmp_path / name
    path.write_bytes(pack("\ufeffI see. \tJe vois.\r\n\nà\tb\n".encode()))
    assert read_pairs(path) == [("I see.", "Je vois."), ("à", "b")]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a\tb\nalone\n", ":2: expected a source, a tab and a target, found 1 column"),
        (b"a\tb\tc\n", ":1: expected a source, a tab and a target, found 3 columns"),
        (b"a\tb\n\nc\t \n", ":3: expected a source, a tab and a target, found an empty sentence"),
        (b"a\tb\nc\t\xff\n", ":2: not UTF-8: byte 0xff"),
    ],
)
def test_faults_name_file_and_line(tmp_path, content, message):
    path = tmp_path / "pairs.tsv"
    path.write_bytes(content)
    with pytest.raises(ConfigError) as raised:
        read_pairs(path)
    assert str(raised.value) == f"{path}{message}"


@pytest.mark.parametrize("name", ["a.tsv.gz", "a.tsv.xz"])
def test_damaged_and_missing_files(tmp_path, name):
    path = tmp_path / name
    with pytest.raises(ConfigError, match="no such file of sentence pairs"):
        read_pairs(path)
    path.write_bytes(b"not packed")
    with pytest.raises(ConfigError, match="cannot be read"):
        read_pairs(path)


def test_parts_are_disjoint_complete_and_of_the_sizes_asked_for(tmp_path):
    pairs = numbered(100)
    split = split_pairs(write(tmp_path / "pairs.tsv", pairs), num_valid=4, num_test=8)
    assert (len(split.test), len(split.valid), len(split.train)) == (8, 4, 88)
    assert {*split.test, *split.valid, *split.train} == set(pairs)
    assert split.num_left_out == 0


def test_held_out_pairs_are_at_most_a_fifth(tmp_path):
    split = split_pairs(write(tmp_path / "pairs.tsv", numbered(30)), num_valid=4, num_test=8)
    assert (len(split.test), len(split.valid), len(split.train)) == (4, 2, 24)


def test_order_and_copies_do_not_matter_but_content_does(tmp_path):
    pairs = numbered(60)
    split = split_pairs(write(tmp_path / "pairs.tsv", pairs), num_valid=4, num_test=8)
    again = split_pairs(write(tmp_path / "pairs.tsv", [*reversed(pairs), *pairs]), num_valid=4, num_test=8)
    assert again == split
    assert len(split.digest) == 8
    assert (
        split_pairs(write(tmp_path / "pairs.tsv", pairs[1:]), num_valid=4, num_test=8).digest != split.digest
    )


def test_no_sentence_of_the_test_is_trained_on(tmp_path):
    """Every source has two translations, and every translation two sources."""
    pairs = [Pair(f"s{index}", f"t{(index + shift) % 100}") for index in range(100) for shift in (0, 1)]
    split = split_pairs(write(tmp_path / "pairs.tsv", pairs), num_valid=4, num_test=8)
    held_out = split.test + split.valid
    assert not {pair.source for pair in split.train} & {pair.source for pair in held_out}
    assert not {pair.target for pair in split.train} & {pair.target for pair in held_out}
    assert split.num_left_out == 200 - len(held_out) - len(split.train) > 0


def test_too_few_pairs(tmp_path):
    path = write(tmp_path / "pairs.tsv", numbered(19) * 3)
    with pytest.raises(ConfigError) as raised:
        split_pairs(path, num_valid=4, num_test=8)
    assert str(raised.value) == f"{path}: expected at least 20 different pairs, found 19"
    with pytest.raises(ConfigError, match="found only pairs that share a sentence with held-out ones"):
        split_pairs(
            write(tmp_path / "same.tsv", [Pair("hello", str(index)) for index in range(30)]),
            num_valid=4,
            num_test=8,
        )
