"""Training and test of the model: updates, learning rate, resuming, and means over tokens."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from ecsuite.config import DivergedError
from ecsuite.eval.learning.checkpoints import Checkpoint
from ecsuite.eval.learning.data import Windows, stretches
from ecsuite.eval.learning.gpt2 import LanguageModel
from ecsuite.eval.learning.training import Followed
from ecsuite.eval.xferbench.presets import NANO
from ecsuite.eval.xferbench.training import cross_entropy, train
from ecsuite.jobs.job import Stopped


def windows_of(stream):
    return Windows(symbols=stretches(stream, NANO.context + 1, NANO.context))


def model_of(vocab_size, preset=NANO, generator=None):
    return LanguageModel(vocab_size, preset, generator or torch.Generator().manual_seed(0))


def trained(model, windows, **options):
    defaults = {"num_epochs": 1, "batch": NANO.batch, "lr": 1e-3, "weight_decay": 0.01}
    train(model, windows, **defaults | {"generator": torch.Generator().manual_seed(0)} | options)


def test_a_loss_that_is_not_finite_stops_before_the_update():
    model = model_of(5)
    with torch.no_grad():
        model.norm.weight.fill_(math.nan)
    before = model.embedding.weight.clone()
    with pytest.raises(DivergedError, match="the loss is nan at update 1,"):
        trained(model, windows_of(np.arange(200) % 5))
    assert torch.equal(model.embedding.weight, before)


def test_a_resumed_training_ends_with_the_same_weights(tmp_path):
    preset, checkpoint = replace(NANO, dropout=0.2), Checkpoint(file=tmp_path / "training")
    windows = windows_of(np.arange(10 * NANO.context + 1) % 5)

    def weights(stops_after=0, checkpoint=None):
        torch.manual_seed(0)
        generator, calls = torch.Generator().manual_seed(0), itertools.count(1)
        model = model_of(5, preset, generator)
        followed = Followed(checkpoint=checkpoint, should_stop=lambda: next(calls) == stops_after)
        trained(model, windows, num_epochs=3, batch=4, lr=1e-2, generator=generator, followed=followed)
        return torch.cat([weight.detach().flatten() for weight in model.parameters()])

    for _ in range(2):
        with pytest.raises(Stopped):
            weights(stops_after=4, checkpoint=checkpoint)
    assert torch.equal(weights(checkpoint=checkpoint), weights())


def test_learning_rate_falls_to_zero(monkeypatch):
    rates = []

    class Spy(torch.optim.AdamW):
        def step(self, closure=None):
            rates.append(self.param_groups[0]["lr"])
            assert self.param_groups[0]["weight_decay"] == 0.3
            return super().step(closure)

    monkeypatch.setattr(torch.optim, "AdamW", Spy)
    windows = windows_of(np.arange(10 * NANO.context + 1) % 5)
    trained(model_of(5), windows, batch=1, lr=1.0, weight_decay=0.3)
    assert rates == pytest.approx([1, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1])


def test_the_mean_is_over_tokens_whatever_the_batch():
    model = model_of(30)
    stream = np.random.default_rng(0).integers(30, size=300)
    windows = Windows(symbols=stretches(stream, 17, 8), num_context=8)
    values = [cross_entropy(model, windows, batch) for batch in (1, 7, 1000)]
    assert {num for _, num in values} == {16 + 8 * (len(windows) - 1)}
    assert [value for value, _ in values] == pytest.approx([values[0][0]] * 3, rel=1e-5)


def test_a_cross_entropy_that_is_not_finite_is_an_error():
    """The weights are finite, and their products are not."""
    model = model_of(30)
    with torch.no_grad():
        model.norm.weight.fill_(1e38)
    with pytest.raises(DivergedError, match="the cross-entropy of the held-out text is "):
        cross_entropy(model, windows_of(np.arange(200) % 30), 16)
