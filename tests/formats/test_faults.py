import gzip
import json
import sys
from pathlib import Path

import numpy as np
import pytest

from ecsuite.corpus import Corpus
from ecsuite.formats import json_tables, read_corpus, stored_text, strict_json, write_corpus
from ecsuite.runtime.errors import CorpusError, DamagedError
from ecsuite.runtime.ragged import Ragged

INTS = "expected a list of non-negative integers, got"
SMALL = "expected integers below 2147483648, got"
WIDE = "expected integers of at most 64 bits, got"
NUMBERS = "expected a meaning to be a list of numbers, or of strings, got"
MEANINGS = 'expected an object such as {"meaning": [0, 2], "concepts": ["color=red"]}, got'


def fault_of(path: Path) -> str:
    with pytest.raises(CorpusError) as caught:
        read_corpus(path)
    return str(caught.value).removeprefix(f"{path if path.is_dir() else path.parent}/")


def fault_in(folder: Path, data: bytes, name: str = "corpus.jsonl") -> str:
    (folder / name).write_bytes(data)
    return fault_of(folder / name)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"[1, 2.5]", f"{INTS} 2.5"),
        (b"[NaN]", f"{INTS} NaN"),
        (b"[1, Infinity]", f"{INTS} Infinity"),
        (b"[-Infinity]", f"{INTS} -Infinity"),
        (b"[1e999]", f"{INTS} 1e999"),
        (b"[3, -2]", f"{INTS} -2"),
        (b"[1.0]", f"{INTS} 1.0"),
        (b"[true]", f"{INTS} true"),
        (b"[1, null]", f"{INTS} null"),
        (b'[1, "a"]', f'{INTS} "a"'),
        (b"[[1, 2], 3]", f"{INTS} [1, 2]"),
        (b"[[1, 2], [3]]", f"{INTS} [1, 2]"),
        (b'{"a": 1}', f'{INTS} {{"a": 1}}'),
        (b'{"a": 1, "b": 2, "a": 3}', f'{INTS} the duplicate key "a"'),
        (b"7", f"{INTS} 7"),
        (b"1 2 3", f"{INTS} 3 JSON values: [1, 2, 3]"),
        (b"", f"{INTS} an empty line"),
        (b" \t", f"{INTS} an empty line"),
        (b"[1, 2", f"{INTS} an incomplete line: [1, 2"),
        (b"[1, 2,", f"{INTS} an incomplete line: [1, 2,"),
        (b"[1, 2,]", f"{INTS} invalid JSON at column {7 if sys.version_info < (3, 13) else 6}: [1, 2,]"),
        (b"[01]", f"{INTS} invalid JSON at column 3: [01]"),
        (b"[1 2]", f"{INTS} invalid JSON at column 4: [1 2]"),
        (b"[1]]", f"{INTS} more after the JSON value, at column 4: [1]]"),
        (b"[1],", f"{INTS} more after the JSON value, at column 4: [1],"),
        (b"[1, \x002]", f"{INTS} invalid JSON at column 5: [1, \\x002]"),
        (b"\x00\x00", f"{INTS} invalid JSON at column 1: \\x00\\x00"),
        (b"[1, \xff]", f"{INTS} a byte that is not UTF-8 at column 5"),
        (b'["\\ud800"]', f'{INTS} a lone surrogate: ["\\ud800"]'),
        (b"[2147483648]", f"{SMALL} 2147483648"),
        (b"[99999999999]", f"{SMALL} 99999999999"),
        (b"[18446744073709551617]", f"{SMALL} 18446744073709551617"),
        (b"[" + b"7" * 5000 + b"]", f"{SMALL} {'7' * 39}…"),
        (b"[-" + b"7" * 5000 + b"]", f"{INTS} -{'7' * 38}…"),
        (b"[" * 1_000_000, f"{INTS} nesting that is too deep"),
        (b"[" * 1_000_000 + b"]" * 1_000_000, f"{INTS} nesting that is too deep"),
        (b'["' + b"x" * 100 + b'"]', f'{INTS} "{"x" * 38}…'),
        (b"word", f"{INTS} invalid JSON at column 1: word"),
    ],
)
def test_a_faulty_line_among_integer_arrays(tmp_path, line, message):
    assert fault_in(tmp_path, b"[1, 2]\n[]\n" + line + b"\n[3]\n") == f"corpus.jsonl:3: {message}"
    assert fault_in(tmp_path, line + b"\n[3]\n") == f"corpus.jsonl:1: {message}"


@pytest.mark.parametrize(
    ("first", "line", "message"),
    [
        (b'"da bu"', b"[1]", "expected a string of symbols, got [1]"),
        (
            b'["4.7.0", "19"]',
            b'["4.7.0"]',
            'expected a pair of strings such as ["4.7.0", "19"], got ["4.7.0"]',
        ),
        (
            b'["4.7.0", "19"]',
            b'["4..0", "19"]',
            'expected a pair of strings such as ["4.7.0", "19"], got ["4..0", "19"]',
        ),
        (b'[4], ["red"]', b"[4]", 'expected a pair of lists such as [4, 7], ["red"], got [4]'),
        (
            b'[4], ["red"]',
            b"[4], [2.5]",
            'expected a pair of lists such as [4, 7], ["red"], got 2 JSON values: [[4], [2.5]]',
        ),
        (b'[4]\t["red"]', b'[-4]\t["red"]', 'expected a pair of lists such as [4, 7], ["red"], got -4'),
        (b"[4]", b'["4.7.0", "19"]', f'{INTS} "4.7.0"'),
        (b"[1]", b"\xef\xbb\xbf[2]", f"{INTS} invalid JSON at column 1: \\ufeff[2]"),
        (b"[1, 2]", b"[3, 4", f"{INTS} an incomplete line: [3, 4"),
    ],
)
def test_a_line_of_another_format(tmp_path, first, line, message):
    assert fault_in(tmp_path, first + b"\n" + line) == f"corpus.jsonl:2: {message}"


@pytest.fixture
def small_blocks(monkeypatch):
    for module in (stored_text, json_tables):
        monkeypatch.setattr(module, "_BLOCK", 64)


def test_all_faults_are_counted_and_the_first_is_shown(tmp_path):
    (tmp_path / "corpus.jsonl").write_bytes(b"[1]\n" + b"[-2]\n" * 143 + b"[2147483648]\n" + b"word\n" * 2)
    with pytest.raises(CorpusError) as caught:
        read_corpus(tmp_path)
    assert caught.value.num_errors == 146
    assert str(caught.value) == f"{tmp_path / 'corpus.jsonl'}:2: {INTS} -2 (and 145 more)"
    assert fault_in(tmp_path, b"[-2]\n" * 2) == f"corpus.jsonl:1: {INTS} -2 (and 1 more)"


def test_line_numbers_hold_across_blocks(tmp_path, small_blocks):
    lines = [b"[%d]" % number for number in range(1000)]
    lines[776] = b"[2.5]"
    lines[998] = b"[ 1, 2147483648]"
    assert fault_in(tmp_path, b"\n".join(lines)) == f"corpus.jsonl:777: {INTS} 2.5 (and 1 more)"
    lines[776] = b"[25]"
    assert fault_in(tmp_path, b"\n".join(lines)) == f"corpus.jsonl:999: {SMALL} 2147483648"


# Whole files


EMPTY = "empty file, expected one message per line, such as [3, 1, 4]"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", EMPTY),
        (b"\xef\xbb\xbf", EMPTY),
        (gzip.compress(b""), EMPTY),
    ],
    ids=["empty", "byte order mark", "gzip"],
)
def test_a_file_without_lines(tmp_path, data, message):
    assert fault_in(tmp_path, data) == f"corpus.jsonl: {message}"


def test_nothing_to_read(tmp_path):
    path = tmp_path / "no.jsonl"
    assert fault_of(path) == f"cannot read {path}: No such file or directory"
    assert fault_of(tmp_path) == f"{tmp_path}: the folder has no corpus.jsonl, Parquet file or saved dataset"
    for name in ("b.jsonl", "a.jsonl"):
        (tmp_path / name).write_text('{"message": [1]}\n')
    assert fault_of(tmp_path).endswith("; name one of its files: a.jsonl, b.jsonl")


def test_a_huge_line_is_read_if_plain(tmp_path, monkeypatch, small_blocks):
    monkeypatch.setattr(strict_json, "_MAX_LINE_BYTES", 1000)
    numbers = list(range(1000))
    (tmp_path / "corpus.jsonl").write_text(f"[1]\n{numbers}\n[2]\n")
    assert read_corpus(tmp_path).messages[1].tolist() == numbers
    message = fault_in(tmp_path, f"[1]\n{[*numbers, 2.5]}\n[2]\n".encode())
    assert message == f"corpus.jsonl:2: {INTS} a line of 4895 bytes that is not plain [1, 2, 3]"


def test_a_line_without_end_is_refused(tmp_path, monkeypatch, small_blocks):
    monkeypatch.setattr(stored_text, "_MAX_LINE_BYTES", 1000)
    message = fault_in(tmp_path, b"[1]\n" + b"[" * 5000)
    assert message == "corpus.jsonl:2: expected a line of at most 1000 bytes, got more"


def test_a_number_longer_than_a_block(tmp_path, small_blocks):
    message = fault_in(tmp_path, b"[1, " + b"7" * 500 + b"]\n")
    assert message == f"corpus.jsonl:1: {SMALL} {'7' * 39}…"


# The files beside


@pytest.fixture
def directory(tmp_path):
    corpus = Corpus(
        messages=Ragged.from_rows([[1, 0], [2, 0], [3, 0]]),
        eos=0,
        meanings=np.array([[0, 1], [1, 0], [1, 1]]),
        concepts=Ragged.from_rows([[0], [1], [0, 1]]),
        concept_names=("a", "b"),
    )
    write_corpus(corpus, tmp_path)
    return tmp_path


def change_metadata(directory: Path, **changes: object) -> str:
    """As a program might that knows no checksum."""
    metadata = json.loads((directory / "metadata.json").read_bytes()) | changes
    del metadata["checksum"]
    (directory / "metadata.json").write_text(json.dumps(metadata))
    return fault_of(directory)


@pytest.mark.parametrize("name", ["corpus.jsonl", "meanings.jsonl"])
def test_a_changed_file_is_named(directory, name):
    text = (directory / name).read_text().replace("1", "2")
    (directory / name).write_text(text)
    with pytest.raises(DamagedError, match=f"{name}: damaged or edited .* ecsuite verify "):
        read_corpus(directory)


def test_a_missing_file_of_meanings(directory):
    (directory / "meanings.jsonl").unlink()
    assert fault_of(directory) == f"cannot read {directory / 'meanings.jsonl'}: No such file or directory"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format_version": 2}, '"format_version" is 2'),
        ({"eos": "0"}, '"eos" is "0"'),
        ({"eos": -1}, '"eos" is -1'),
        ({"eos": True}, '"eos" is true'),
        ({"sha256": None}, '"sha256" is null'),
        ({"sha256": []}, '"sha256" is []'),
        ({"sha256": {}}, '"sha256" is {}'),
        ({"symbol_names": ["a", 2]}, '"symbol_names" is ["a", 2]'),
        ({"concept_names": "ab"}, '"concept_names" is "ab"'),
    ],
)
def test_damaged_metadata(directory, changes, message):
    assert (
        change_metadata(directory, **changes) == f"metadata.json: {message}: damaged, or of a newer version"
    )


def test_too_few_symbol_names(directory):
    message = change_metadata(directory, symbol_names=["a", "b"])
    assert message == "metadata.json: expected symbol_names up to id 3, got 2"


def test_two_symbols_of_one_name(directory):
    message = change_metadata(directory, symbol_names=["a", "b", "a", "c"])
    assert message == "metadata.json: symbol_names: expected different names, got 'a' at 0 and 2"


@pytest.mark.parametrize("data", [b"", b"{", b"\xff", b"[" * 1_000_000, b"7" * 5000])
def test_metadata_that_is_not_json(directory, data):
    (directory / "metadata.json").write_bytes(data)
    assert fault_of(directory).startswith("metadata.json: expected JSON, got an error: ")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"[0, 1]", f"{MEANINGS} [0, 1]"),
        (b"{}", f"{MEANINGS} {{}}"),
        (b'{"colour": 1}', f'{MEANINGS} {{"colour": 1}}'),
        (b'{"meaning": [1], "meaning": [2]}', f'{MEANINGS} the duplicate key "meaning"'),
        (b'{"meaning": 1}', f"{NUMBERS} 1"),
        (b'{"meaning": [true]}', f"{NUMBERS} [true]"),
        (b'{"meaning": [1, "a"]}', f'{NUMBERS} [1, "a"]'),
        (b'{"meaning": [1e999]}', f"{MEANINGS} 1e999"),
        (b'{"meaning": [9223372036854775808]}', f"{WIDE} 9223372036854775808"),
        (b'{"meaning": [NaN]}', f"{MEANINGS} NaN"),
        (b'{"concepts": ["a", 1]}', 'expected concepts to be a list of strings, got ["a", 1]'),
        (b'{"concepts": {"a": 1}}', 'expected concepts to be a list of strings, got {"a": 1}'),
        (b'{"concepts": ["\\udc00"]}', f'{MEANINGS} a lone surrogate: {{"concepts": ["\\udc00"]}}'),
        (
            b'{"meaning": [1]}',
            'expected a line like the first, {"meaning": [0, 1], "concepts": ["a"]}, got {"meaning": [1]}',
        ),
        (b"", f"{MEANINGS} an empty line"),
    ],
)
def test_a_faulty_line_among_meanings(tmp_path, line, message):
    (tmp_path / "corpus.jsonl").write_text("[1]\n[2]\n")
    first = b'{"meaning": [0, 1], "concepts": ["a"]}\n'
    (tmp_path / "meanings.jsonl").write_bytes(first + line + b"\n")
    assert fault_of(tmp_path) == f"meanings.jsonl:2: {message}"


@pytest.mark.parametrize("line", [b'{"meaning": [1]}', b'{"meaning": ["a", "b"]}', b'{"concepts": []}'])
def test_meanings_unlike_the_first(tmp_path, line):
    (tmp_path / "corpus.jsonl").write_text("[1]\n[2]\n")
    (tmp_path / "meanings.jsonl").write_bytes(b'{"meaning": [0, 1]}\n' + line)
    message = f'meanings.jsonl:2: expected a line like the first, {{"meaning": [0, 1]}}, got {line.decode()}'
    assert fault_of(tmp_path) == message
    (tmp_path / "meanings.jsonl").write_bytes(b'{"meaning": [0, 1]}\n' * 3)
    assert fault_of(tmp_path) == "meanings.jsonl: expected 2 lines, one per message, got 3"


@pytest.mark.parametrize("remembered", [0, 1, 1 << 16])
def test_meanings_that_recur_are_read_once(tmp_path, monkeypatch, remembered):
    """However many different lines are remembered; each faulty line is counted."""
    monkeypatch.setattr("ecsuite.formats.directory._MAX_KNOWN", remembered)
    lines = ['{"meaning": [0, 1], "concepts": ["a"]}', '{"meaning": [2, 3], "concepts": []}']
    chosen = [0, 1, 1, 0, 1]
    (tmp_path / "corpus.jsonl").write_text("[1]\n" * 5)
    (tmp_path / "meanings.jsonl").write_text("".join(f"{lines[line]}\n" for line in chosen))
    corpus = read_corpus(tmp_path)
    assert corpus.meanings.tolist() == [[[0, 1], [2, 3]][line] for line in chosen]
    assert corpus.concepts.lengths.tolist() == [1, 0, 0, 1, 0] and corpus.concept_names == ("a",)
    lines[1] = '{"meaning": [2], "concepts": []}'
    (tmp_path / "meanings.jsonl").write_text("".join(f"{lines[line]}\n" for line in chosen))
    assert fault_of(tmp_path).endswith("(and 2 more)")
