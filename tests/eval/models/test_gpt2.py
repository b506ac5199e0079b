"""The model equals GPT-2, its loss equals cross-entropy, and new embeddings change no other weights."""

import copy

import pytest
import torch
from torch.nn import functional

from ecsuite.eval.models.data import IGNORED
from ecsuite.eval.models.gpt2 import LanguageModel
from ecsuite.eval.xferbench.presets import NANO

VOCAB_SIZE = 50


@pytest.fixture
def model() -> LanguageModel:
    """A tiny model with biases and norms away from their initial values."""
    generator = torch.Generator().manual_seed(0)
    model = LanguageModel(VOCAB_SIZE, NANO, generator)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.empty_like(parameter).normal_(0, 0.1, generator=generator))
    return model


@pytest.fixture
def symbols() -> torch.Tensor:
    """A batch of windows, (batch, context + 1)."""
    return torch.randint(VOCAB_SIZE, (3, NANO.context + 1), generator=torch.Generator().manual_seed(1))


def logits_of(model, symbols):
    return functional.linear(model(symbols), model.embedding.weight)


@pytest.mark.parametrize("small", [0, 4096])
def test_loss_and_gradients_are_those_of_plain_cross_entropy(model, monkeypatch, small):
    """300 positions are more than one chunk; some are not scored."""
    monkeypatch.setattr("ecsuite.eval.models.gpt2.SMALL_VOCABULARY", small)
    symbols = torch.randint(VOCAB_SIZE, (20, NANO.context + 1), generator=torch.Generator().manual_seed(1))
    targets = symbols[:, 1:].clone()
    targets[3:5], targets[7, ::2] = IGNORED, IGNORED
    plain = copy.deepcopy(model)
    loss = model.loss(symbols[:, :-1], targets)
    expected = functional.cross_entropy(
        logits_of(plain, symbols[:, :-1]).flatten(0, 1), targets.flatten(), ignore_index=IGNORED
    )
    torch.testing.assert_close(loss, expected)
    loss.backward()
    expected.backward()
    for (name, ours), theirs in zip(model.named_parameters(), plain.parameters(), strict=True):
        torch.testing.assert_close(ours.grad, theirs.grad, msg=lambda text, name=name: f"{name}: {text}")
