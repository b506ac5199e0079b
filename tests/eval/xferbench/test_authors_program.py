"""The authors' protocols make data as their program does, including the leak."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from ecsuite.corpus import Corpus
from ecsuite.eval.models.data import IGNORED
from ecsuite.eval.models.vocabulary import encode, train_bpe
from ecsuite.eval.xferbench.presets import FULL, NANO
from ecsuite.eval.xferbench.protocols import PADDING, program_source, program_target
from ecsuite.eval.xferbench.texts import ArtificialText, TextFile
from ecsuite.runtime.errors import ConfigError
from ecsuite.runtime.ragged import Ragged

SMALL = replace(NANO, pretrain_tokens=64, vocab_size=300)


def corpus_of(num_rows, length):
    """Rows 0 0 0, 1 1 1, …"""
    return Corpus(messages=Ragged.from_rows([[row] * length for row in range(num_rows)]))


def test_the_programs_numbers_of_blocks():
    messages = Ragged(np.zeros(16_000_000, dtype=np.int32), np.arange(0, 16_000_001, 256))
    made = program_source(Corpus(messages=messages), FULL, 0)
    assert made.windows.symbols.shape == (58_594, 256)
    assert made.vocab_size == 30_000 and made.repeats == pytest.approx(15_000_064 / 16_000_000)


def test_a_long_corpus_is_read_in_its_own_order_whatever_the_seed():
    corpus = corpus_of(250, 4)
    for seed in (0, 1):
        made = program_source(corpus, SMALL, seed).windows.symbols
        assert made.tolist() == np.repeat(np.arange(16), 4).reshape(4, 16).tolist()
    order = np.random.default_rng(0).permutation(250)[:16]
    assert (
        program_source(corpus, SMALL, 0, shuffled=True).windows.symbols.tolist()
        == np.repeat(order, 4).reshape(4, 16).tolist()
    )


def test_a_short_corpus_is_shuffled_each_time_round():
    corpus = corpus_of(25, 2)
    made = program_source(corpus, SMALL, 0)
    orders = [np.random.default_rng(time).permutation(25) for time in range(2)]
    assert made.windows.symbols.flatten().tolist() == np.repeat(np.concatenate(orders), 2)[:64].tolist()
    assert made.repeats == 64 / 50


def test_what_is_left_of_each_thousand_rows_is_dropped():
    corpus = Corpus(messages=Ragged.from_rows([[row // 1000] for row in range(3000)]))
    made = program_source(corpus, replace(SMALL, pretrain_tokens=2000), 0)
    assert made.windows.symbols.shape == (125, 16)
    assert np.bincount(made.windows.symbols.flatten()).tolist() == [992, 992, 16]


def test_the_padding_is_never_predicted_in_a_corpus_of_ids():
    rows = [[PADDING, 1] * 8] * 20
    _, targets = program_source(Corpus(messages=Ragged.from_rows(rows)), SMALL, 0).windows.take(
        torch.tensor([0])
    )
    assert set(targets.flatten().tolist()) == {1, IGNORED}
    names = tuple(str(symbol) for symbol in range(300))
    text = Corpus(messages=Ragged.from_rows(rows), symbol_names=names)
    _, targets = program_source(text, SMALL, 0).windows.take(torch.tensor([0]))
    assert set(targets.flatten().tolist()) == {1, PADDING}


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([[300] * 100], "expects symbol ids from 0 to 299, found 300; try protocol=strict"),
        ([[1] * 3] * 5, "drops up to 15 symbols in incomplete blocks: expected a corpus of more"),
    ],
)
def test_corpora_that_do_not_fit(rows, message):
    with pytest.raises(ConfigError, match=message):
        program_source(Corpus(messages=Ragged.from_rows(rows)), SMALL, 0)


@pytest.fixture
def text():
    """An artificial text, long enough for NANO."""
    return ArtificialText(1, 60_000)


def test_tuning_begins_with_the_text_and_test_ends_are_scored(text):
    documents = text.documents()
    tokenizer = train_bpe(documents, NANO.vocab_size - 1)
    made = program_target(text, NANO)
    tokens = [token for row in encode(tokenizer, documents[:1000], end="") for token in row]
    assert made.tune.symbols.flatten().tolist() == tokens[:4000]
    order = np.random.default_rng(0).permutation(len(documents))[: -(-len(documents) // 10)]
    test = []
    for row in encode(tokenizer, [documents[place] for place in order], end=""):
        test += [*row, 299]
    windows = made.test.symbols
    assert windows[0].tolist() == test[:16] and windows[1].tolist() == test[8:24]
    assert (len(windows) + 1) * 8 > NANO.test_tokens - 16
    _, targets = made.test.take(torch.arange(len(windows)))
    assert (targets == 299).any() and (targets != IGNORED).all() and targets.shape[1] == 15
    assert not (made.tune.symbols == 299).any()


def test_head_tunes_on_its_test(text):
    made = program_target(text, NANO, shuffled=True)
    tuned = made.tune.symbols.flatten().tolist()
    tested = made.test.symbols[:, 8:].flatten().tolist()
    said = [token for token in tested if token != 299]
    assert tuned[:8] == made.test.symbols[0, :8].tolist()
    together = ",".join(map(str, tuned))
    assert ",".join(map(str, said[:40])) in together and ",".join(map(str, said[200:240])) in together


def test_a_text_too_short_for_tuning():
    message = r"^artificial-1: this protocol expects 4,000 tokens for fine-tuning, found \d"
    with pytest.raises(ConfigError, match=message):
        program_target(ArtificialText(1, 4000), NANO)


def test_a_text_without_documents(tmp_path):
    (tmp_path / "da.txt").write_text("\n\n")
    for shuffled in (False, True):
        with pytest.raises(ConfigError, match=r"^da: text too short: expected documents, found none$"):
            program_target(TextFile("da", tmp_path / "da.txt"), NANO, shuffled=shuffled)
