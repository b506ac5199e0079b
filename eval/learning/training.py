"""Batches of blocks and of sentence pairs, and the training loop for both."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ecsuite.config import DivergedError
from ecsuite.eval.learning.bart import Specials
from ecsuite.eval.learning.data import IGNORED
from ecsuite.eval.learning.infilling import infill

BATCHES_SORTED = 16
"""Number of batches within which pairs are sorted by length, to reduce padding."""

Advance = Callable[[int], None]
"""Progress callback, called after every step with its number of source tokens."""
Integers = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True, slots=True)
class Encoded:
    """Tokenised sentence pairs, each sentence with its end token."""

    sources: Sequence[NDArray[np.int64]]
    """Source sentences, each (length,)."""
    targets: Sequence[NDArray[np.int64]]
    """Target sentences, each (length,)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Batch:
    """Inputs and labels."""

    inputs: Tensor
    """Source tokens, int64, padded, shape (batch, source length)."""
    attended: Tensor
    """Attention mask: 0 where `inputs` is padding, otherwise 1, shape (batch, source length)."""
    labels: Tensor
    """Target tokens, `IGNORED` after their ends, shape (batch, target length)."""
    num_tokens: int
    """Source tokens without padding."""


def padded(rows: Sequence[Integers], fill: int) -> Integers:
    """Rows of different lengths as a padded array, shape (num_rows, longest)."""
    lengths = np.array([len(row) for row in rows])
    table = np.full((len(rows), lengths.max()), fill, dtype=np.int64)
    table[np.arange(table.shape[1]) < lengths[:, None]] = np.concatenate(rows)
    return table


def pair_batch(encoded: Encoded, index: Integers, special: Specials) -> Batch:
    """The batch of the pairs at `index`, shape (batch,)."""
    sources = [encoded.sources[i] for i in index]
    inputs = torch.from_numpy(padded(sources, special.pad))
    return Batch(
        inputs=inputs,
        attended=(inputs != special.pad).long(),
        labels=torch.from_numpy(padded([encoded.targets[i] for i in index], IGNORED)),
        num_tokens=sum(map(len, sources)),
    )


def pair_batches(
    encoded: Encoded, num_tokens: int, batch: int, special: Specials, rng: np.random.Generator
) -> Iterator[Batch]:
    """Batches in random order, over repeated epochs, until they have at least `num_tokens` source tokens."""
    lengths = np.array([len(row) for row in encoded.sources])
    num_seen = 0
    while True:
        order = rng.permutation(len(lengths))
        pools = np.array_split(order, range(batch * BATCHES_SORTED, len(order), batch * BATCHES_SORTED))
        chunks = []
        for pool in pools:
            by_length = pool[np.argsort(lengths[pool], kind="stable")]
            chunks += np.array_split(by_length, range(batch, len(by_length), batch))
        for number in rng.permutation(len(chunks)):
            batch_of_pairs = pair_batch(encoded, chunks[number], special)
            yield batch_of_pairs
            num_seen += batch_of_pairs.num_tokens
            if num_seen >= num_tokens:
                return


def block_batches(
    blocks: Integers, num_epochs: int, batch: int, special: Specials, rng: np.random.Generator
) -> Iterator[Batch]:
    """Blocks (num_blocks, block) in a new random order each epoch, with new noise; all symbols are labels."""
    for _ in range(num_epochs):
        order = rng.permutation(len(blocks))
        for index in np.array_split(order, range(batch, len(order), batch)):
            original = blocks[index]
            infilled = infill(original, mask=special.mask, pad=special.pad, rng=rng)
            attended = np.arange(infilled.symbols.shape[1]) < infilled.lengths[:, None]
            yield Batch(
                inputs=torch.from_numpy(infilled.symbols),
                attended=torch.from_numpy(attended.astype(np.int64)),
                labels=torch.from_numpy(original),
                num_tokens=original.size,
            )


def loss_of(model: Any, batch: Batch, precision: str) -> Tensor:
    """Mean cross-entropy of the labels that are not ignored, in nats per token."""
    device = next(model.parameters()).device
    with autocast(device, precision):
        loss: Tensor = model(
            input_ids=batch.inputs.to(device),
            attention_mask=batch.attended.to(device),
            labels=batch.labels.to(device),
            use_cache=False,
        ).loss
    return loss


def autocast(device: torch.device, precision: str) -> AbstractContextManager[Any]:
    """PyTorch's autocast for bf16 on CUDA; on CPU, `devices` selects the precision of products."""
    if device.type == "cuda" and precision == "bf16":
        return torch.autocast("cuda", dtype=torch.bfloat16)
    return nullcontext()


def schedule(done: float, warmup: float) -> float:
    """Learning rate relative to its maximum, when the fraction `done` of the training is done.

    Linear warm-up until the fraction `warmup`, then linear decay to 0. The warm-up starts at 0.01, as a step with a
    learning rate of 0 has no effect.
    """
    rise = 1.0 if warmup == 0 else min(1.0, 0.01 + done / warmup)
    return min(rise, max(0.0, (1 - done) / (1 - warmup)))


def train(
    model: Any,
    batches: Iterator[Batch],
    num_tokens: int,
    *,
    lr: float,
    warmup: float,
    weight_decay: float,
    precision: str,
    advance: Advance,
) -> None:
    """Train a model in place on `num_tokens` source tokens: AdamW, gradients clipped to norm 1.

    Args:
        model: The model.
        batches: Training batches.
        num_tokens: Source tokens of all batches.
        lr: Maximum learning rate.
        warmup: See `schedule`.
        weight_decay: Weight decay of AdamW, applied to matrices only.
        precision: bf16 or fp32.
        advance: Progress callback.

    Raises:
        DivergedError: If the loss is not finite; the weights are then those of the step before.
    """
    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    groups = [
        {"params": [each for each in parameters if each.dim() > 1], "weight_decay": weight_decay},
        {"params": [each for each in parameters if each.dim() <= 1], "weight_decay": 0.0},
    ]
    optimizer = torch.optim.AdamW([group for group in groups if group["params"]], lr=lr, fused=True)
    model.train()
    num_seen = 0
    for step, batch in enumerate(batches):
        for group in optimizer.param_groups:
            group["lr"] = lr * schedule(num_seen / num_tokens, warmup)
        loss = loss_of(model, batch, precision)
        if not torch.isfinite(loss):
            raise DivergedError(
                f"the loss is {loss.item()} at step {step + 1}, {num_seen} of {num_tokens} tokens"
            )
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(parameters, 1.0)
        optimizer.step()
        num_seen += batch.num_tokens
        advance(batch.num_tokens)


@torch.no_grad()
def cross_entropy(model: Any, encoded: Encoded, batch: int, special: Specials, precision: str) -> float:
    """Mean cross-entropy in nats of a target token, including end tokens, given the source and previous tokens."""
    model.eval()
    total = num_labels = 0.0
    for index in np.array_split(np.arange(len(encoded.sources)), range(batch, len(encoded.sources), batch)):
        batch_of_pairs = pair_batch(encoded, index, special)
        count = int((batch_of_pairs.labels != IGNORED).sum())
        total += loss_of(model, batch_of_pairs, precision).item() * count
        num_labels += count
    return total / num_labels
