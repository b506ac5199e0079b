"""Backbones: hidden states, language-modelling losses, and weights without the embedding."""

from dataclasses import replace

import pytest
import torch

from ecsuite.eval.models.backbones import (
    BACKBONES,
    DecoderBackbone,
    PublishedBackbone,
    initial_embedding,
)
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


def test_a_full_decoder_has_the_published_size():
    """Six of GPT-2's layers of 768, and 384 positions (the published one has 12 d² + 13 d in a layer)."""
    backbone = DecoderBackbone(replace(FULL.backbone, num_layers=1), random())
    of_a_layer = 12 * 768**2 + 13 * 768
    found = sum(weight.numel() for weight in backbone.without_embedding().values())
    assert found == of_a_layer + 384 * 768 + 2 * 768
    assert found + 5 * of_a_layer == 42_823_680


@KINDS
def test_gradients_reach_all_parameters(make, kind):
    backbone = make(kind)
    ids = torch.randint(NUM_SYMBOLS - 1, (8, 20), generator=random(2))
    backbone.loss(ids, NUM_SYMBOLS - 1, random()).backward()
    missing = {name for name, weight in backbone.named_parameters() if weight.grad is None}
    assert missing == set()
    assert backbone.embedding.weight.grad.abs().sum(1).count_nonzero() == NUM_SYMBOLS


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


def test_an_unreachable_name_is_refused(monkeypatch):
    constants = pytest.importorskip("huggingface_hub.constants")
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(ConfigError, match=r"^--model nobody/no-such-model: cannot be loaded: .*$"):
        PublishedBackbone("nobody/no-such-model")


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
