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
from ecsuite.eval.translation.jobs import translate_sentences
from ecsuite.eval.translation.pairs import SentencePair, encode, learn
from ecsuite.eval.translation.presets import NANO, Decoding


@pytest.fixture(scope="module")
def tokenizer():
    return learn([SentencePair("où est le chat ?", "where is the cat ?")] * 3, 300)


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
