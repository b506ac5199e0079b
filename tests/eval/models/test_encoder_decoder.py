"""Batches contain every pair and block once per epoch; the training loop changes the trainable weights only."""

import numpy as np
import pytest
import torch

from ecsuite.eval.models.encoder_decoder import (
    EMBEDDING,
    Encoded,
    PairBatches,
    Specials,
    build,
    freeze,
    train_encoder_decoder,
)
from ecsuite.eval.translation.presets import NANO

SPECIAL = Specials.of(300)


def encoded(count: int) -> Encoded:
    """Pairs of 2 to 9 tokens, the first of which is the pair's number."""
    rows = [np.array([index, *[7] * (index % 8), SPECIAL.end]) for index in range(count)]
    return Encoded(sources=rows, targets=rows)


def pairs(count: int) -> PairBatches:
    return PairBatches(encoded(count), 16, SPECIAL, np.random.default_rng(0))


@pytest.fixture
def model():
    torch.manual_seed(0)
    return build(NANO.model, 300).eval()


def test_frozen_tuning_changes_the_embedding_alone(model):
    freeze(model)
    before = {name: each.detach().clone() for name, each in model.named_parameters()}
    options = {"lr": 1e-2, "warmup": 0.0, "weight_decay": 0.01, "precision": "fp32"}
    train_encoder_decoder(model, pairs(40), 300, **options)
    changed = [name for name, each in model.named_parameters() if not torch.equal(each, before[name])]
    assert changed == [EMBEDDING]
