import json

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ecsuite.formats import json_tables
from ecsuite.formats.json_tables import ints, parse_plain
from ecsuite.formats.strict_json import decode
from ecsuite.runtime.ragged import Ragged

symbol = st.one_of(st.integers(0, 12), st.integers(0, 2**31 - 1))
messages = st.lists(st.lists(symbol, max_size=8), min_size=1, max_size=12)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda child: st.lists(child, max_size=3) | st.dictionaries(st.text(max_size=3), child, max_size=2),
    max_leaves=6,
)
marks = [*b'[ ] , 0 12 - .5 e9 " \\u d800 \xff \x00'.split(b" "), b" ", b"\n", b"\r\n"]
lines = [
    b"[1, 2]\n",
    b"[]\n",
    b'["4.7.0", "19"]\n',
    b'[1]\t["a"]\n',
    b'"a b"\n',
    b"{}",
    b"NaN",
    b"\x1f\x8b",
    b"PAR1",
]
pieces = st.sampled_from(marks + lines)
line = st.one_of(st.lists(symbol, max_size=4).map(str), values.map(json.dumps)).map(str.encode)
noise = st.one_of(
    st.binary(max_size=60), st.lists(pieces, max_size=20).map(b"".join), st.lists(line).map(b"\n".join)
)


def read_exactly(line: bytes) -> list[int]:
    return [int(symbol) for symbol in ints(decode(line))["message"]]


@given(
    messages, st.sampled_from([str, lambda row: json.dumps(row, separators=(",", ":"))]), st.integers(1, 40)
)
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
