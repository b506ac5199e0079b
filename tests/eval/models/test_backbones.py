"""Backbones: hidden states, language-modelling losses, and weights without the embedding."""

import math
import re
import sys
from dataclasses import replace

import pytest
import torch

from ecsuite.eval.models import backbones
from ecsuite.eval.models.backbones import (
    BACKBONES,
    DecoderBackbone,
    EncoderBackbone,
    PublishedBackbone,
    initial_embedding,
)
from ecsuite.eval.models.gpt2 import LanguageModel
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


def test_a_decoder_is_xferbenchs_model(make, tiny):
    backbone = make("decoder")
    model = LanguageModel(1, tiny, random())
    model.embedding = torch.nn.Embedding.from_pretrained(
        initial_embedding(NUM_SYMBOLS, tiny.width, random(1))
    )
    ids = torch.randint(NUM_SYMBOLS, (3, 9), generator=random(2))
    model.eval()
    assert torch.equal(backbone.states(ids, torch.ones_like(ids)), model(ids))
    assert torch.equal(backbone.loss(ids, 0, random()), model.loss(ids[:, :-1], ids[:, 1:]))


def test_a_full_decoder_has_the_published_size():
    """Six of GPT-2's layers of 768, and 384 positions (the published one has 12 d² + 13 d in a layer)."""
    backbone = DecoderBackbone(replace(FULL.backbone, num_layers=1), random())
    of_a_layer = 12 * 768**2 + 13 * 768
    found = sum(weight.numel() for weight in backbone.without_embedding().values())
    assert found == of_a_layer + 384 * 768 + 2 * 768
    assert found + 5 * of_a_layer == 42_823_680


@KINDS
def test_padding_changes_no_state(make, kind):
    backbone = make(kind)
    short = torch.randint(NUM_SYMBOLS, (2, 5), generator=random(2))
    for filler in (0, 7):
        padded = torch.nn.functional.pad(short, (0, 4), value=filler)
        mask = torch.arange(9).expand(2, 9) < 5
        states = backbone.states(padded, mask)
        assert states.shape == (2, 9, backbone.width) and states.dtype == torch.float32
        assert torch.allclose(states[:, :5], backbone.states(short, torch.ones_like(short)), atol=1e-6)


@pytest.mark.parametrize(("kind", "sees"), [("decoder", False), ("encoder", True)])
def test_an_encoder_sees_what_follows_and_a_decoder_does_not(make, kind, sees):
    backbone = make(kind)
    assert backbone.is_bidirectional == sees
    ids = torch.arange(6)[None]
    other = torch.cat((ids[:, :-1], ids[:, -1:] + 1), dim=1)
    mask = torch.ones_like(ids)
    assert torch.equal(backbone.states(ids, mask)[:, :-1], backbone.states(other, mask)[:, :-1]) != sees
    assert torch.equal(backbone.retrieval_states(ids, mask), backbone.states(ids, mask))


@KINDS
def test_initial_weights_depend_on_the_seed_only(tiny, kind):
    torch.manual_seed(0)
    first = BACKBONES[kind](tiny, random()).state_dict()
    torch.manual_seed(1)
    second, third = (BACKBONES[kind](tiny, random(seed)).state_dict() for seed in (0, 1))
    assert all(torch.equal(weight, second[name]) for name, weight in first.items())
    assert any(not torch.equal(weight, third[name]) for name, weight in first.items())


@KINDS
def test_weights_without_the_embedding(make, kind):
    backbone = make(kind)
    kept, everything = backbone.without_embedding(), dict(backbone.named_parameters())
    (left_out,) = set(everything) - set(kept)
    assert everything[left_out] is backbone.embedding.weight
    weight = initial_embedding(5, backbone.width, random(3))
    backbone.set_embedding(weight)
    assert torch.equal(backbone.embedding.weight, weight) and backbone.embedding.weight.requires_grad
    again = backbone.without_embedding()
    assert again.keys() == kept.keys() and all(again[name] is kept[name] for name in kept)


@KINDS
def test_gradients_reach_all_parameters(make, kind):
    backbone = make(kind)
    ids = torch.randint(NUM_SYMBOLS - 1, (8, 20), generator=random(2))
    backbone.loss(ids, NUM_SYMBOLS - 1, random()).backward()
    missing = {name for name, weight in backbone.named_parameters() if weight.grad is None}
    assert missing == set()
    assert backbone.embedding.weight.grad.abs().sum(1).count_nonzero() == NUM_SYMBOLS


@KINDS
def test_an_untrained_backbone_predicts_at_chance_level(make, kind):
    loss = make(kind).loss(torch.randint(NUM_SYMBOLS, (50, 40), generator=random(2)), 0, random())
    assert loss.item() == pytest.approx(math.log(NUM_SYMBOLS), abs=0.1)


def test_an_encoder_predicts_some_symbols_and_most_of_these_are_masked(make, monkeypatch):
    """Devlin et al. (2019), section 3.1: 15 % are predicted; of these 80 % are masked, 10 % random, 10 % unchanged."""
    backbone, seen = make("encoder"), {}
    mask_symbol = NUM_SYMBOLS - 1
    ids = torch.randint(mask_symbol, (500, 40), generator=random(2))

    def states(given, mask):
        seen["ids"] = given
        assert mask is None
        return torch.zeros(*given.shape, backbone.width)

    def loss(states, embedding, targets, products):
        seen["targets"] = targets
        return torch.zeros(())

    monkeypatch.setattr(backbone, "states", states)
    monkeypatch.setattr(backbones, "tied_loss", loss)
    backbone.loss(ids, mask_symbol, random())
    wanted = seen["targets"] != backbones.IGNORED
    assert torch.equal(seen["targets"][wanted], ids[wanted])
    assert torch.equal(seen["ids"][~wanted], ids[~wanted])
    assert wanted.float().mean().item() == pytest.approx(0.15, abs=0.01)
    guessed, read = ids[wanted], seen["ids"][wanted]
    # A random symbol is the mask symbol, or the correct symbol, with probability 1/30 each.
    assert (read == mask_symbol).float().mean().item() == pytest.approx(0.8 + 0.1 / NUM_SYMBOLS, abs=0.02)
    others = (read != mask_symbol) & (read != guessed)
    assert others.float().mean().item() == pytest.approx(0.1 * 28 / 30, abs=0.02)
    assert (read == guessed).float().mean().item() == pytest.approx(0.1 + 0.1 / NUM_SYMBOLS, abs=0.02)


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


def only_pickled_weights(folder):
    torch.save(PublishedBackbone(str(folder)).model.state_dict(), folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()


def no_tokenizer(folder):
    for file in folder.iterdir():
        if file.name not in ("config.json", "model.safetensors"):
            file.unlink()


HARMS = {
    "weights that could run code": (only_pickled_weights, "cannot be loaded: "),
    "damaged weights": (
        lambda folder: (folder / "model.safetensors").write_bytes(b"no"),
        "cannot be loaded: ",
    ),
    "an empty folder": (lambda folder: [file.unlink() for file in folder.iterdir()], "cannot be loaded: "),
    "no tokenizer": (  # version 4 of transformers refuses it itself
        no_tokenizer,
        "(expected a tokenizer next to the weights, found none|cannot be loaded: Can't load tokenizer)",
    ),
}


@pytest.mark.parametrize("harm", HARMS)
def test_folders_that_are_refused(tiny_bert, harm):
    break_it, message = HARMS[harm]
    break_it(tiny_bert)
    with pytest.raises(ConfigError) as raised:
        PublishedBackbone(str(tiny_bert))
    (line,) = str(raised.value).splitlines()
    assert re.match(re.escape(f"--model {tiny_bert}: ") + message, line)


def test_an_unreachable_name_is_refused(monkeypatch):
    constants = pytest.importorskip("huggingface_hub.constants")
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(ConfigError, match=r"^--model nobody/no-such-model: cannot be loaded: .*$"):
        PublishedBackbone("nobody/no-such-model")


def test_without_transformers_the_error_names_the_extra(monkeypatch, tiny):
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(
        ConfigError,
        match=r"^an encoder needs transformers: pip install -e '\.\[xtreme\]' in the clone of ecsuite$",
    ):
        EncoderBackbone(tiny, random())


def test_segment_ids_of_a_published_model(tiny_bert):
    backbone = PublishedBackbone(str(tiny_bert)).eval()
    ids = torch.tensor([[2, 9, 9, 3, 9, 3, 0], [2, 9, 3, 9, 9, 9, 3]])  # [CLS] … [SEP] … [SEP] [PAD]
    mask = torch.tensor([[1, 1, 1, 1, 1, 1, 0], [1] * 7]).bool()
    types = [[0, 0, 0, 0, 1, 1, 0], [0, 0, 0, 1, 1, 1, 1]]
    wanted = backbone.model(input_ids=ids, attention_mask=mask, token_type_ids=torch.tensor(types))
    assert torch.equal(backbone.states(ids, mask), wanted.last_hidden_state)
    backbone.sub_words = replace(backbone.sub_words, between=())  # no separator, so no segments
    alone = backbone.model(input_ids=ids, attention_mask=mask)
    assert torch.equal(backbone.states(ids, mask), alone.last_hidden_state)
