"""Whatever is trained, a training that was stopped ends with the weights of an uninterrupted one.

Dropout, order, masks and noise go on where they were.
"""

import itertools
from dataclasses import replace

import numpy as np
import pytest
import torch

from ecsuite.eval.models.backbones import BACKBONES, initial_embedding, train_language_model
from ecsuite.eval.models.data import Windows
from ecsuite.eval.models.encoder_decoder import (
    BlockBatches,
    Encoded,
    PairBatches,
    Specials,
    build,
    train_encoder_decoder,
)
from ecsuite.eval.models.gpt2 import LanguageModel
from ecsuite.eval.models.training import Callbacks, Checkpoint
from ecsuite.eval.translation.presets import NANO as TRANSLATION
from ecsuite.eval.xferbench.jobs import train
from ecsuite.eval.xferbench.presets import NANO
from ecsuite.jobs.job import Stopped

WINDOWS = torch.arange(16).repeat(10, 1) % 11
SPECIAL = Specials.of(300)


def random(seed=0):
    return torch.Generator().manual_seed(seed)


def gpt2(callbacks):
    generator = random()
    model = LanguageModel(12, replace(NANO, dropout=0.2), generator)
    options = {"num_epochs": 3, "batch": 4, "lr": 1e-2, "weight_decay": 0.01}
    train(model, Windows(symbols=WINDOWS), **options, generator=generator, callbacks=callbacks)
    return model


def backbone(kind, callbacks):
    model = BACKBONES[kind](replace(NANO, dropout=0.2), random())
    model.set_embedding(initial_embedding(12, NANO.width, random(1)))
    options = {"mask_symbol": 11, "num_epochs": 3, "batch": 4, "lr": 1e-2, "parameters": model.parameters()}
    train_language_model(model, WINDOWS, **options, generator=random(2), callbacks=callbacks)
    return model


def bart(kind, callbacks):
    model, rng = build(replace(TRANSLATION.model, dropout=0.2), 300), np.random.default_rng(0)
    if kind == "pairs":
        rows = [np.array([index, *[7] * (index % 8), SPECIAL.end]) for index in range(40)]
        data, num_tokens = PairBatches(Encoded(sources=rows, targets=rows), 16, SPECIAL, rng), 500
    else:
        data, num_tokens = BlockBatches(np.arange(200).reshape(10, 20), 4, SPECIAL, rng), 600
    options = {"lr": 1e-2, "warmup": 0.0, "weight_decay": 0.01, "precision": "fp32"}
    train_encoder_decoder(model, data, num_tokens, **options, callbacks=callbacks)
    return model


TRAININGS = {
    "gpt2": gpt2,
    **{kind: lambda callbacks, kind=kind: backbone(kind, callbacks) for kind in BACKBONES},
    **{kind: lambda callbacks, kind=kind: bart(kind, callbacks) for kind in ("pairs", "blocks")},
}


@pytest.mark.slow
@pytest.mark.parametrize("name", TRAININGS)
def test_a_resumed_training_ends_with_the_same_weights(tmp_path, name):
    def weights(checkpoint=None, stops_after=None):
        torch.manual_seed(0)
        calls = itertools.count(1)
        callbacks = Callbacks(checkpoint=checkpoint, should_stop=lambda: next(calls) == stops_after)
        model = TRAININGS[name](callbacks)
        return torch.cat([weight.detach().flatten() for weight in model.parameters()])

    checkpoint = Checkpoint(file=tmp_path / "checkpoint")
    for _ in range(2):
        with pytest.raises(Stopped):
            weights(checkpoint, stops_after=2)
    resumed = weights(checkpoint)
    assert torch.equal(resumed, weights())
    assert torch.equal(weights(), resumed)  # with the same seed
