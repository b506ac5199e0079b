"""Sizes of the paper, frozen parameters, and new embeddings."""

import sys

import pytest
import torch

from ecsuite.eval.models.encoder_decoder import (
    EMBEDDING,
    Specials,
    build,
    freeze,
    num_trainable,
    require_packages,
    with_new_embedding,
)
from ecsuite.eval.translation.presets import FULL, NANO
from ecsuite.runtime.errors import ConfigError


def test_the_full_preset_is_the_papers():
    with torch.device("meta"):
        model = build(FULL.model, FULL.model.vocab_size)
    assert sum(parameter.numel() for parameter in model.parameters()) == 60_026_880
    assert num_trainable(model) == 60_026_880
    freeze(model)
    assert num_trainable(model) == 15_360_000
    config = model.config
    assert (config.encoder_layers, config.decoder_layers, config.max_position_embeddings) == (6, 6, 512)
    assert (config.dropout, config.attention_dropout, config.activation_dropout) == (0.1, 0.0, 0.0)
    assert (config.activation_function, config.init_std, config.scale_embedding) == ("gelu", 0.02, False)


def test_special_ids_are_the_last_and_the_model_knows_them():
    special = Specials.of(300)
    assert (special.start, special.end, special.pad, special.mask) == (295, 296, 298, 299)
    config = build(NANO.model, 300).config
    assert (config.decoder_start_token_id, config.eos_token_id, config.pad_token_id) == (295, 296, 298)
    assert config.forced_eos_token_id is None


def test_a_new_embedding_leaves_the_rest_as_it_was():
    torch.manual_seed(0)
    model = build(NANO.model, 411)
    renewed = with_new_embedding(model, NANO.model)
    learnt = dict(model.named_parameters())
    for name, parameter in renewed.named_parameters():
        if name == EMBEDDING:
            assert parameter.shape == (300, 32)
            assert parameter.abs().max().item() == pytest.approx(32**-0.5, rel=0.01)
            assert parameter.std().item() == pytest.approx((3 * 32) ** -0.5, rel=0.03)
        else:
            assert torch.equal(parameter, learnt[name])
    assert renewed.lm_head.weight is renewed.model.shared.weight is renewed.model.decoder.embed_tokens.weight


@pytest.mark.parametrize("missing", ["transformers", "sacrebleu"])
def test_missing_packages_are_named(monkeypatch, missing):
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(ConfigError) as raised:
        require_packages()
    message = (
        "translation needs transformers and sacrebleu: pip install -e '.[translate]' in the clone of ecsuite"
    )
    assert str(raised.value) == message
