"""Lessons: a batch to learn from, what a pupil is, and gradients that were found by hand.

Tensors are (replicas, features, batch): many replicas of one small agent learn side by side.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor

from ecsuite.eval.icy.fast.recurrent_kernels import Parameters


class SupervisedBatch:
    """One batch to learn from, and how well it was known.

    Args:
        meanings: Attribute values, (replicas, attributes, batch).
        messages: The right symbols, (length, replicas, batch), ids of at least 1.
        num_values: Values of each attribute.
        num_symbols: Width of the scores, EOS included.
    """

    def __init__(self, meanings: Tensor, messages: Tensor, num_values: int, num_symbols: int) -> None:
        replicas, num_attributes, batch = meanings.shape
        self.meanings = meanings
        places = meanings + torch.arange(num_attributes, device=meanings.device)[:, None] * num_values
        features = torch.zeros(replicas, num_attributes * num_values, batch, device=meanings.device)
        self.features = features.scatter_(1, places, 1.0)  # (replicas, attributes * values, batch)
        self.messages = messages[:, :, None, :]  # (length, replicas, 1, batch)
        self.num_symbols = num_symbols
        self.share = 1 / (len(messages) * batch)
        """What one symbol weighs in its replica's mean."""
        self.accuracy = torch.zeros(replicas, device=meanings.device)
        """Share of right symbols of each replica, (replicas,); set by `cross_entropy`."""

    def cross_entropy(self, probabilities: Tensor) -> Tensor:
        """Note how many symbols are the likeliest, and give the sum over replicas of the mean cross-entropy in nats.

        Args:
            probabilities: (length, replicas, num_symbols, batch).
        """
        chosen = probabilities.gather(2, self.messages)
        self.accuracy = (chosen >= probabilities.amax(2, keepdim=True)).sum((0, 2, 3)) * self.share
        return -chosen.clamp_min(torch.finfo(torch.float32).tiny).log().sum() * self.share

    def targets(self) -> Tensor:
        """`share` at the right symbols, zero elsewhere, (length, replicas, num_symbols, batch)."""
        length, replicas, _, batch = self.messages.shape
        hot = torch.zeros(length, replicas, self.num_symbols, batch, device=self.messages.device)
        return hot.scatter_(2, self.messages, self.share)


class Learner(ABC):
    """How one kind of agent learns from a lesson."""

    @abstractmethod
    def loss(self, parameters: Parameters, examples: SupervisedBatch) -> Tensor:
        """The sum over replicas of the mean cross-entropy, differentiable in the parameters; sets `examples.accuracy`."""


class FusedSenderTrainer(Learner):
    """A pupil whose gradients are written out."""

    @abstractmethod
    def run(
        self,
        examples: SupervisedBatch,
        start: Tensor,
        groups: list[list[Tensor]],
        gradients: list[list[Tensor]],
    ) -> tuple[Tensor, Tensor | None]:
        """Speak, and learn.

        Args:
            examples: What to say.
            start: What the meanings are perceived as, (replicas, features, batch).
            groups: Matrices by group: first those that are read out, then those of each layer.
            gradients: Zeros like them; the gradients are added in place.

        Returns:
            The loss, and the gradient of `start`, None if it needs none.
        """

    def head(self, parameters: Parameters) -> list[Tensor]:
        """Weight and bias, (replicas, rows, 1), of the scores."""
        return [parameters["scores.weight"], parameters["scores.bias"].unsqueeze(-1)]


def fused_loss(
    trainer: FusedSenderTrainer, examples: SupervisedBatch, start: Tensor, groups: list[list[Tensor]]
) -> Tensor:
    """The loss that `FusedSenderTrainer.run` finds, with its gradients, for autograd to go on with."""
    sizes = [len(group) for group in groups]
    loss: Tensor = _fused_loss(trainer, examples, sizes, start, *(m for group in groups for m in group))
    return loss


class _FusedLoss(torch.autograd.Function):
    """Runs an `FusedSenderTrainer`, which finds all gradients on the way; backward hands them on."""

    @staticmethod
    def forward(
        ctx: Any,
        trainer: FusedSenderTrainer,
        examples: SupervisedBatch,
        sizes: list[int],
        start: Tensor,
        *matrices: Tensor,
    ) -> Tensor:
        gradients = [torch.zeros_like(matrix) for matrix in matrices]
        loss, to_start = trainer.run(examples, start, grouped(matrices, sizes), grouped(gradients, sizes))
        ctx.gradients = [to_start, *gradients]
        return loss

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        # The loss is what is minimised, so its own gradient is 1.
        return None, None, None, *ctx.gradients


_fused_loss: Any = _FusedLoss.apply


def grouped(flat: Iterable[Tensor], sizes: list[int]) -> list[list[Tensor]]:
    """Tensors in groups of these sizes."""
    iterator = iter(flat)
    return [[next(iterator) for _ in range(size)] for size in sizes]
