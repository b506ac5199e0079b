"""Protocols: data that are disjoint and scored once (strict), and those of the authors' program with its leak."""

import hashlib
from collections import Counter
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
import torch

from ecsuite.corpus import Corpus
from ecsuite.eval.models.data import IGNORED
from ecsuite.eval.models.vocabulary import encode, train_bpe
from ecsuite.eval.xferbench.languages import TYPOLOGIES, write
from ecsuite.eval.xferbench.presets import DANISH, FULL, NANO, SOURCES
from ecsuite.eval.xferbench.protocols import TEST_SHARE, program_source, program_target, strict_source, strict_target
from ecsuite.eval.xferbench.texts import ArtificialText, BaselineSettings, TextFile, in_hash_order
from ecsuite.runtime.errors import ConfigError
from ecsuite.runtime.ragged import Ragged


def text_of(folder, lines):
    (folder / "x.txt").write_text("\n".join(lines), encoding="utf-8")
    return TextFile("x", folder / "x.txt")


def test_the_papers_numbers_of_windows_and_blocks():
    for preset in (FULL, DANISH):
        assert preset.num_windows(preset.pretrain_tokens) == 58_594
        assert preset.num_windows(preset.tune_tokens) == 7_813
        assert -(-58_594 // preset.batch) * preset.pretrain_epochs == 9_160
        assert -(-7_813 // preset.batch) * preset.tune_epochs == 2_450
    messages = Ragged(np.zeros(16_000_000, dtype=np.int32), np.arange(0, 16_000_001, 256))
    made = program_source(Corpus(messages=messages), FULL, 0)
    assert made.windows.symbols.shape == (58_594, 256)
    assert made.vocab_size == 30_000 and made.repeats == pytest.approx(15_000_064 / 16_000_000)
    corpus = Corpus([[5, 7, 5], [9]])
    made = strict_source(corpus, NANO, 0)
    assert made.windows.symbols.shape == (250, NANO.context + 1)
    assert made.vocab_size == 3 and made.windows.symbols.max() == 2
    assert made.repeats == (250 * 16 + 1) / 4
    whole = strict_source(corpus, replace(NANO, pretrain_vocabulary="whole"), 0)
    assert whole.vocab_size == NANO.vocab_size and torch.equal(whole.windows.symbols, made.windows.symbols)


def test_tuning_and_test_share_no_line_and_are_scored_once(tmp_path):
    lines = ArtificialText(1, 40_000).documents()
    made = strict_target(text_of(tmp_path, lines + lines[:100]), NANO)
    order = in_hash_order(lines)
    num_test = len(order) // TEST_SHARE
    tokenizer = train_bpe(order[num_test:], NANO.vocab_size)
    test = [token for row in encode(tokenizer, order[:num_test]) for token in row][: NANO.test_tokens + 1]
    tune = [token for row in encode(tokenizer, order[num_test:]) for token in row][: NANO.tune_tokens + 1]
    assert made.tune.symbols[:, :-1].flatten().tolist() == tune[:-1]
    _, targets = made.test.take(torch.arange(len(made.test)))
    assert targets[targets != IGNORED].tolist() == test[1 : 1 + (len(test) - 1) // 8 * 8]


def test_short_and_empty_texts(tmp_path):
    lines = ArtificialText(1, 4_000).documents()
    made = strict_target(text_of(tmp_path, lines), NANO)
    assert made.repeats > 1 and made.tune.symbols.shape == (250, 17)
    with pytest.raises(ValueError, match="x: text too short: expected more than 16 test tokens, found 0"):
        strict_target(text_of(tmp_path, lines[:3]), NANO)
    message = r"^artificial-1: this protocol expects 4,000 tokens for fine-tuning, found \d"
    with pytest.raises(ConfigError, match=message):
        program_target(ArtificialText(1, 4000), NANO)
    (tmp_path / "fr.txt").write_text("\n \n")
    with pytest.raises(ValueError, match=r"fr.txt: expected text, found none$"):
        SOURCES.load("human")(replace(REQUEST, text=tmp_path / "fr.txt"))
    lines = ArtificialText(2, 5_000).documents()
    assert in_hash_order(lines) == in_hash_order(lines[::-1] + lines)
    assert in_hash_order(lines) != sorted(lines)


def test_a_corpus_is_read_in_its_own_order_and_shuffled_each_time_round():
    """Rows 0 0 0, 1 1 1, …"""
    small = replace(NANO, pretrain_tokens=64, vocab_size=300)

    def symbols(num_rows, length, seed=0, **options):
        corpus = Corpus([[row] * length for row in range(num_rows)])
        return program_source(corpus, small, seed, **options).windows.symbols.flatten().tolist()

    for seed in (0, 1):
        assert symbols(250, 4, seed) == np.repeat(np.arange(16), 4).tolist()
    order = np.random.default_rng(0).permutation(250)[:16]
    assert symbols(250, 4, shuffled=True) == np.repeat(order, 4).tolist()
    orders = np.concatenate([np.random.default_rng(time).permutation(25) for time in range(2)])
    assert symbols(25, 2) == np.repeat(orders, 2)[:64].tolist()


def test_tuning_begins_with_the_text_and_head_tunes_on_its_test():
    text = ArtificialText(1, 60_000)
    documents, made = text.documents(), program_target(text, NANO)
    tokenizer = train_bpe(documents, NANO.vocab_size - 1)
    tokens = [token for row in encode(tokenizer, documents[:1000], end="") for token in row]
    assert made.tune.symbols.flatten().tolist() == tokens[:4000]
    order = np.random.default_rng(0).permutation(len(documents))[: -(-len(documents) // 10)]
    rows = encode(tokenizer, [documents[place] for place in order], end="")
    test = [token for row in rows for token in [*row, 299]]
    assert [row.tolist() for row in made.test.symbols[:2]] == [test[:16], test[8:24]]
    _, targets = made.test.take(torch.arange(len(made.test.symbols)))
    assert (targets == 299).any() and (targets != IGNORED).all() and targets.shape[1] == 15
    made = program_target(ArtificialText(1, 60_000), NANO, shuffled=True)
    tuned = made.tune.symbols.flatten().tolist()
    tested = made.test.symbols[:, 8:].flatten().tolist()
    said = [token for token in tested if token != 299]
    assert tuned[:8] == made.test.symbols[0, :8].tolist()
    together = ",".join(map(str, tuned))
    assert ",".join(map(str, said[:40])) in together and ",".join(map(str, said[200:240])) in together


REQUEST = BaselineSettings(preset=NANO, protocol="strict", seed=0, text=None)


@pytest.mark.parametrize("name", SOURCES.parts)
def test_sizes_of_baselines(name, tmp_path):
    (tmp_path / "fr.txt").write_text("\n".join(f"le chat {number} dort" for number in range(2000)))
    corpus = SOURCES.load(name)(replace(REQUEST, text=tmp_path / "fr.txt"))
    if name == "no_pretrain":
        assert corpus is None
        return
    assert NANO.pretrain_tokens <= len(corpus.messages.values) < NANO.pretrain_tokens + 300
    assert corpus.messages.values.max() < NANO.vocab_size


def test_artificial_languages_never_change_and_differ():
    """Equal signatures mean comparable scores: a change here must raise the metric's version."""
    texts = [write(number, 50_000) for number in range(1, len(TYPOLOGIES) + 1)]
    content = "\n".join("\n".join(lines) for lines in texts)
    assert hashlib.blake2b(content.encode(), digest_size=8).hexdigest() == "e3e5ed10cdd2b2c5"
    again = write(4, 20_000)
    assert again == texts[3][: len(again)]
    words = ["".join(letter for letter in " ".join(lines).lower() if letter not in ".,?").split() for lines in texts]
    common = [{word for word, _ in Counter(each).most_common(300)} for each in words]
    assert all(len(one & other) < 60 for one, other in combinations(common, 2))
