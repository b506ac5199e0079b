"""Heads: one linear layer on a body's states that says a label for each place, or where an answer begins and ends."""

from abc import ABC, abstractmethod

import torch
from torch import Tensor, nn
from torch.nn import functional

from ecsuite.eval.xtreme.rows import IGNORED

INIT_STD = 0.02
"""Of initial weights, as in BERT."""


class Head(nn.Module, ABC):
    """A linear layer.

    Args:
        width: Of the states.
        num_outputs: Numbers said about each place.
        generator: Draws the weights.
    """

    def __init__(self, width: int, num_outputs: int, generator: torch.Generator) -> None:
        super().__init__()
        self.linear = nn.Linear(width, num_outputs)
        with torch.no_grad():
            self.linear.weight.normal_(0, INIT_STD, generator=generator)
            self.linear.bias.zero_()

    def forward(self, states: Tensor) -> Tensor:
        """Scores (batch, length, num_outputs) of `states` (batch, length, width)."""
        scores: Tensor = self.linear(states)
        return scores

    @abstractmethod
    def loss(self, states: Tensor, mask: Tensor, targets: Tensor) -> Tensor:
        """How far from `targets` the head is, in nats a decision; `mask` (batch, length) tells what is padding."""


class LabelHead(Head):
    """A label for each place that has a target."""

    def loss(self, states: Tensor, mask: Tensor, targets: Tensor) -> Tensor:
        """Mean cross-entropy of `targets` (batch, length), but where they are `IGNORED`; 0 if all are."""
        wanted = targets != IGNORED
        total = functional.cross_entropy(self(states[wanted]), targets[wanted], reduction="sum")
        return total / wanted.sum().clamp(min=1)


class SpanHead(Head):
    """The first and the last place of a stretch: scores of beginning there, and of ending there.

    Args:
        width: Of the states.
        generator: Draws the weights.
    """

    def __init__(self, width: int, generator: torch.Generator) -> None:
        super().__init__(width, 2, generator)

    def loss(self, states: Tensor, mask: Tensor, targets: Tensor) -> Tensor:
        """Mean cross-entropy of both ends, `targets` (batch, 2), over the places that are there."""
        scores = self(states).masked_fill(~mask[..., None], -torch.inf)  # (batch, length, 2)
        return functional.cross_entropy(scores, targets)
