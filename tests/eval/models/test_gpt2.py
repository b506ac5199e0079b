"""The model equals GPT-2, its loss equals cross-entropy, and new embeddings change no other weights."""

import copy
import math
from dataclasses import replace

import pytest
import torch
from torch.nn import functional

from ecsuite.eval.models.data import IGNORED
from ecsuite.eval.models.gpt2 import RESET_BOUND, LanguageModel
from ecsuite.eval.xferbench.presets import FULL, NANO

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


def test_logits_are_those_of_hugging_face(model, symbols):
    transformers = pytest.importorskip("transformers")
    config = transformers.GPT2Config(
        vocab_size=VOCAB_SIZE,
        n_positions=NANO.context,
        n_embd=NANO.width,
        n_layer=NANO.num_layers,
        n_head=NANO.num_heads,
        attn_implementation="eager",
    )
    peer = transformers.GPT2LMHeadModel(config).eval()
    weights = {
        "transformer.wte.weight": model.embedding.weight,
        "transformer.wpe.weight": model.positions.weight,
        "transformer.ln_f.weight": model.norm.weight,
        "transformer.ln_f.bias": model.norm.bias,
        "lm_head.weight": model.embedding.weight,
    }
    parts = {
        "ln_1": "attention_norm",
        "attn.c_attn": "query_key_value",
        "attn.c_proj": "attention_out",
        "ln_2": "feed_forward_norm",
        "mlp.c_fc": "feed_forward_in",
        "mlp.c_proj": "feed_forward_out",
    }
    for layer, block in enumerate(model.blocks):
        for theirs, ours in parts.items():
            part = block.get_submodule(ours)
            weights[f"transformer.h.{layer}.{theirs}.weight"] = (
                part.weight.T if part.weight.ndim == 2 else part.weight
            )
            weights[f"transformer.h.{layer}.{theirs}.bias"] = part.bias
    peer.load_state_dict(weights)
    with torch.no_grad():
        torch.testing.assert_close(logits_of(model, symbols[:, :-1]), peer(symbols[:, :-1]).logits)


def test_initial_weights_have_gpt2s_spread():
    model = LanguageModel(2000, NANO, torch.Generator().manual_seed(0))
    residual = 0.02 / math.sqrt(2 * NANO.num_layers)
    assert model.embedding.weight.std().item() == pytest.approx(0.02, rel=0.03)
    expected = {"query_key_value": 0.02, "attention_out": residual, "feed_forward_out": residual}
    for name, spread in expected.items():
        assert model.blocks[0].get_submodule(name).weight.std().item() == pytest.approx(spread, rel=0.05)


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


def test_nothing_scored_costs_nothing(model, symbols):
    loss = model.loss(symbols[:, :-1], torch.full_like(symbols[:, 1:], IGNORED))
    loss.backward()
    assert loss == 0
    assert all(weight.grad.abs().max() == 0 for weight in model.parameters())


def test_rounded_factors_shift_the_loss_little(model, symbols):
    exact = model.loss(symbols[:, :-1], symbols[:, 1:]).item()
    model.products = torch.bfloat16
    rounded = model.loss(symbols[:, :-1], symbols[:, 1:])
    assert rounded.dtype == torch.float32
    assert rounded.item() == pytest.approx(exact, rel=0.01) and rounded.item() != exact
    rounded.backward()
    assert all(weight.grad.dtype == torch.float32 for weight in model.parameters())


def test_dropout_is_for_training_alone(symbols):
    model = LanguageModel(VOCAB_SIZE, replace(NANO, dropout=0.5), torch.Generator().manual_seed(0))
    torch.manual_seed(0)
    assert not torch.equal(model(symbols[:, :-1]), model(symbols[:, :-1]))
    model.eval()
    assert torch.equal(model(symbols[:, :-1]), model(symbols[:, :-1]))


def test_the_full_model_has_the_papers_parameters():
    with torch.device("meta"):
        model = LanguageModel(FULL.vocab_size, FULL, None)
    assert sum(weight.numel() for weight in model.parameters()) == 65_765_376


def test_the_model_does_not_look_ahead(model, symbols):
    changed = symbols.clone()
    changed[:, 5:] = 0
    torch.testing.assert_close(model(symbols[:, :-1])[:, :5], model(changed[:, :-1])[:, :5])


def test_new_embeddings_change_nothing_else(model):
    before = {name: value.clone() for name, value in model.state_dict().items()}
    model.reset_embedding(70, torch.Generator().manual_seed(2))
    after = model.state_dict()
    assert after.keys() == before.keys()
    fresh = after.pop("embedding.weight")
    assert fresh.shape == (70, NANO.width)
    assert 0.95 * RESET_BOUND < fresh.abs().max() <= RESET_BOUND and RESET_BOUND == pytest.approx(0.0360844)
    for name, value in after.items():
        assert torch.equal(value, before[name]), name
