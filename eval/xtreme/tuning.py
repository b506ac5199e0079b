"""Tuning: a body and a head learn a task's examples, and then say what they think of others."""

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from ecsuite.eval.learning.encoders import Backbone
from ecsuite.eval.learning.language_modelling import CHECK_EVERY, schedule
from ecsuite.eval.xtreme.heads import Head
from ecsuite.eval.xtreme.presets import Tuning
from ecsuite.eval.xtreme.rows import Rows

TEST_BATCH = 64
"""Rows that are looked at together."""


def tune(
    body: Backbone,
    head: Head,
    rows: Rows,
    tuning: Tuning,
    tuned: list[nn.Parameter],
    *,
    through_body: bool,
    generator: torch.Generator,
    report_progress: Callable[[float], None],
) -> None:
    """Train in place: AdamW, a warm-up, linear decay to 0, gradients clipped to norm 1.

    Args:
        body: Gives states.
        head: Makes scores of them.
        rows: Examples.
        tuning: Learning rate, passes and so on.
        tuned: The parameters to train, the head's among them.
        through_body: Whether some of them are the body's or its embedding's.
        generator: Draws the order of the rows.
        report_progress: Told the share that is done, after every update.

    Raises:
        ArithmeticError: If the loss is not finite.
    """
    device = head.linear.weight.device
    num_updates = tuning.epochs * len(rows.batches(tuning.batch))
    optimizer = torch.optim.AdamW(tuned, lr=tuning.lr, weight_decay=tuning.weight_decay, fused=True, eps=1e-8)
    body.train(through_body)
    # What does not change is looked at once.
    known = [] if through_body else states_of(body, rows, device)
    for update, index in enumerate(rows.shuffled(tuning.batch, tuning.epochs, generator)):
        optimizer.param_groups[0]["lr"] = tuning.lr * schedule(update, num_updates, tuning.warmup)
        ids, mask, targets = rows.take(index, device)
        if through_body:
            states = body.states(ids, mask)  # (batch, length, width)
        else:
            states = pad_sequence([known[row] for row in index], batch_first=True)
        loss = head.loss(states, mask, targets)
        if (update % CHECK_EVERY == 0 or update == num_updates - 1) and not torch.isfinite(loss):
            raise ArithmeticError(f"the loss is {loss.item()} at update {update + 1} of {num_updates}")
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(tuned, 1.0)
        optimizer.step()
        report_progress((update + 1) / num_updates)


@torch.no_grad()
def states_of(body: Backbone, rows: Rows, device: torch.device) -> list[Tensor]:
    """The states of each row, (length, width)."""
    body.eval()
    found: list[Tensor] = [torch.empty(0)] * len(rows)
    for index in rows.batches(TEST_BATCH):
        ids, mask, _ = rows.take(index, device)
        states = body.states(ids, mask)
        for place, row in enumerate(index):
            found[row] = states[place, : len(rows.ids[row])].clone()
    return found


@torch.no_grad()
def scores_of(body: Backbone, head: Head, rows: Rows) -> list[Tensor]:
    """What a head says about each row, (length, outputs), on the CPU."""
    return [head(states).float().cpu() for states in states_of(body, rows, head.linear.weight.device)]
