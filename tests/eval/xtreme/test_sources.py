"""Pretraining data: the corpus and its controls."""

from dataclasses import replace

import pytest

from ecsuite.corpus import Corpus
from ecsuite.eval.xferbench.presets import MINI
from ecsuite.eval.xferbench.protocols import strict_source
from ecsuite.eval.xferbench.texts import TextFile
from ecsuite.eval.xtreme.data import source
from ecsuite.runtime.errors import ConfigError
from ecsuite.runtime.ragged import Ragged

CORPUS = Corpus(messages=Ragged.from_rows([[1, 2, 3], [], [4, 5], [6, 7, 8, 9, 1, 1]]))


@pytest.fixture
def draw(tiny, tiny_preset):
    """The symbols of all windows of a source."""

    def draw(name, corpus=None, text=None, seed=0):
        found = source(name, corpus, text, tiny, tiny_preset.pretraining, seed)
        assert found.windows.symbols.shape[1] == tiny.context + 1
        return found.windows.symbols[:, :-1].flatten().tolist()

    return draw


def test_the_corpus_is_repeated_as_xferbench_does(draw, tiny, tiny_preset):
    sizes = replace(MINI, context=tiny.context, pretrain_tokens=tiny_preset.pretraining.tokens)
    windows = strict_source(CORPUS, sizes, 0).windows
    assert draw("corpus", CORPUS) == windows.symbols[:, :-1].flatten().tolist()
    assert draw("corpus", CORPUS, seed=1) != draw("corpus", CORPUS)


def test_shuffling_keeps_symbols(draw):
    """A corpus of one message is in the same order in each repetition, so that only its symbols are shuffled."""
    corpus = Corpus(messages=Ragged.from_rows([list(range(40)) + [0] * 8]))
    shuffled = draw("shuffled corpus", corpus)
    assert sorted(shuffled[:48]) == sorted(draw("corpus", corpus)[:48])
    assert shuffled[:48] == shuffled[48:96] != draw("corpus", corpus)[:48]
    assert draw("shuffled corpus", corpus) == shuffled != draw("shuffled corpus", corpus, seed=1)


def test_parentheses_are_balanced(draw, tiny_preset):
    symbols = draw("parentheses")
    pretraining = tiny_preset.pretraining
    assert len(symbols) == pretraining.tokens and len(set(symbols)) <= pretraining.num_types
    still_open, num_closed = [], 0
    for symbol in symbols:
        if still_open and still_open[-1] == symbol:
            num_closed += 1
            still_open.pop()
        else:
            still_open.append(symbol)
    assert 2 * num_closed > 0.6 * len(symbols)


def test_a_text_becomes_subwords(draw, tmp_path):
    file = tmp_path / "da.txt"
    file.write_text("en and svømmer\nto ænder svømmer\n" * 20)
    assert len(set(draw("human text", text=TextFile("da", file)))) > 1


def test_a_missing_text_is_refused(draw, tmp_path):
    with pytest.raises(ConfigError, match=r"nowhere\.txt"):
        draw("human text", text=TextFile("nowhere", tmp_path / "nowhere.txt"))
