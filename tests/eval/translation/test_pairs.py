"""Reading pairs, errors in files, and splits without leaks."""

import gzip
import lzma

import pytest

from ecsuite.eval.translation.pairs import SentencePair, read_pairs, split_pairs
from ecsuite.runtime.errors import ConfigError


def write(path, pairs):
    path.write_text("".join(f"{source}\t{target}\n" for source, target in pairs))
    return path


def numbered(count):
    return [SentencePair(f"number {index}", f"nombre {index}") for index in range(count)]


@pytest.mark.parametrize(
    ("name", "pack"), [("a.tsv", bytes), ("a.tsv.gz", gzip.compress), ("a.tsv.xz", lzma.compress)]
)
def test_reads_plain_and_packed_files(tmp_path, name, pack):
    path = tmp_path / name
    path.write_bytes(pack("\ufeffI see. \tJe vois.\r\n\nà\tb\n".encode()))
    assert read_pairs(path) == [("I see.", "Je vois."), ("à", "b")]


EXPECTED = "expected a source, a tab and a target, found"


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.tsv", b"a\tb\nalone\n", f":2: {EXPECTED} 1 column"),
        ("a.tsv", b"a\tb\tc\n", f":1: {EXPECTED} 3 columns"),
        ("a.tsv", b"a\tb\n\nc\t \n", f":3: {EXPECTED} an empty sentence"),
        ("a.tsv", b"a\tb\nc\t\xff\n", ":2: not UTF-8: byte 0xff"),
        ("a.tsv", None, ": no such file of sentence pairs"),
        ("a.tsv.gz", b"not packed", ": cannot be read: "),
        ("a.tsv.xz", b"not packed", ": cannot be read: "),
        ("a.tsv", b"a\tb\n" * 19, ": expected at least 20 different pairs, found 1"),
        (
            "a.tsv",
            b"".join(b"hello\t%d\n" % number for number in range(30)),
            ": expected training pairs, found only pairs that share a sentence with held-out pairs",
        ),
    ],
)
def test_faults_name_file_and_line(tmp_path, name, content, message):
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ConfigError) as raised:
        split_pairs(path, num_valid=4, num_test=8)
    assert str(raised.value).startswith(f"{path}{message}")


def split(tmp_path, pairs):
    return split_pairs(write(tmp_path / "pairs.tsv", pairs), num_valid=4, num_test=8)


def test_parts_are_disjoint_complete_and_of_the_sizes_asked_for(tmp_path):
    pairs = numbered(100)
    found = split(tmp_path, pairs)
    assert (len(found.test), len(found.valid), len(found.train)) == (8, 4, 88)
    assert {*found.test, *found.valid, *found.train} == set(pairs)
    assert found.num_left_out == 0


def test_held_out_pairs_are_at_most_a_fifth(tmp_path):
    found = split(tmp_path, numbered(30))
    assert (len(found.test), len(found.valid), len(found.train)) == (4, 2, 24)


def test_order_and_copies_do_not_matter_but_content_does(tmp_path):
    pairs = numbered(60)
    found = split(tmp_path, pairs)
    assert split(tmp_path, [*reversed(pairs), *pairs]) == found
    assert len(found.digest) == 8
    assert split(tmp_path, pairs[1:]).digest != found.digest


def test_no_sentence_of_the_test_is_trained_on(tmp_path):
    """Every source has two translations, and every translation two sources."""
    pairs = [
        SentencePair(f"s{index}", f"t{(index + shift) % 100}") for index in range(100) for shift in (0, 1)
    ]
    found = split(tmp_path, pairs)
    held_out = found.test + found.valid
    assert not {pair.source for pair in found.train} & {pair.source for pair in held_out}
    assert not {pair.target for pair in found.train} & {pair.target for pair in held_out}
    assert found.num_left_out == 200 - len(held_out) - len(found.train) > 0
