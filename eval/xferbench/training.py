"""Training and test of XferBench's language model."""

import math
from functools import partial

import torch
from torch import Tensor

from ecsuite.eval.models import training
from ecsuite.eval.models.data import Windows, shuffled
from ecsuite.eval.models.gpt2 import LanguageModel, compile_if_wide
from ecsuite.eval.models.training import NO_CALLBACKS, Callbacks, rate_by_share
from ecsuite.runtime.errors import DivergedError
from ecsuite.runtime.graphs import Outputs
from ecsuite.runtime.recording import Recorded


def train(
    model: LanguageModel,
    windows: Windows,
    *,
    num_epochs: int,
    batch: int,
    lr: float,
    weight_decay: float,
    generator: torch.Generator,
    callbacks: Callbacks = NO_CALLBACKS,
) -> str | None:
    """Train a model in place: AdamW, linear decay to 0, gradients clipped to norm 1; see `models.training.train`.

    Args:
        model: The model.
        windows: Training windows.
        num_epochs: Passes over the windows.
        batch: Batch size in windows.
        lr: Learning rate of the first update.
        weight_decay: Weight decay of AdamW.
        generator: Draws the order of the windows.
        callbacks: See `Callbacks`.

    Returns:
        Why the model was not compiled; None if it was, or is too small to gain by it.
    """
    device = model.positions.weight.device
    windows = windows.to(device)
    num_updates = num_epochs * -(-len(windows) // batch)
    model.train()
    everything = torch.arange(len(windows), device=device)
    not_compiled = compile_if_wide(
        model,
        model.positions.embedding_dim,
        device,
        [
            partial(_loss_of, model, windows, everything[:size])
            for size in {batch, len(windows) % batch or batch}
        ],
    )
    training.train(
        list(model.parameters()),
        lambda: shuffled(len(windows), batch, generator, device),
        lambda index: [index],
        partial(_loss_of, model, windows),
        total=num_updates,
        lr=lr,
        schedule=lambda update: rate_by_share(update / num_updates, 0.0),
        weight_decay=weight_decay,
        generators=[generator],
        is_compiled=model.compiled_loss is not None,
        callbacks=callbacks,
    )
    return not_compiled


def _loss_of(model: LanguageModel, windows: Windows, index: Tensor) -> Tensor:
    """The loss of some windows."""
    return model.loss(*windows.take(index))


@torch.no_grad()
def cross_entropy(model: LanguageModel, windows: Windows, batch: int) -> tuple[float, int]:
    """Mean cross-entropy in nats per token, and the number of scored tokens.

    Raises:
        DivergedError: If the cross-entropy is not finite.
    """
    device = model.positions.weight.device
    windows = windows.to(device)
    model.eval()
    losses, counts, recorded = [], [], Recorded()

    def scored(index: Tensor) -> Outputs:
        symbols, targets = windows.take(index)
        return {"loss": model.loss(symbols, targets), "count": (targets >= 0).sum()}, ()

    for index in torch.split(torch.arange(len(windows), device=device), batch):
        figures, _ = recorded(len(index), scored, [index]) if index.is_cuda else scored(index)
        losses.append(figures["loss"])
        counts.append(figures["count"])
    numbers = torch.stack(counts).tolist()
    # Summed in 64 bits on the CPU, since MPS has none.
    total = 0.0
    for loss, number in zip(torch.stack(losses).tolist(), numbers, strict=True):
        total += loss * number
    num_scored = sum(numbers)
    value = total / num_scored if num_scored else math.nan
    if not math.isfinite(value):
        raise DivergedError(f"the cross-entropy of the held-out text is {value}")
    return value, num_scored
