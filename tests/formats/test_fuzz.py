import json
import re
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ecsuite.formats import json_tables, read_corpus
from ecsuite.formats.json_tables import ints, parse_plain
from ecsuite.formats.strict_json import decode
from ecsuite.runtime.errors import CorpusError, ReadingQuestion
from ecsuite.runtime.ragged import Ragged

symbol = st.one_of(st.integers(0, 12), st.integers(0, 2**31 - 1))
messages = st.lists(st.lists(symbol, max_size=8), min_size=1, max_size=12)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda child: st.lists(child, max_size=3) | st.dictionaries(st.text(max_size=3), child, max_size=2),
    max_leaves=6,
)
marks = [*b'[ ] , 0 12 - .5 e9 " \\u d800 \xff \x00'.split(b" "), b" ", b"\n", b"\r\n"]
lines = [b"[1, 2]\n", b"[]\n", b'["4.7.0", "19"]\n', b'[1]\t["a"]\n', b'"a b"\n', b"{}", b"NaN", b"\x1f\x8b", b"PAR1"]
pieces = st.sampled_from(marks + lines)
line = st.one_of(st.lists(symbol, max_size=4).map(str), values.map(json.dumps)).map(str.encode)
noise = st.one_of(st.binary(max_size=60), st.lists(pieces, max_size=20).map(b"".join), st.lists(line).map(b"\n".join))


def read_exactly(line: bytes) -> list[int]:
    return [int(symbol) for symbol in ints(decode(line))["message"]]


@given(messages, st.sampled_from([str, lambda row: json.dumps(row, separators=(",", ":"))]), st.integers(1, 40))
@settings(max_examples=25, deadline=None)
def test_the_fast_reader_agrees_with_the_exact_one(rows, write, block):
    lines = "".join(f"{write(row)}\n" for row in rows).encode()
    exact = Ragged.from_rows([read_exactly(line) for line in lines[:-1].split(b"\n")])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_tables, "_BLOCK", block + 19)  # longer than a number
        plain = parse_plain(lines)
    assert plain is not None
    np.testing.assert_array_equal(plain[0], exact.values)
    np.testing.assert_array_equal(plain[1], exact.lengths)


@given(noise)
@example(b"[\n\n0")
@example(b"[\n\x00\n")
@settings(max_examples=30, deadline=None)
def test_the_fast_reader_takes_nothing_that_the_exact_one_refuses(data):
    plain = parse_plain(data + b"\n")
    if plain is not None:
        rows = [read_exactly(line) for line in data.split(b"\n")]
        assert plain[1].tolist() == [len(row) for row in rows]
        assert plain[0].tolist() == [symbol for row in rows for symbol in row]


WHOLE_FILE = re.compile(
    r"corpus.jsonl: (empty file|cannot be read|can't be|a pickle|a zip|no column|expected|two columns)"
    r"|corpus.jsonl: .+; expected messages: |metadata.json: |meanings.jsonl: (expected|SHA|empty|can't be)"
)
LINE = re.compile(r"(corpus|meanings).jsonl(:|: item )[1-9]\d*: expected .+, got .")


@given(st.just(b"[1]\n[2]\n") | noise, st.none() | noise, st.none() | noise | values.map(json.dumps).map(str.encode))
@settings(max_examples=50, deadline=None)
def test_any_bytes_are_a_corpus_or_have_a_fault_that_is_named(corpus, meanings, metadata):
    with tempfile.TemporaryDirectory() as folder:
        for name, content in {"corpus.jsonl": corpus, "meanings.jsonl": meanings, "metadata.json": metadata}.items():
            if content is not None:
                Path(folder, name).write_bytes(content)
        try:
            corpus = read_corpus(folder)
        except ReadingQuestion as question:
            lines = str(question).split("\n")
            assert 2 <= len(lines) <= 8 and question.readings and max(map(len, lines)) < 250, lines
        except CorpusError as error:
            lines = str(error).removeprefix(f"{folder}/").split("\n")
            assert all(LINE.match(line) or WHOLE_FILE.match(line) for line in lines), lines
            assert len(lines) <= error.num_errors and max(map(len, lines)) < 200
        else:
            offsets = corpus.messages.offsets
            assert offsets[0] == 0 and offsets[-1] == len(corpus.messages.values)
            assert (np.diff(offsets) >= 0).all()
            assert corpus.messages.values.min(initial=0) >= 0 and corpus.messages.values.dtype == np.int32
