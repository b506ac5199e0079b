"""Fine-tuning: train a head, and optionally the backbone, on a task; compute logits of other examples."""

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from ecsuite.config import DivergedError
from ecsuite.eval.learning.encoders import Backbone
from ecsuite.eval.learning.language_modelling import CHECK_EVERY, schedule
from ecsuite.eval.xtreme.heads import Head
from ecsuite.eval.xtreme.presets import Tuning
from ecsuite.eval.xtreme.rows import Rows

TEST_BATCH = 64
"""Rows per batch at evaluation."""


def finetune(
    backbone: Backbone,
    head: Head,
    rows: Rows,
    tuning: Tuning,
    parameters: list[nn.Parameter],
    *,
    trains_backbone: bool,
    generator: torch.Generator,
    report_progress: Callable[[float], None],
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
        report_progress: Called after every update with the share that is done, 0 to 1.

    Raises:
        DivergedError: If the loss is not finite.
    """
    device = head.linear.weight.device
    num_updates = tuning.epochs * len(rows.batches(tuning.batch))
    optimizer = torch.optim.AdamW(
        parameters, lr=tuning.lr, weight_decay=tuning.weight_decay, fused=True, eps=1e-8
    )
    backbone.train(trains_backbone)
    # States of a frozen backbone are computed once.
    cached_states = [] if trains_backbone else states_of(backbone, rows, device)
    for update, index in enumerate(rows.shuffled(tuning.batch, tuning.epochs, generator)):
        optimizer.param_groups[0]["lr"] = tuning.lr * schedule(update, num_updates, tuning.warmup)
        ids, mask, targets = rows.take(index, device)
        if trains_backbone:
            states = backbone.states(ids, mask)  # (batch, length, width)
        else:
            states = pad_sequence([cached_states[row] for row in index], batch_first=True)
        loss = head.loss(states, mask, targets)
        if (update % CHECK_EVERY == 0 or update == num_updates - 1) and not torch.isfinite(loss):
            raise DivergedError(f"the loss is {loss.item()} at update {update + 1} of {num_updates}")
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(parameters, 1.0)
        optimizer.step()
        report_progress((update + 1) / num_updates)


@torch.no_grad()
def states_of(backbone: Backbone, rows: Rows, device: torch.device) -> list[Tensor]:
    """Hidden states of each row, (length, width), without gradients."""
    backbone.eval()
    states_by_row: list[Tensor] = [torch.empty(0)] * len(rows)
    for index in rows.batches(TEST_BATCH):
        ids, mask, _ = rows.take(index, device)
        states = backbone.states(ids, mask)
        for place, row in enumerate(index):
            states_by_row[row] = states[place, : len(rows.ids[row])].clone()
    return states_by_row


@torch.no_grad()
def logits_of(backbone: Backbone, head: Head, rows: Rows) -> list[Tensor]:
    """Logits of each row, (length, outputs), on the CPU, without gradients."""
    return [head(states).float().cpu() for states in states_of(backbone, rows, head.linear.weight.device)]
