"""Supervised batches, and the interface of learners and of fused senders with manually derived gradients.

Tensors are (replicas, features, batch): many replicas of one small agent are trained at once.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor

from ecsuite.agents.linear import first_derivative_only
from ecsuite.eval.icy.fast.recurrent_kernels import Groups, Matrices, Parameters


class SupervisedBatch:
    """One batch of meanings and target messages, and the accuracy of each replica on it.

    Args:
        meanings: Attribute values, (replicas, attributes, batch).
        messages: The target symbols, (length, replicas, batch), ids of at least 1.
        num_values: Number of values of each attribute.
        num_symbols: Width of the logits, including EOS.
    """

    def __init__(self, meanings: Tensor, messages: Tensor, num_values: int, num_symbols: int) -> None:
        replicas, num_attributes, batch = meanings.shape
        self.meanings = meanings
        indices = meanings + torch.arange(num_attributes, device=meanings.device)[:, None] * num_values
        features = torch.zeros(replicas, num_attributes * num_values, batch, device=meanings.device)
        self.features = features.scatter_(1, indices, 1.0)  # (replicas, attributes * values, batch)
        self.messages = messages[:, :, None, :]  # (length, replicas, 1, batch)
        self.num_symbols = num_symbols
        self.symbol_weight = 1 / (len(messages) * batch)
        """Weight of one symbol in the mean over its replica."""
        self.accuracy = torch.zeros(replicas, device=meanings.device)
        """Share of correct symbols of each replica, (replicas,); set by `cross_entropy`."""

    def cross_entropy(self, probabilities: Tensor) -> Tensor:
        """Sum over replicas of the mean cross-entropy in nats; sets `accuracy`.

        Args:
            probabilities: (length, replicas, num_symbols, batch).
        """
        chosen = probabilities.gather(2, self.messages)
        self.accuracy = (chosen >= probabilities.amax(2, keepdim=True)).sum((0, 2, 3)) * self.symbol_weight
        return -chosen.clamp_min(torch.finfo(torch.float32).tiny).log().sum() * self.symbol_weight

    def targets(self) -> Tensor:
        """`symbol_weight` at the target symbols, zero elsewhere, (length, replicas, num_symbols, batch)."""
        length, replicas, _, batch = self.messages.shape
        one_hot = torch.zeros(length, replicas, self.num_symbols, batch, device=self.messages.device)
        return one_hot.scatter_(2, self.messages, self.symbol_weight)


class Learner(ABC):
    """Loss of one type of agent on a supervised batch."""

    is_same_each_time = False
    """Whether the operations of an update depend on nothing but the sizes of the batch."""

    @abstractmethod
    def loss(self, parameters: Parameters, examples: SupervisedBatch) -> Tensor:
        """Sum over replicas of the mean cross-entropy, differentiable in the parameters; sets `examples.accuracy`."""


Gradients = tuple[Tensor | None, Groups]
"""The gradient of the projected meanings, or None if it needs none, and those of the matrices."""


class FusedSender(Learner):
    """A sender whose gradients are derived manually."""

    is_same_each_time = True

    @abstractmethod
    def run(
        self, examples: SupervisedBatch, start: Tensor, groups: Groups, *, needs_gradients: bool
    ) -> tuple[Tensor, Gradients | None]:
        """Compute the loss and all gradients of a batch.

        Args:
            examples: The batch.
            start: The projected meanings, (replicas, features, batch).
            groups: Matrices by group: first those of the output layer, then those of each layer.
            needs_gradients: Whether more than the loss is wanted.

        Returns:
            The loss, and the gradients if they are wanted.
        """

    def head(self, parameters: Parameters) -> Matrices:
        """Weight and bias, (replicas, rows, 1), of the output layer."""
        return [parameters["scores.weight"], parameters["scores.bias"].unsqueeze(-1)]


def fused_loss(fused_sender: FusedSender, examples: SupervisedBatch, start: Tensor, groups: Groups) -> Tensor:
    """The loss of `FusedSender.run`, connected to autograd; gradients are computed only if they are enabled."""
    if not torch.is_grad_enabled():
        return fused_sender.run(examples, start, groups, needs_gradients=False)[0]
    sizes = [len(group) for group in groups]
    loss: Tensor = _fused_loss(fused_sender, examples, sizes, start, *(m for group in groups for m in group))
    return loss


class _FusedLoss(torch.autograd.Function):
    """Autograd function that runs a `FusedSender`: forward computes all gradients, backward returns them."""

    @staticmethod
    def forward(
        ctx: Any,
        fused_sender: FusedSender,
        examples: SupervisedBatch,
        sizes: list[int],
        start: Tensor,
        *matrices: Tensor,
    ) -> Tensor:
        loss, gradients = fused_sender.run(examples, start, grouped(matrices, sizes), needs_gradients=True)
        assert gradients is not None
        of_start, of_groups = gradients
        ctx.save_for_backward(of_start, *(gradient for group in of_groups for gradient in group))
        return loss

    @staticmethod
    @first_derivative_only
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        return None, None, None, *(None if each is None else gradient * each for each in ctx.saved_tensors)


_fused_loss: Any = _FusedLoss.apply


def grouped(flat: Iterable[Tensor], sizes: list[int]) -> Groups:
    """Split tensors into groups of the given sizes."""
    iterator = iter(flat)
    return [[next(iterator) for _ in range(size)] for size in sizes]
