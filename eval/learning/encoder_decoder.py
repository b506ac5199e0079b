"""Encoder-decoder models: batches of blocks and of sentence pairs, loss, training and test."""

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import pad

from ecsuite.eval.learning.bart import Specials, let_learn
from ecsuite.eval.learning.data import IGNORED
from ecsuite.eval.learning.infilling import infill
from ecsuite.eval.learning.training import UNFOLLOWED, Followed, bucketed, rate_by_share, train
from ecsuite.runtime.devices import sent

BATCHES_SORTED = 16
"""Number of batches within which pairs are sorted by length, to reduce padding."""

Integers = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True, slots=True)
class Encoded:
    """Tokenised sentence pairs, each sentence with its end token."""

    sources: list[Integers]
    """Source sentences, each (length,)."""
    targets: list[Integers]
    """Target sentences, each (length,)."""


Batch = dict[str, Tensor]
"""Arguments of a model, each int64: `input_ids` (batch, source length), padded; `attention_mask`, the same shape, 0 at
padding, else 1; `labels` (batch, target length), `IGNORED` after their ends. On CUDA, see `on_cuda`."""
NAMES = ("input_ids", "attention_mask", "labels", "decoder_attention_mask", "decoder_input_ids")


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
        """The numbers of the pairs of each batch, every pair once, in random order."""
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
    """Batches of blocks with noise that is drawn when a batch is taken; all symbols are labels.

    Args:
        blocks: Symbols, shape (num_blocks, block).
        batch: Blocks per batch.
        special: Ids of special tokens.
        rng: Draws the order and the noise.
    """

    def __init__(self, blocks: Integers, batch: int, special: Specials, rng: np.random.Generator) -> None:
        self.blocks, self.batch, self.special, self.rng = blocks, batch, special, rng

    def draw_epoch(self) -> list[Integers]:
        """The numbers of the blocks of each batch, every block once, in random order."""
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
    """A batch on CUDA, padded up to a length `most` such that there are few shapes; see `bucketed`.

    Its masks have four dimensions, as for others models look whether anything is padded, and wait for the device. It
    has what the decoder reads, which models would make with a number of the CPU.
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
    followed: Followed = UNFOLLOWED,
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
        followed: See `Followed`.
    """
    let_learn(model)
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
        followed=followed,
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
