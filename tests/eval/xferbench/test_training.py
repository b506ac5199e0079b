"""Training and test of the model: learning rate, and means over tokens."""

from contextlib import nullcontext
from functools import partial
from importlib import import_module

import numpy as np
import pytest
import torch

from ecsuite.eval.models import gpt2
from ecsuite.eval.models.data import Windows, stretches
from ecsuite.eval.models.gpt2 import LanguageModel
from ecsuite.eval.xferbench.jobs import cross_entropy, train
from ecsuite.eval.xferbench.metric import measure, report
from ecsuite.eval.xferbench.presets import NANO
from ecsuite.jobs.graph import Runner
from ecsuite.runtime.errors import DivergedError


def windows_of(stream):
    return Windows(symbols=stretches(stream, NANO.context + 1, NANO.context))


def model_of(vocab_size):
    return LanguageModel(vocab_size, NANO, torch.Generator().manual_seed(0))


def test_learning_rate_falls_to_zero(monkeypatch):
    rates = []

    class Spy(torch.optim.AdamW):
        def step(self, closure=None):
            rates.append(self.param_groups[0]["lr"])
            assert self.param_groups[0]["weight_decay"] == 0.3
            return super().step(closure)

    monkeypatch.setattr(torch.optim, "AdamW", Spy)
    windows = windows_of(np.arange(10 * NANO.context + 1) % 5)
    options = {"num_epochs": 1, "batch": 1, "lr": 1.0, "weight_decay": 0.3}
    train(model_of(5), windows, **options, generator=torch.Generator())
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


@pytest.fixture
def compiling(monkeypatch):
    """Models as narrow as ours are compiled, as if this processor were a GPU; returns what a compilation does."""
    monkeypatch.setattr(gpt2, "COMPILED_WIDTH", 1)
    monkeypatch.setattr(torch.random, "fork_rng", lambda **_: nullcontext())
    calls = []

    def compiled(fails):
        def call(function, *arguments):
            calls.append(fails)
            if fails:
                raise RuntimeError("no compiler\nis here")
            return function(*arguments)

        monkeypatch.setattr(torch, "compile", lambda function, dynamic: partial(call, function))
        return calls

    return compiled


@pytest.mark.parametrize("fails", [False, True])
def test_a_model_that_cannot_be_compiled_is_trained_as_it_is(compiling, fails):
    calls, model = compiling(fails), model_of(5)
    windows = windows_of(np.arange(5 * NANO.context + 1) % 5)
    losses = [lambda: model.loss(*windows.take(torch.arange(2)))] * 2
    before = model.loss(*windows.take(torch.arange(2))).item()
    reason = gpt2.compile_if_wide(model, 8, torch.device("cuda"), losses)
    assert reason == ("RuntimeError: no compiler is here" if fails else None)
    assert len(calls) == (1 if fails else 2)
    assert all(parameter.grad is None for parameter in model.parameters())
    assert model.loss(*windows.take(torch.arange(2))).item() == pytest.approx(before)
    assert len(calls) == (1 if fails else 3)


def test_a_score_says_that_its_models_were_not_compiled(study_of, monkeypatch):
    module = import_module("ecsuite.eval.xferbench.jobs")
    monkeypatch.setattr(module, "compile_if_wide", lambda *_: "RuntimeError: no compiler")
    study = study_of()
    warning = report(study, measure(study, Runner())).details["warning"]
    assert warning == "torch could not compile the models, so training was slower (RuntimeError: no compiler)"
