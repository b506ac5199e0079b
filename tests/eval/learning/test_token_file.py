"""Kept tokens: the same data again, and never data of a damaged or foreign file."""

import json

import pytest
import torch
from safetensors.torch import save_file

from ecsuite.eval.learning.data import Target, Windows
from ecsuite.eval.learning.token_file import kept_target
from ecsuite.tensor_files import write_tensors

TARGET = Target(
    vocab_size=9,
    tune=Windows(symbols=torch.arange(8, dtype=torch.int32).unfold(0, 4, 2), ignored=3),
    test=Windows(symbols=torch.zeros(2, 5, dtype=torch.int32), num_context=2),
    repeats=0.5,
)
WINDOWS = {"tune": TARGET.tune.symbols.contiguous(), "test": TARGET.test.symbols}
RULES = {"tune": [0, 3], "test": [2, None]}
VALUES = {"key": "key", "vocab_size": 9, "repeats": 0.5, "rules": RULES}


@pytest.fixture
def file(tmp_path):
    return tmp_path / "tokens" / "x.safetensors"


@pytest.fixture
def keep(file):
    """Reads the target or makes it; returns whether it was made, and the notes."""

    def keep(key="key"):
        made, notes = [], []

        def make():
            made.append(True)
            return TARGET

        found = kept_target(file, key, make, notes.append)
        assert (found.vocab_size, found.repeats) == (9, 0.5)
        for one, other in ((found.tune, TARGET.tune), (found.test, TARGET.test)):
            assert torch.equal(one.symbols, other.symbols)
            assert (one.num_context, one.ignored) == (other.num_context, other.ignored)
        return bool(made), notes

    return keep


def test_tokens_are_made_once(keep):
    assert keep() == (True, [])
    assert keep() == (False, [])


@pytest.mark.parametrize("place", [-1, -41, 30])
def test_a_flipped_bit_is_noticed(keep, file, place):
    """Of the last token, of another one, and of the header."""
    keep()
    data = bytearray(file.read_bytes())
    data[place] ^= 1
    file.write_bytes(data)
    was_made, (note,) = keep()
    assert was_made and str(file) in note and "tokenised anew" in note
    assert keep() == (False, [])


@pytest.mark.parametrize("content", [b"", b"{}", b"\x08\0\0\0\0\0\0\0{}      ", None])
def test_a_file_that_is_no_token_file_is_replaced(keep, file, content):
    keep()
    file.write_bytes(file.read_bytes()[:200] if content is None else content)
    assert keep()[0] and keep() == (False, [])


@pytest.mark.parametrize(
    "values",
    [
        {},
        {**VALUES, "rules": None},
        {**VALUES, "rules": {"tune": [0, 3]}},
        {**VALUES, "rules": {"tune": 5, "test": 5}},
        {**VALUES, "rules": {**RULES, "other": [0, 0]}},
        {name: value for name, value in VALUES.items() if name != "vocab_size"},
        {**VALUES, "key": "other"},
    ],
)
def test_values_of_another_shape_are_replaced(keep, file, values):
    """Also where their checksum is right."""
    file.parent.mkdir()
    write_tensors(file, WINDOWS, values)
    was_made, notes = keep()
    assert was_made and len(notes) == 1
    assert keep() == (False, [])


def test_tokens_without_a_checksum_are_replaced(keep, file):
    """As earlier versions wrote them."""
    file.parent.mkdir()
    save_file(WINDOWS, file, {name: json.dumps(value) for name, value in VALUES.items()})
    assert keep()[0]


def test_another_key_is_made_anew(keep):
    keep()
    was_made, (note,) = keep("other")
    assert was_made and "another text or other settings" in note
