"""Backbones and GPT-2: equal to torch's and Hugging Face's models; losses, sizes and weights."""

import copy
from dataclasses import replace

import pytest
import torch
from torch.nn import functional

from ecsuite.eval.models import backbones
from ecsuite.eval.models.backbones import BACKBONES, DecoderBackbone, PublishedBackbone, initial_embedding
from ecsuite.eval.models.data import IGNORED
from ecsuite.eval.models.encoder_decoder import build, freeze, num_trainable
from ecsuite.eval.models.gpt2 import LanguageModel
from ecsuite.eval.translation.presets import FULL as BART
from ecsuite.eval.xferbench.presets import FULL as FULL_XFERBENCH
from ecsuite.eval.xferbench.presets import NANO as SIZES
from ecsuite.eval.xtreme.presets import FULL
from ecsuite.runtime.errors import ConfigError

KINDS = pytest.mark.parametrize("kind", BACKBONES)
NUM_SYMBOLS = 30


def random(seed=0):
    return torch.Generator().manual_seed(seed)


@pytest.fixture
def make(tiny):
    """Builds a backbone with an embedding."""

    def make(kind, preset=tiny):
        backbone = BACKBONES[kind](preset, random())
        backbone.set_embedding(initial_embedding(NUM_SYMBOLS, preset.width, random(1)))
        return backbone.eval()

    return make


@KINDS
def test_gradients_reach_all_parameters(make, kind):
    backbone = make(kind)
    ids = torch.randint(NUM_SYMBOLS - 1, (8, 20), generator=random(2))
    backbone.loss(ids, NUM_SYMBOLS - 1, random()).backward()
    missing = {name for name, weight in backbone.named_parameters() if weight.grad is None}
    assert missing == set()
    assert backbone.embedding.weight.grad.abs().sum(1).count_nonzero() == NUM_SYMBOLS


@KINDS
def test_padding_and_what_a_decoder_does_not_see_change_no_state(make, kind):
    backbone = make(kind)
    short = torch.randint(NUM_SYMBOLS, (2, 5), generator=random(2))
    alone = backbone.states(short, torch.ones_like(short))
    padded = torch.nn.functional.pad(short, (0, 4), value=7)
    states = backbone.states(padded, torch.arange(9).expand(2, 9) < 5)
    assert torch.allclose(states[:, :5], alone, atol=1e-6)
    short[:, -1] = (short[:, -1] + 1) % NUM_SYMBOLS
    other = backbone.states(short, torch.ones_like(short))
    assert torch.equal(other[:, :-1], alone[:, :-1]) != backbone.is_bidirectional == (kind == "encoder")


def test_an_encoder_predicts_some_symbols_and_most_of_these_are_masked(make, monkeypatch):
    """Devlin et al. (2019), section 3.1: 15 % are predicted; of these 80 % are masked, 10 % random, 10 % unchanged."""
    backbone, seen, mask_symbol = make("encoder"), {}, NUM_SYMBOLS - 1
    ids = torch.randint(mask_symbol, (500, 40), generator=random(2))
    zeros = torch.zeros(*ids.shape, backbone.width)
    monkeypatch.setattr(backbone, "states", lambda given, mask: seen.update(ids=given) or zeros)
    loss = lambda states, embedding, targets, products: seen.update(targets=targets) or torch.zeros(())  # noqa: E731
    monkeypatch.setattr(backbones, "tied_loss", loss)
    backbone.loss(ids, mask_symbol, random())
    wanted = seen["targets"] != backbones.IGNORED
    assert torch.equal(seen["targets"][wanted], ids[wanted])
    assert torch.equal(seen["ids"][~wanted], ids[~wanted])
    assert wanted.float().mean().item() == pytest.approx(0.15, abs=0.01)
    guessed, read = ids[wanted], seen["ids"][wanted]
    # A random symbol is the mask symbol, or the correct symbol, with probability 1/30 each.
    assert (read == mask_symbol).float().mean().item() == pytest.approx(0.8 + 0.1 / NUM_SYMBOLS, abs=0.02)
    assert (read == guessed).float().mean().item() == pytest.approx(0.1 + 0.1 / NUM_SYMBOLS, abs=0.02)


def test_pickled_weights_and_unreachable_names_are_refused(tiny_bert, monkeypatch):
    """They could run code."""
    torch.save(PublishedBackbone(str(tiny_bert)).model.state_dict(), tiny_bert / "pytorch_model.bin")
    (tiny_bert / "model.safetensors").unlink()
    with pytest.raises(ConfigError, match="cannot be loaded: "):
        PublishedBackbone(str(tiny_bert))
    constants = pytest.importorskip("huggingface_hub.constants")
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(ConfigError, match=r"^--model nobody/no-such-model: cannot be loaded: .*$"):
        PublishedBackbone("nobody/no-such-model")


def test_a_published_model_is_loaded_from_its_folder(tiny_bert):
    backbone = PublishedBackbone(str(tiny_bert)).eval()
    assert (backbone.width, backbone.context, backbone.is_bidirectional) == (16, 64, True)
    assert backbone.embedding.weight.shape[0] >= backbone.sub_words.size
    ids = torch.tensor([[2, 9, 10, 3, 0, 0]])
    mask = ids != 0
    wanted = backbone.model(ids[:, :4]).last_hidden_state
    assert torch.allclose(backbone.states(ids, mask)[:, :4], wanted, atol=1e-6)
    # The first of two layers: 7/12 of the depth.
    within = backbone.model(ids[:, :4], output_hidden_states=True).hidden_states[1]
    assert torch.allclose(backbone.retrieval_states(ids, mask)[:, :4], within, atol=1e-6)
    assert not torch.allclose(within, wanted, atol=1e-3)
    backbone = PublishedBackbone(str(tiny_bert)).eval()
    ids = torch.tensor([[2, 9, 9, 3, 9, 3, 0], [2, 9, 3, 9, 9, 9, 3]])  # [CLS] … [SEP] … [SEP] [PAD]
    mask = torch.tensor([[1, 1, 1, 1, 1, 1, 0], [1] * 7]).bool()
    types = [[0, 0, 0, 0, 1, 1, 0], [0, 0, 0, 1, 1, 1, 1]]
    wanted = backbone.model(input_ids=ids, attention_mask=mask, token_type_ids=torch.tensor(types))
    assert torch.equal(backbone.states(ids, mask), wanted.last_hidden_state)
    backbone.sub_words = replace(backbone.sub_words, between=())  # no separator, so no segments
    alone = backbone.model(input_ids=ids, attention_mask=mask)
    assert torch.equal(backbone.states(ids, mask), alone.last_hidden_state)


VOCAB_SIZE = 50


@pytest.fixture
def model() -> LanguageModel:
    """A tiny model with biases and norms away from their initial values."""
    generator = torch.Generator().manual_seed(0)
    model = LanguageModel(VOCAB_SIZE, SIZES, generator)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.empty_like(parameter).normal_(0, 0.1, generator=generator))
    return model


@pytest.fixture
def symbols() -> torch.Tensor:
    """A batch of windows, (batch, context + 1)."""
    return torch.randint(VOCAB_SIZE, (3, SIZES.context + 1), generator=torch.Generator().manual_seed(1))


def logits_of(model, symbols):
    return functional.linear(model(symbols), model.embedding.weight)


def test_logits_are_those_of_hugging_face(model, symbols):
    transformers = pytest.importorskip("transformers")
    sizes = {"n_positions": SIZES.context, "n_embd": SIZES.width, "n_head": SIZES.num_heads}
    sizes |= {"vocab_size": VOCAB_SIZE, "n_layer": SIZES.num_layers}
    config = transformers.GPT2Config(**sizes, attn_implementation="eager")
    peer = transformers.GPT2LMHeadModel(config).eval()
    parts = {
        "ln_1": "attention_norm", "attn.c_attn": "query_key_value", "attn.c_proj": "attention_out",
        "ln_2": "feed_forward_norm", "mlp.c_fc": "feed_forward_in", "mlp.c_proj": "feed_forward_out",
    }  # fmt: skip
    weights = dict.fromkeys(("transformer.wte.weight", "lm_head.weight"), model.embedding.weight)
    weights["transformer.wpe.weight"] = model.positions.weight
    weights |= {f"transformer.ln_f.{name}": getattr(model.norm, name) for name in ("weight", "bias")}
    for layer, block in enumerate(model.blocks):
        for theirs, ours in parts.items():
            part, name = block.get_submodule(ours), f"transformer.h.{layer}.{theirs}"
            weight = part.weight if part.weight.ndim == 1 else part.weight.T
            weights |= {f"{name}.weight": weight, f"{name}.bias": part.bias}
    peer.load_state_dict(weights)
    with torch.no_grad():
        torch.testing.assert_close(logits_of(model, symbols[:, :-1]), peer(symbols[:, :-1]).logits)


def test_models_have_the_papers_parameters():
    """XferBench's model, and that of the translation."""
    with torch.device("meta"):
        models = [LanguageModel(FULL_XFERBENCH.vocab_size, FULL_XFERBENCH, None)]
        models.append(build(BART.model, BART.model.vocab_size))
    assert [sum(each.numel() for each in model.parameters()) for model in models] == [65_765_376, 60_026_880]
    freeze(models[1])
    assert num_trainable(models[1]) == 15_360_000
    # Six of GPT-2's layers of 768, and 384 positions (the published one has 12 d² + 13 d in a layer).
    backbone = DecoderBackbone(replace(FULL.backbone, num_layers=1), random())
    of_a_layer = 12 * 768**2 + 13 * 768
    found = sum(weight.numel() for weight in backbone.without_embedding().values())
    assert found == of_a_layer + 384 * 768 + 2 * 768
    assert found + 5 * of_a_layer == 42_823_680


@pytest.mark.parametrize("small", [0, 4096])
def test_loss_and_gradients_are_those_of_plain_cross_entropy(model, monkeypatch, small):
    """300 positions are more than one chunk; some are not scored."""
    monkeypatch.setattr("ecsuite.eval.models.gpt2.SMALL_VOCABULARY", small)
    symbols = torch.randint(VOCAB_SIZE, (20, SIZES.context + 1), generator=torch.Generator().manual_seed(1))
    targets = symbols[:, 1:].clone()
    targets[3:5], targets[7, ::2] = IGNORED, IGNORED
    plain = copy.deepcopy(model)
    loss, logits = model.loss(symbols[:, :-1], targets), logits_of(plain, symbols[:, :-1])
    expected = functional.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=IGNORED)
    torch.testing.assert_close(loss, expected)
    loss.backward()
    expected.backward()
    for (name, ours), theirs in zip(model.named_parameters(), plain.parameters(), strict=True):
        torch.testing.assert_close(ours.grad, theirs.grad, msg=lambda text, name=name: f"{name}: {text}")
