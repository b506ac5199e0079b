"""A grammar from a user's own file."""

import pytest

from ecsuite.grammars.making import make_corpus
from ecsuite.parts import own_code
from ecsuite.runtime.errors import ConfigError

COUNTING = "def counting(meanings):\n    return [[1 + value for value in meaning] for meaning in meanings]\n"


@pytest.fixture
def own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(own_code, "_trusted", set())

    def own(code, name="counting"):
        (tmp_path / "own.py").write_text(code)
        own_code.trust([f"./own.py:{name}"])
        return make_corpus(f"./own.py:{name}", num_attributes=2, num_values=3)

    return own


def test_every_meaning_has_its_message(own):
    corpus = own(COUNTING)
    assert [row.tolist() for row in corpus.messages] == [[1 + a, 1 + b] for a in range(3) for b in range(3)]
    assert (
        corpus.metadata["signature"]
        == f"counting|2x3|w4|V4|seed:0|code:{own_code.checksum('own.py')[:12]}|v:1"
    )


def test_messages_of_several_lengths_and_random_draws(own):
    code = "def f(meanings, rng, geometry):\n    return [[1] * int(rng.integers(1, 4)) for _ in meanings]\n"
    first, second = own(code, "f"), own(code, "f")
    assert first.messages.lengths.tolist() == second.messages.lengths.tolist()
    assert len(set(first.messages.lengths.tolist())) > 1


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("def counting(meanings): return [[1]]\n", "expected 9 messages, got 1"),
        ("def counting(meanings): return 5\n", "expected 9 messages, got 0"),
        ("def counting(meanings): return [[0]] * 9\n", "expected symbols of at least 1; 0 is EOS"),
        ("def counting(meanings): return [['a']] * 9\n", "message 0: expected a list of integers from 0"),
    ],
)
def test_mistakes(own, code, message):
    with pytest.raises(ConfigError, match=f"^./own.py:1: counting: {message}"):
        own(code)


def test_what_nobody_named_is_not_imported(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "other.py").write_text("raise SystemExit\n")
    with pytest.raises(own_code.UntrustedError):
        make_corpus("./other.py:f")
