"""Training and test of XferBench's language model."""

import math

import torch

from ecsuite.config import DivergedError
from ecsuite.eval.learning import training
from ecsuite.eval.learning.data import Windows, shuffled
from ecsuite.eval.learning.gpt2 import LanguageModel
from ecsuite.eval.learning.training import UNFOLLOWED, Followed, compile_if_wide, rate_by_share


def train(
    model: LanguageModel,
    windows: Windows,
    *,
    num_epochs: int,
    batch: int,
    lr: float,
    weight_decay: float,
    generator: torch.Generator,
    followed: Followed = UNFOLLOWED,
) -> None:
    """Train a model in place: AdamW, linear decay to 0, gradients clipped to norm 1; see `learning.training.train`.

    Args:
        model: The model.
        windows: Training windows.
        num_epochs: Passes over the windows.
        batch: Batch size in windows.
        lr: Learning rate of the first update.
        weight_decay: Weight decay of AdamW.
        generator: Draws the order of the windows.
        followed: See `Followed`.
    """
    device = model.positions.weight.device
    windows = windows.to(device)
    num_updates = num_epochs * -(-len(windows) // batch)
    compile_if_wide(model, model.positions.embedding_dim, device)
    model.train()
    training.train(
        list(model.parameters()),
        lambda: shuffled(len(windows), batch, generator),
        lambda index: model.loss(*windows.take(index.to(device))),
        total=num_updates,
        lr=lr,
        schedule=lambda update: rate_by_share(update / num_updates, 0.0),
        weight_decay=weight_decay,
        generators=[generator],
        followed=followed,
    )


@torch.no_grad()
def cross_entropy(model: LanguageModel, windows: Windows, batch: int) -> tuple[float, int]:
    """Mean cross-entropy in nats per token, and the number of scored tokens.

    Raises:
        DivergedError: If the cross-entropy is not finite.
    """
    device = model.positions.weight.device
    windows = windows.to(device)
    total = torch.zeros((), dtype=torch.float64, device=device)
    num_scored = torch.zeros((), dtype=torch.int64, device=device)
    model.eval()
    for index in torch.split(torch.arange(len(windows), device=device), batch):
        symbols, targets = windows.take(index)
        num_here = (targets >= 0).sum()
        total += model.loss(symbols, targets).double() * num_here
        num_scored += num_here
    value = (total / num_scored).item()
    if not math.isfinite(value):
        raise DivergedError(f"the cross-entropy of the held-out text is {value}")
    return value, int(num_scored)
