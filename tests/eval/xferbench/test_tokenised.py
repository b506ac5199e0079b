"""Cached tokens: the key covers everything that determines them, and they equal newly made ones."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from ecsuite.eval.learning.data import Target
from ecsuite.eval.xferbench import tokenised as module
from ecsuite.eval.xferbench.presets import NANO
from ecsuite.eval.xferbench.protocols import PROTOCOLS
from ecsuite.eval.xferbench.texts import ArtificialText
from ecsuite.eval.xferbench.tokenised import tokenised

TEXT = ArtificialText(1, 60_000)


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the protocols that tokenised a text, in order of the calls."""
    calls: list[str] = []

    def counted(name: str, function: Callable[..., Target]) -> Callable[..., Target]:
        def target(*arguments: object) -> Target:
            calls.append(name)
            return function(*arguments)

        return target

    for name, protocol in PROTOCOLS.items():
        monkeypatch.setitem(PROTOCOLS, name, replace(protocol, target=counted(name, protocol.target)))
    return calls


def same(one: Target, other: Target) -> bool:
    pairs = ((one.tune, other.tune), (one.test, other.test))
    return (one.vocab_size, one.repeats) == (other.vocab_size, other.repeats) and all(
        torch.equal(a.symbols, b.symbols) and (a.num_context, a.ignored) == (b.num_context, b.ignored)
        for a, b in pairs
    )


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_what_is_kept_is_what_is_made(tmp_path: Path, made: list[str], protocol: str) -> None:
    anew = tokenised(TEXT, NANO, protocol, None)
    assert same(tokenised(TEXT, NANO, protocol, tmp_path), anew)
    assert same(tokenised(TEXT, NANO, protocol, tmp_path), anew)
    assert made == [protocol] * 2


def test_what_decides_the_tokens_is_in_the_name(tmp_path: Path, made: list[str]) -> None:
    tokenised(TEXT, NANO, "strict", tmp_path)
    tokenised(TEXT, replace(NANO, lr=1.0, num_layers=1, name="other"), "strict", tmp_path)
    assert len(made) == 1
    others = ({"context": 8}, {"vocab_size": 290}, {"bpe_bytes": 9}, {"tune_tokens": 50}, {"test_tokens": 90})
    for change in others:
        tokenised(TEXT, replace(NANO, **change), "strict", tmp_path)
    tokenised(ArtificialText(2, 60_000), NANO, "strict", tmp_path)
    tokenised(TEXT, NANO, "published-2024", tmp_path)
    assert len(made) == 8 and len(list(tmp_path.iterdir())) == 8


def test_a_damaged_file_is_made_anew_with_a_note(tmp_path: Path, made: list[str]) -> None:
    first, notes = tokenised(TEXT, NANO, "strict", tmp_path), []
    (file,) = tmp_path.iterdir()
    whole = file.read_bytes()
    file.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    assert same(tokenised(TEXT, NANO, "strict", tmp_path, notes.append), first) and len(made) == 2
    assert file.read_bytes() == whole and len(notes) == 1 and str(file) in notes[0]
    assert same(tokenised(TEXT, NANO, "strict", tmp_path, notes.append), first) and len(made) == 2
    assert len(notes) == 1


def test_a_new_version_makes_everything_anew(
    tmp_path: Path, made: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    tokenised(TEXT, NANO, "strict", tmp_path)
    monkeypatch.setattr(module, "VERSION", module.VERSION + 1)
    tokenised(TEXT, NANO, "strict", tmp_path)
    assert len(made) == 2
