"""BART as the paper has it, from Hugging Face's transformers, which are loaded only when a model is built."""

from dataclasses import dataclass
from typing import Any, Self

import torch
from torch import nn

from ecsuite.config import ConfigError
from ecsuite.eval.learning.sizes import EncoderDecoderSizes

EMBEDDING = "model.shared.weight"
"""The one embedding: of the encoder, of the decoder and of the output."""
MISSING = "translation needs transformers and sacrebleu: pip install 'ecsuite[translate]'"


@dataclass(frozen=True, kw_only=True, slots=True)
class Specials:
    """The last five ids of a vocabulary, in BART's order: `<s> </s> <unk> <pad> <mask>`.

    They lie above all symbols, so that none of a corpus's symbols ends a sentence or goes untrained as padding.
    """

    start: int
    end: int
    pad: int
    mask: int

    @classmethod
    def of(cls, vocab_size: int) -> Self:
        """Those of a vocabulary; byte-level BPE needs no `<unk>`, but its row counts in the paper's parameters."""
        return cls(start=vocab_size - 5, end=vocab_size - 4, pad=vocab_size - 2, mask=vocab_size - 1)


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


def build(sizes: EncoderDecoderSizes, vocab_size: int) -> Any:
    """A new `BartForConditionalGeneration`, its weights N(0, 0.02) from torch's global generator.

    Args:
        sizes: Of the model; what they leave open is as in transformers' `BartConfig`.
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
        d_model=sizes.width,
        encoder_layers=sizes.num_layers,
        decoder_layers=sizes.num_layers,
        encoder_attention_heads=sizes.num_heads,
        decoder_attention_heads=sizes.num_heads,
        encoder_ffn_dim=sizes.feed_forward,
        decoder_ffn_dim=sizes.feed_forward,
        max_position_embeddings=sizes.max_positions,
        dropout=sizes.dropout,
        bos_token_id=special.start,
        eos_token_id=special.end,
        pad_token_id=special.pad,
        decoder_start_token_id=special.start,
        forced_eos_token_id=None,  # an end must be chosen, not put there when time is up
    )
    return BartForConditionalGeneration(config)


@torch.no_grad()
def with_new_embedding(model: Any, sizes: EncoderDecoderSizes) -> Any:
    """The model with a new embedding of `sizes.vocab_size` rows, all else as it was.

    Rows are uniform within 1 / sqrt(width), what the authors' program draws; positions keep what they learnt, there
    as here.
    """
    renewed = build(sizes, sizes.vocab_size)
    learnt = dict(model.named_parameters())
    for name, parameter in renewed.named_parameters():
        if name == EMBEDDING:
            bound = sizes.width**-0.5
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
