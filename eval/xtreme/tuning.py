"""Fine-tuning: train a head, and optionally the backbone, on a task; compute logits of other examples."""

import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import pad
from torch.nn.utils.rnn import pad_sequence

from ecsuite.eval.models.backbones import Backbone
from ecsuite.eval.models.training import NO_CALLBACKS, Callbacks, rate_by_update, train
from ecsuite.eval.xtreme.heads import Head
from ecsuite.eval.xtreme.presets import Tuning
from ecsuite.eval.xtreme.rows import Rows
from ecsuite.files.disk_space import require_space

TEST_BATCH = 64
"""Rows per batch at evaluation."""
MOST_IN_MEMORY = 2**30
"""Most bytes of states of a frozen backbone that are held on the device."""


def finetune(
    backbone: Backbone,
    head: Head,
    rows: Rows,
    tuning: Tuning,
    parameters: list[nn.Parameter],
    *,
    trains_backbone: bool,
    generator: torch.Generator,
    callbacks: Callbacks = NO_CALLBACKS,
) -> None:
    """Train in place: AdamW, a warm-up, linear decay to 0, gradients clipped to norm 1.

    Args:
        backbone: Computes hidden states.
        head: Computes logits from the states.
        rows: Training examples.
        tuning: Learning rate, epochs and so on.
        parameters: The parameters to train, including those of the head.
        trains_backbone: Whether some of them are parameters of the backbone or its embedding.
        generator: Draws the order of the rows.
        callbacks: Who is told, where the state is saved, and when to stop.

    Raises:
        ConfigError: If the states of a frozen backbone fit neither in memory nor on the disk.
        DivergedError: If the loss or the final weights are not finite.
        Stopped: If the training was asked to stop.
    """
    device = head.linear.weight.device
    num_updates = tuning.epochs * len(rows.batches(tuning.batch))
    backbone.train(trains_backbone)
    frozen = None if trains_backbone else _frozen_states(backbone, rows, device, callbacks)

    def inputs_of(index: list[int]) -> Sequence[Tensor]:
        ids, mask, targets = rows.take(index, device, backbone.context)
        if frozen is None:
            return ids, mask, targets
        states = pad_sequence([frozen(row) for row in index], batch_first=True)  # (batch, length, width)
        return pad(states, (0, 0, 0, ids.shape[1] - states.shape[1])), mask, targets

    def loss_of(given: Tensor, mask: Tensor, targets: Tensor) -> Tensor:
        return head.loss(backbone.states(given, mask) if frozen is None else given, mask, targets)

    train(
        parameters,
        lambda: rows.shuffled(tuning.batch, generator),
        inputs_of,
        loss_of,
        total=num_updates,
        lr=tuning.lr,
        schedule=lambda update: rate_by_update(update, num_updates, tuning.warmup),
        weight_decay=tuning.weight_decay,
        generators=[generator],
        callbacks=callbacks,
    )


def _frozen_states(
    backbone: Backbone, rows: Rows, device: torch.device, callbacks: Callbacks
) -> Callable[[int], Tensor]:
    """The states (length, width) of a row, by its number; of a backbone that is not trained, computed once.

    They are the same whether they are in memory or in a file, which goes with the process.
    """
    num_bytes = 4 * rows.num_tokens * backbone.width
    if num_bytes <= MOST_IN_MEMORY:
        return {row: states.clone() for row, states in states_of(backbone, rows, device)}.__getitem__
    folder = Path(tempfile.gettempdir()) if callbacks.checkpoint is None else callbacks.checkpoint.file.parent
    require_space(num_bytes, folder, "for the states of the training examples")
    folder.mkdir(parents=True, exist_ok=True)
    starts: dict[int, int] = {}
    with tempfile.TemporaryFile(dir=folder) as file:
        for row, states in states_of(backbone, rows, device):
            starts[row] = file.tell() // (4 * backbone.width)
            file.write(states.cpu().numpy().tobytes())
        file.flush()
        # Copied on write, as a tensor may be written to; the mapping outlives the file's name.
        kept = np.memmap(file, np.float32, "c", shape=(rows.num_tokens, backbone.width))
    return lambda row: torch.from_numpy(kept[starts[row] :][: len(rows.ids[row])]).to(device)


@torch.no_grad()
def states_of(backbone: Backbone, rows: Rows, device: torch.device) -> Iterator[tuple[int, Tensor]]:
    """Number and hidden states (length, width) of each row, without gradients; computed a batch at a time."""
    backbone.eval()
    for index in rows.batches(TEST_BATCH):
        ids, mask, _ = rows.take(index, device)
        states = backbone.states(ids, mask)
        for place, row in enumerate(index):
            yield row, states[place, : len(rows.ids[row])]


@torch.no_grad()
def logits_of(backbone: Backbone, head: Head, rows: Rows) -> Sequence[Tensor]:
    """Logits of each row, (length, outputs), on the CPU, without gradients.

    The states of one batch are in memory at a time. The head is applied row by row, so that the size of the batch does
    not change how its products are rounded.
    """
    device = head.linear.weight.device
    logits_by_row = {row: head(states).float().cpu() for row, states in states_of(backbone, rows, device)}
    return [logits_by_row[row] for row in range(len(rows))]
