"""Scores of given translations, and a model that learns to copy and to end."""

import numpy as np
import pytest
import torch

from ecsuite.eval.models.encoder_decoder import (
    Encoded,
    PairBatches,
    Specials,
    build,
    cross_entropy,
    train_encoder_decoder,
)
from ecsuite.eval.translation.jobs import sacrebleu_signatures, score_translations, translate_sentences
from ecsuite.eval.translation.pairs import SentencePair, decode, encode, learn
from ecsuite.eval.translation.presets import NANO, Decoding

REFERENCES = ["the cat sat on the mat today .", "all of it was there ."]


def test_perfect_and_empty_translations():
    best = score_translations(REFERENCES, REFERENCES, 1.0)
    assert (best.chrf, best.bleu) == (pytest.approx(100), pytest.approx(100))
    assert (best.length_ratio, best.ended) == (1.0, 1.0)
    none = score_translations(["", ""], REFERENCES, 0.0)
    assert (none.chrf, none.bleu, none.length_ratio) == (0.0, 0.0, 0.0)


def test_a_translation_that_does_not_stop_is_worse():
    endless = [f"{line}{' and so on' * 20}" for line in REFERENCES]
    score = score_translations(endless, REFERENCES, 0.0)
    assert score.length_ratio > 5
    assert score.bleu < 20
    assert score.chrf < 80


def test_signatures_are_sacrebleus():
    found = sacrebleu_signatures()
    assert found["chrf"].startswith("nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|version:")
    assert found["bleu"].startswith("nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:")


@pytest.fixture(scope="module")
def tokenizer():
    return learn([SentencePair("où est le chat ?", "where is the cat ?")] * 3, 300)


def test_sentences_survive_their_tokens(tokenizer):
    special = Specials.of(300)
    for sentence in ("où est le chat ?", "日本, a b", "x"):
        (tokens,) = encode(tokenizer, [sentence], special.end)
        assert tokens[-1] == special.end
        assert (tokens[:-1] < special.start).all()
        assert decode(tokenizer, np.append(tokens, [5, special.pad]), special.end) == (sentence, True)
        assert decode(tokenizer, np.append(special.mask, tokens[:-1]), special.end) == (sentence, False)


@pytest.mark.slow
def test_a_tiny_model_learns_to_copy_and_to_stop(tokenizer):
    """Words of one to six letters, each letter repeated: only a model that stops where the word does is right."""
    decoding = Decoding(num_new_tokens=12)
    special = Specials.of(300)
    words = [letter * length for letter, length in zip("abcdefghijkl", [*range(1, 7)] * 2, strict=True)]
    rows = list(encode(tokenizer, words, special.end))
    pairs = Encoded(sources=rows, targets=rows)
    torch.manual_seed(0)
    model = build(NANO.model, 300)
    assert cross_entropy(model, pairs, 16, special, "fp32") == pytest.approx(np.log(300), abs=0.5)
    data = PairBatches(pairs, 12, special, np.random.default_rng(0))
    train_encoder_decoder(model, data, 6_000, lr=1e-2, warmup=0.0, weight_decay=0.01, precision="fp32")
    options = {"vocab_size": 300, "precision": "fp32", "report_progress": [].append}
    for beam in (1, 3):
        said, ended = translate_sentences(model, tokenizer, rows, decoding, beam=beam, **options)
        assert ended == 1
        lengths = [len(word) for word in said]
        assert np.abs(np.subtract(lengths, [len(word) for word in words])).mean() < 0.5
        assert sum(map(str.__eq__, said, words)) >= 10
