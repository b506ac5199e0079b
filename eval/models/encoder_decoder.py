"""Encoder-decoder models: BART, its text infilling, batches of blocks and of sentence pairs, training and test.

BART is from Hugging Face transformers, which is imported only when a model is built. Text infilling replaces each
masked span of a text by one mask token (Lewis et al. 2020, section 2.2): 30 % of the symbols are masked, in spans with
lengths from Poisson(3); a span of length 0 inserts a mask without removing a symbol.
"""

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import dropout, pad

from ecsuite.eval.models import EncoderDecoderSizes
from ecsuite.eval.models.data import IGNORED
from ecsuite.eval.models.training import NO_CALLBACKS, Callbacks, bucketed, rate_by_share, train
from ecsuite.runtime.devices import sent
from ecsuite.runtime.errors import missing_extra

NUM_SPECIAL = 5
"""Special ids of a vocabulary."""
EMBEDDING = "model.shared.weight"
"""Name of the shared embedding of encoder, decoder and output layer."""
MASK_RATIO = 0.3
MEAN_SPAN = 3.0
BATCHES_SORTED = 16
"""Number of batches within which pairs are sorted by length, to reduce padding."""

Integers = NDArray[np.int64]

Batch = dict[str, Tensor]
"""Arguments of a model, each int64: `input_ids` (batch, source length), padded; `attention_mask`, the same shape, 0 at
padding, else 1; `labels` (batch, target length), `IGNORED` after their ends. On CUDA, see `on_cuda`."""
NAMES = ("input_ids", "attention_mask", "labels", "decoder_attention_mask", "decoder_input_ids")


@dataclass(frozen=True, kw_only=True, slots=True)
class Specials:
    """The last five ids of a vocabulary, in BART's order: `<s> </s> <unk> <pad> <mask>`.

    They are above all other ids, so that no symbol of a corpus serves as end token or as untrained padding.
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
        forced_eos_token_id=None,  # the model must predict the end itself
    )
    model = BartForConditionalGeneration(config)
    for stack in _stacks(model):  # dropout follows the normalisation instead; see `set_training`
        stack.dropout = 0.0
        stack.layernorm_embedding.register_forward_hook(partial(_normalised_dropout, sizes.dropout))
    return model


def set_training(model: Any) -> None:
    """Set a model to training mode, with dropout but without layer dropout.

    In some versions of transformers, stacks in training mode draw a number on the CPU for every layer even without
    layer dropout, which prevents CUDA graphs and makes results depend on the version.
    """
    model.train()
    for stack in _stacks(model):
        stack.training = False  # its layers stay in training mode


def _stacks(model: Any) -> Sequence[Any]:
    return model.model.encoder, model.model.decoder


def _normalised_dropout(rate: float, norm: nn.Module, _: Any, states: Tensor) -> Tensor:
    return dropout(states, rate, norm.training)


@torch.no_grad()
def with_new_embedding(model: Any, sizes: EncoderDecoderSizes) -> Any:
    """The model with a new embedding of `sizes.vocab_size` rows; all other weights are copied.

    The rows are uniform within ±1 / sqrt(width) and position embeddings do not change, as in the authors' program.
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


def infill(blocks: Integers, *, mask: int, pad: int, rng: np.random.Generator) -> tuple[Integers, Integers]:
    """Mask spans of blocks, the same number of symbols in each block.

    A block is a sequence of slots in random order: one for each remaining symbol and one for each span. So all
    placements of the spans are equally likely, and spans cannot overlap.

    Args:
        blocks: Symbols, shape (batch, block).
        mask: Id of the mask token.
        pad: Id of the padding token.
        rng: Draws the spans and their positions.

    Returns:
        The remaining symbols and one mask per span, with padding at the end, shape (batch, longest); and the lengths
        of the rows without padding, shape (batch,).
    """
    batch, block = blocks.shape
    num_masked = round(MASK_RATIO * block)
    spans = span_lengths(batch, num_masked, rng)  # (batch, num_masked), -1 where there is no span
    num_kept = block - num_masked
    order = rng.random((batch, num_kept + num_masked)).argsort(1)
    slots = np.concatenate([np.ones((batch, num_kept), dtype=np.int64), spans], 1)
    # (batch, block): number of symbols of the text in each slot
    lengths = np.take_along_axis(slots, order, 1)
    is_span = order >= num_kept
    is_used = lengths >= 0
    lengths = np.where(is_used, lengths, 0)
    ends = lengths.cumsum(1)
    begins = ends - lengths
    # A slot of length 0 may begin at the end of the text; it becomes a mask, so the value read is not used.
    read_symbols = np.take_along_axis(blocks, np.minimum(begins, block - 1), 1)
    filled = np.where(is_span, mask, read_symbols)
    to_front = np.argsort(~is_used, 1, kind="stable")
    num_used = is_used.sum(1)
    longest = int(num_used.max(initial=0))
    symbols = np.take_along_axis(np.where(is_used, filled, pad), to_front, 1)[:, :longest]
    return symbols, num_used


def span_lengths(batch: int, num_masked: int, rng: np.random.Generator) -> Integers:
    """Lengths of spans that sum to `num_masked` symbols in each row; the last span is cut to fit.

    Returns:
        Lengths, shape (batch, num_masked); rows with fewer spans are padded with -1.
    """
    lengths = rng.poisson(MEAN_SPAN, (batch, num_masked)).astype(np.int64)
    if num_masked == 0:
        return lengths
    lengths[:, -1] = num_masked  # a row of very short spans ends with a long one
    before = lengths.cumsum(1) - lengths
    return np.where(before < num_masked, np.minimum(lengths, num_masked - before), -1)


@dataclass(frozen=True, kw_only=True, slots=True)
class Encoded:
    """Tokenised sentence pairs, each sentence with its end token."""

    sources: list[Integers]
    """Source sentences, each (length,)."""
    targets: list[Integers]
    """Target sentences, each (length,)."""


def padded(rows: Sequence[Integers], fill: int) -> Integers:
    """Rows of different lengths as a padded array, shape (num_rows, longest)."""
    lengths = np.array([len(row) for row in rows])
    table = np.full((len(rows), lengths.max()), fill, dtype=np.int64)
    table[np.arange(table.shape[1]) < lengths[:, None]] = np.concatenate(rows)
    return table


def pair_batch(encoded: Encoded, index: Integers, special: Specials) -> Batch:
    """The batch of the pairs at `index`, shape (batch,)."""
    inputs = torch.from_numpy(padded([encoded.sources[i] for i in index], special.pad))
    return {
        "input_ids": inputs,
        "attention_mask": (inputs != special.pad).long(),
        "labels": torch.from_numpy(padded([encoded.targets[i] for i in index], IGNORED)),
    }


class PairBatches:
    """Batches of sentence pairs of similar length.

    Args:
        encoded: The pairs.
        batch: Pairs per batch.
        special: Ids of special tokens.
        rng: Draws the order.
    """

    def __init__(self, encoded: Encoded, batch: int, special: Specials, rng: np.random.Generator) -> None:
        self.encoded, self.batch, self.special, self.rng = encoded, batch, special, rng
        self._lengths = np.array([len(row) for row in encoded.sources])

    def draw_epoch(self) -> list[Integers]:
        """Indices of the pairs of each batch, every pair once, in random order."""
        order = self.rng.permutation(len(self._lengths))
        pool_size = self.batch * BATCHES_SORTED
        chunks = []
        for pool in np.array_split(order, range(pool_size, len(order), pool_size)):
            by_length = pool[np.argsort(self._lengths[pool], kind="stable")]
            chunks += np.array_split(by_length, range(self.batch, len(by_length), self.batch))
        return [chunks[number] for number in self.rng.permutation(len(chunks))]

    def num_tokens(self, index: Integers) -> int:
        """Source tokens of a batch."""
        num_tokens: int = self._lengths[index].sum().item()
        return num_tokens

    def take(self, index: Integers) -> Batch:
        """A batch."""
        return pair_batch(self.encoded, index, self.special)


class BlockBatches:
    """Batches of blocks with new noise for each batch; all symbols are labels.

    Args:
        blocks: Symbols, shape (num_blocks, block).
        batch: Blocks per batch.
        special: Ids of special tokens.
        rng: Draws the order and the noise.
    """

    def __init__(self, blocks: Integers, batch: int, special: Specials, rng: np.random.Generator) -> None:
        self.blocks, self.batch, self.special, self.rng = blocks, batch, special, rng

    def draw_epoch(self) -> list[Integers]:
        """Indices of the blocks of each batch, every block once, in random order."""
        order = self.rng.permutation(len(self.blocks))
        return np.array_split(order, range(self.batch, len(order), self.batch))

    def num_tokens(self, index: Integers) -> int:
        """Symbols of a batch without noise."""
        return len(index) * int(self.blocks.shape[1])

    def take(self, index: Integers) -> Batch:
        """A batch with new noise."""
        original = self.blocks[index]
        symbols, lengths = infill(original, mask=self.special.mask, pad=self.special.pad, rng=self.rng)
        attended = np.arange(symbols.shape[1]) < lengths[:, None]
        return {
            "input_ids": torch.from_numpy(symbols),
            "attention_mask": torch.from_numpy(attended.astype(np.int64)),
            "labels": torch.from_numpy(original),
        }


def loss_of(model: Any, batch: Batch, precision: str) -> Tensor:
    """Mean cross-entropy of the labels that are not ignored, in nats per token."""
    device = next(model.parameters()).device
    with autocast(device, precision):
        loss: Tensor = model(
            **{name: sent(each, device) for name, each in batch.items()}, use_cache=False
        ).loss
    return loss


def on_cuda(batch: Batch, special: Specials, device: torch.device, most: int) -> Batch:
    """A batch on CUDA, padded to at most `most` so that there are few different shapes; see `bucketed`.

    Masks have four dimensions: for other masks, models check for padding, which waits for the device. The decoder's
    inputs are included, since models would build them with a number from the CPU.
    """
    longer = {}
    for name, fill in (("input_ids", special.pad), ("attention_mask", 0), ("labels", IGNORED)):
        length = batch[name].shape[1]
        longer[name] = pad(batch[name], (0, bucketed(length, most, device) - length), value=fill)
    before = longer["labels"][:, :-1]
    longer["attention_mask"] = longer["attention_mask"].bool()[:, None, None]
    length = before.shape[1] + 1
    longer["decoder_attention_mask"] = torch.ones(length, length, dtype=torch.bool).tril()[None, None]
    given = pad(before.masked_fill(before == IGNORED, special.pad), (1, 0), value=special.start)
    longer["decoder_input_ids"] = given
    return {name: sent(each, device) for name, each in longer.items()}


def autocast(device: torch.device, precision: str) -> AbstractContextManager[Any]:
    """PyTorch's autocast for bf16 on CUDA; on CPU, `devices` selects the precision of products."""
    if device.type == "cuda" and precision == "bf16":
        return torch.autocast("cuda", dtype=torch.bfloat16)
    return nullcontext()


def train_encoder_decoder(
    model: Any,
    data: PairBatches | BlockBatches,
    num_tokens: int,
    *,
    lr: float,
    warmup: float,
    weight_decay: float,
    precision: str,
    callbacks: Callbacks = NO_CALLBACKS,
) -> None:
    """Train a model in place, until its batches have at least `num_tokens` source tokens; see `training.train`.

    Args:
        model: The model.
        data: Training batches.
        num_tokens: Source tokens.
        lr: Maximum learning rate.
        warmup: See `rate_by_share`.
        weight_decay: Weight decay of AdamW, applied to matrices only.
        precision: bf16 or fp32.
        callbacks: See `Callbacks`.
    """
    set_training(model)
    device = next(model.parameters()).device

    def inputs_of(index: Integers) -> Sequence[Tensor]:
        batch = data.take(index)
        if device.type == "cuda":
            batch = on_cuda(batch, data.special, device, model.config.max_position_embeddings)
        return [batch[name] for name in NAMES if name in batch]

    train(
        [parameter for parameter in model.parameters() if parameter.requires_grad],
        data.draw_epoch,
        inputs_of,
        lambda *inputs: loss_of(model, dict(zip(NAMES, inputs, strict=False)), precision),
        total=num_tokens,
        lr=lr,
        schedule=lambda seen: rate_by_share(seen / num_tokens, warmup),
        weight_decay=weight_decay,
        generators=[data.rng],
        size_of=data.num_tokens,
        decays_vectors=False,
        callbacks=callbacks,
    )


@torch.no_grad()
def cross_entropy(model: Any, encoded: Encoded, batch: int, special: Specials, precision: str) -> float:
    """Mean cross-entropy in nats of a target token, including end tokens, given the source and previous tokens."""
    model.eval()
    total = num_labels = 0.0
    for index in np.array_split(np.arange(len(encoded.sources)), range(batch, len(encoded.sources), batch)):
        batch_of_pairs = pair_batch(encoded, index, special)
        count = int((batch_of_pairs["labels"] != IGNORED).sum())
        total += loss_of(model, batch_of_pairs, precision).item() * count
        num_labels += count
    return total / num_labels
