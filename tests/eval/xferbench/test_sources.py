"""Baselines have the structure and size that their names and presets define."""

from dataclasses import replace

import pytest

from ecsuite.eval.xferbench.presets import NANO, SOURCES
from ecsuite.eval.xferbench.texts import BaselineSettings

REQUEST = BaselineSettings(preset=NANO, protocol="strict", seed=0, text=None)


@pytest.fixture
def text(tmp_path):
    """A short text."""
    (tmp_path / "fr.txt").write_text("\n".join(f"le chat {number} dort" for number in range(2000)))
    return tmp_path / "fr.txt"


@pytest.mark.parametrize("name", SOURCES.parts)
def test_sizes(name, text):
    corpus = SOURCES.load(name)(replace(REQUEST, text=text))
    if name == "no_pretrain":
        assert corpus is None
        return
    assert NANO.pretrain_tokens <= len(corpus.messages.values) < NANO.pretrain_tokens + 300
    assert corpus.messages.values.max() < NANO.vocab_size


def test_an_empty_text(tmp_path):
    (tmp_path / "fr.txt").write_text("\n \n")
    with pytest.raises(ValueError, match=r"fr.txt: expected text, found none$"):
        SOURCES.load("human")(replace(REQUEST, text=tmp_path / "fr.txt"))
