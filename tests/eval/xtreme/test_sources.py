"""Pretraining data: the corpus and its controls."""

import pytest

from ecsuite.config import ConfigError
from ecsuite.corpus import Corpus, Ragged
from ecsuite.eval.xtreme.sources import ABOUT, source

CORPUS = Corpus(messages=Ragged.from_rows([[1, 2, 3], [], [4, 5], [6, 7, 8, 9, 1, 1]]))


def test_the_corpus_is_unchanged_and_random_init_has_no_data(tiny):
    assert source("corpus", CORPUS, None, tiny, 0) is CORPUS
    assert source("random init", CORPUS, None, tiny, 0) is None


def test_shuffling_keeps_lengths_and_symbols(tiny):
    shuffled = source("shuffled corpus", CORPUS, None, tiny, 0)
    assert shuffled.messages.lengths.tolist() == [3, 0, 2, 6]
    assert sorted(shuffled.messages.values) == sorted(CORPUS.messages.values)
    assert shuffled.messages.values.tolist() != CORPUS.messages.values.tolist()
    again, other = (source("shuffled corpus", CORPUS, None, tiny, seed) for seed in (0, 1))
    assert again.messages.values.tolist() == shuffled.messages.values.tolist()
    assert other.messages.values.tolist() != shuffled.messages.values.tolist()


def test_parentheses_are_balanced(tiny):
    parentheses = source("parentheses", None, None, tiny, 0)
    symbols = parentheses.messages.values.tolist()
    assert len(symbols) == tiny.pretrain_tokens and len(set(symbols)) <= tiny.pretrain_types
    still_open, num_closed = [], 0
    for symbol in symbols:
        if still_open and still_open[-1] == symbol:
            num_closed += 1
            still_open.pop()
        else:
            still_open.append(symbol)
    assert 2 * num_closed > 0.8 * len(symbols)


def test_a_text_becomes_subwords(tiny, tmp_path):
    text = tmp_path / "da.txt"
    text.write_text("en and svømmer\nto ænder svømmer\n" * 20)
    learnt = source("human text", None, text, tiny, 0)
    assert 0 < len(learnt.messages.values)


def test_a_missing_text_is_refused(tiny, tmp_path):
    with pytest.raises((ConfigError, OSError), match=r"nowhere\.txt"):
        source("human text", None, tmp_path / "nowhere.txt", tiny, 0)


def test_all_sources_have_descriptions():
    assert list(ABOUT) == ["corpus", "random init", "parentheses", "shuffled corpus", "human text"]
