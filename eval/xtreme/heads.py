"""Heads: one linear layer on hidden states that classifies each position, or predicts the start and end of a span."""

from abc import ABC, abstractmethod

import torch
from torch import Tensor, nn
from torch.nn import functional

from ecsuite.eval.xtreme.rows import IGNORED
from ecsuite.runtime.devices import sent

INIT_STD = 0.02
"""Standard deviation of the initial weights, as in BERT."""


class Head(nn.Module, ABC):
    """A linear layer on hidden states.

    Args:
        width: Width of the states.
        num_outputs: Logits per position.
        generator: Draws the initial weights.
    """

    def __init__(self, width: int, num_outputs: int, generator: torch.Generator) -> None:
        super().__init__()
        self.linear = nn.Linear(width, num_outputs)
        with torch.no_grad():
            self.linear.weight.normal_(0, INIT_STD, generator=generator)
            self.linear.bias.zero_()

    def forward(self, states: Tensor) -> Tensor:
        """Logits (batch, length, num_outputs) of `states` (batch, length, width)."""
        logits: Tensor = self.linear(states)
        return logits

    @abstractmethod
    def loss(self, states: Tensor, mask: Tensor, targets: Tensor) -> Tensor:
        """Mean cross-entropy in nats per target.

        Args:
            states: Hidden states, (batch, length, width).
            mask: False at padding, (batch, length).
            targets: On the CPU, so that a device is not waited for, or on CUDA.
        """


class LabelHead(Head):
    """Classifies each position that has a target."""

    def loss(self, states: Tensor, mask: Tensor, targets: Tensor) -> Tensor:
        """Mean cross-entropy of `targets` (batch, length) that are not `IGNORED`; 0 if there are none."""
        labels = targets.flatten()
        if labels.is_cuda:  # all positions, so that the number of those with a target is nowhere a shape
            total = functional.cross_entropy(
                self(states).flatten(0, 1), labels, ignore_index=IGNORED, reduction="sum"
            )
            return total / (labels != IGNORED).sum().clamp(min=1)
        places = (labels != IGNORED).nonzero()[:, 0]
        chosen = states.flatten(0, 1)[sent(places, states.device)]
        total = functional.cross_entropy(self(chosen), sent(labels[places], states.device), reduction="sum")
        return total / max(1, len(places))


class SpanHead(Head):
    """Start and end of a span: two logits per position."""

    def loss(self, states: Tensor, mask: Tensor, targets: Tensor) -> Tensor:
        """Mean cross-entropy of start and end, `targets` (batch, 2), over the positions that are not padding."""
        logits = self(states).masked_fill(~mask[..., None], -torch.inf)  # (batch, length, 2)
        return functional.cross_entropy(logits, sent(targets, states.device))
