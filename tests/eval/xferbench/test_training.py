"""Training and test of the model: learning rate, and means over tokens."""

from contextlib import nullcontext
from functools import partial

import numpy as np
import pytest
import torch

from ecsuite.eval.models import gpt2
from ecsuite.eval.models.data import Windows, stretches
from ecsuite.eval.models.gpt2 import LanguageModel
from ecsuite.eval.xferbench.presets import NANO


def windows_of(stream):
    return Windows(symbols=stretches(stream, NANO.context + 1, NANO.context))


def model_of(vocab_size):
    return LanguageModel(vocab_size, NANO, torch.Generator().manual_seed(0))


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
