"""BART as in the paper, from Hugging Face transformers, which is imported only when a model is built."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import torch
from torch import Tensor, nn
from torch.nn.functional import dropout

from ecsuite.eval.learning.sizes import EncoderDecoderSizes
from ecsuite.runtime.errors import missing_extra

NUM_SPECIAL = 5
"""Special ids of a vocabulary."""
EMBEDDING = "model.shared.weight"
"""Name of the shared embedding of encoder, decoder and output layer."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Specials:
    """The last five ids of a vocabulary, in BART's order: `<s> </s> <unk> <pad> <mask>`.

    They are above all other symbols, so no symbol of a corpus is used as end token or as untrained padding.
    """

    start: int
    end: int
    pad: int
    mask: int

    @classmethod
    def of(cls, vocab_size: int) -> Self:
        """The special ids of a vocabulary. `<unk>` is unused, but the paper counts its row as parameters."""
        return cls(
            start=vocab_size - NUM_SPECIAL, end=vocab_size - 4, pad=vocab_size - 2, mask=vocab_size - 1
        )


def require_packages() -> None:
    """Check before the work starts that all packages are installed.

    Raises:
        ConfigError: If transformers or sacrebleu is not installed.
    """
    try:
        import sacrebleu  # noqa: F401
        import transformers  # noqa: F401
    except ImportError:
        raise missing_extra("translation needs transformers and sacrebleu", "translate") from None


def build(sizes: EncoderDecoderSizes, vocab_size: int) -> Any:
    """A new `BartForConditionalGeneration`, its weights N(0, 0.02) from torch's global generator.

    Args:
        sizes: Sizes of the model; other settings are the defaults of `BartConfig` in transformers.
        vocab_size: Rows of the tied embedding; the last five are special.
    """
    from transformers import BartConfig, BartForConditionalGeneration

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
        forced_eos_token_id=None,  # the model must predict the end; it is not forced at the maximum length
    )
    model = BartForConditionalGeneration(config)
    for stack in _stacks(model):  # the normalisation drops in the place of the stack; see `let_learn`
        stack.dropout = 0.0
        stack.layernorm_embedding.register_forward_hook(partial(_dropped, sizes.dropout))
    return model


def let_learn(model: Any) -> None:
    """Set a model to training, in which dropout is applied, but no layer is ever left out.

    Stacks in training draw, in some versions of transformers, a number on the CPU for every layer and look at it, even
    if all layers are kept: no graph of CUDA can be made of that, and results would differ between versions.
    """
    model.train()
    for stack in _stacks(model):
        stack.training = False  # only its own: its layers stay in training


def _stacks(model: Any) -> Sequence[Any]:
    """The encoder and the decoder."""
    return model.model.encoder, model.model.decoder


def _dropped(rate: float, norm: nn.Module, _: Any, states: Tensor) -> Tensor:
    """Embeddings after normalisation and dropout."""
    return dropout(states, rate, norm.training)


@torch.no_grad()
def with_new_embedding(model: Any, sizes: EncoderDecoderSizes) -> Any:
    """The model with a new embedding of `sizes.vocab_size` rows; all other weights are copied.

    The rows are uniform within ±1 / sqrt(width) and the position embeddings are kept, both as in the authors' program.
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
    """Freeze all parameters except the embedding of symbols, for the setting `frozen`."""
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(name == EMBEDDING)


def num_trainable(model: Any) -> int:
    """Number of trainable parameters; tied parameters count once."""
    return sum(parameter.numel() for parameter in model.parameters() if parameter.requires_grad)
