"""BART as the paper has it, from Hugging Face's transformers, which are loaded only when a model is built."""

from typing import Any

import torch
from torch import nn

from ecsuite.config import ConfigError
from ecsuite.eval.machine_translation.presets import Preset
from ecsuite.eval.machine_translation.vocabulary import Specials

EMBEDDING = "model.shared.weight"
"""The one embedding: of the encoder, of the decoder and of the output."""
MISSING = "translation needs transformers and sacrebleu: pip install 'ecsuite[translate]'"


def require_packages() -> None:
    """Refuse to begin where the end can't be reached.

    Raises:
        ConfigError: If transformers or sacrebleu are not installed.
    """
    try:
        import sacrebleu  # noqa: F401
        import transformers  # noqa: F401
    except ImportError:
        raise ConfigError(MISSING) from None


def build(preset: Preset, vocab_size: int) -> Any:
    """A new `BartForConditionalGeneration`, its weights N(0, 0.02) from torch's global generator.

    Args:
        preset: Sizes; what they leave open is as in transformers' `BartConfig`.
        vocab_size: Rows of the tied embedding; the last five are special.

    Raises:
        ConfigError: If transformers are not installed.
    """
    try:
        from transformers import BartConfig, BartForConditionalGeneration
    except ImportError:
        raise ConfigError(MISSING) from None
    special = Specials.of(vocab_size)
    config = BartConfig(
        vocab_size=vocab_size,
        d_model=preset.width,
        encoder_layers=preset.num_layers,
        decoder_layers=preset.num_layers,
        encoder_attention_heads=preset.num_heads,
        decoder_attention_heads=preset.num_heads,
        encoder_ffn_dim=preset.feed_forward,
        decoder_ffn_dim=preset.feed_forward,
        max_position_embeddings=preset.max_positions,
        dropout=preset.dropout,
        bos_token_id=special.start,
        eos_token_id=special.end,
        pad_token_id=special.pad,
        decoder_start_token_id=special.start,
        forced_eos_token_id=None,  # an end must be chosen, not put there when time is up
    )
    return BartForConditionalGeneration(config)


@torch.no_grad()
def with_new_embedding(model: Any, preset: Preset) -> Any:
    """The model with a new embedding of `preset.vocab_size` rows, all else as it was.

    Rows are uniform within 1 / sqrt(width), what the authors' program draws; positions keep what they learnt, there
    as here.
    """
    renewed = build(preset, preset.vocab_size)
    learnt = dict(model.named_parameters())
    for name, parameter in renewed.named_parameters():
        if name == EMBEDDING:
            bound = preset.width**-0.5
            nn.init.uniform_(parameter, -bound, bound)
        else:
            parameter.copy_(learnt[name])
    return renewed


def freeze(model: Any) -> None:
    """Leave only the embedding of symbols to be trained, for the setting `frozen`."""
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(name == EMBEDDING)


def num_trainable(model: Any) -> int:
    """Parameters that training changes, tied ones once."""
    return sum(parameter.numel() for parameter in model.parameters() if parameter.requires_grad)
