"""Supervised training of senders on a given language, for many replicas of one sender at once.

The module defines the model: the softmax of the logits is fed back, and the loss is the mean cross-entropy of all
symbols. `make_fused_sender` gives the same computation with manually derived gradients.
"""

import torch
from torch import Tensor, nn

from ecsuite.agents.feedforward import FC1LSender, FC2LSender, FeedForwardSender
from ecsuite.agents.gates import tanh
from ecsuite.agents.hierarchical import HUSendA, HUSendZ
from ecsuite.agents.senders import Decoder, RecurrentSender
from ecsuite.eval.icy.fast.agent_kernels import common_fused_cell
from ecsuite.eval.icy.fast.recurrent_kernels import Groups, Parameters
from ecsuite.eval.icy.fast.sender_kernels import (
    HierarchicalFusedSender,
    MultiLayerFusedSender,
    StepwiseFusedSender,
)
from ecsuite.eval.icy.fast.supervised_batches import FusedSender, Gradients, SupervisedBatch, fused_loss

STEPWISE: dict[type[nn.Module], type[StepwiseFusedSender]] = {
    RecurrentSender: MultiLayerFusedSender,
    HUSendA: HierarchicalFusedSender,
    HUSendZ: HierarchicalFusedSender,
}
"""The fused implementation of each class of step-by-step senders that has one."""


def make_fused_sender(sender: nn.Module) -> FusedSender | None:
    """The fused implementation of a sender, or None if there is none."""
    # Exactly these classes: a subclass may compute something else.
    if type(sender) in (FC1LSender, FC2LSender):
        assert isinstance(sender, FeedForwardSender)
        return FeedForwardFusedSender(sender)
    fused_class = STEPWISE.get(type(sender))
    if fused_class is None:
        return None
    assert isinstance(sender, Decoder)
    cell = common_fused_cell(sender) if sender.style == "icy" else None
    return None if cell is None else fused_class(cell, sender)


class FeedForwardFusedSender(FusedSender):
    """FC1L and FC2L: all logits are computed at once."""

    def __init__(self, sender: FeedForwardSender) -> None:
        self.has_hidden_layer = sender.perceive is not None

    def loss(self, parameters: Parameters, examples: SupervisedBatch) -> Tensor:
        """See the base class."""
        start = examples.features
        if self.has_hidden_layer:
            weight, bias = parameters["perceive.weight"], parameters["perceive.bias"]
            start = tanh(torch.baddbmm(bias.unsqueeze(-1), weight, start))
        return fused_loss(self, examples, start, [self.head(parameters)])

    def run(
        self, examples: SupervisedBatch, start: Tensor, groups: Groups, *, needs_gradients: bool
    ) -> tuple[Tensor, Gradients | None]:
        """See the base class."""
        ((weight, bias),) = groups
        logits = torch.baddbmm(bias, weight, start)  # (replicas, length * symbols, batch)
        step_logits = logits.unflatten(1, (-1, examples.num_symbols))
        probabilities = step_logits.softmax(2)
        loss = examples.cross_entropy(probabilities.transpose(0, 1))
        if not needs_gradients:
            return loss, None
        grad_logits = (
            probabilities.mul_(examples.symbol_weight).sub_(examples.targets().transpose(0, 1)).flatten(1, 2)
        )
        of_head = [torch.bmm(grad_logits, start.mT), grad_logits.sum(2, keepdim=True)]
        of_start = torch.bmm(weight.mT, grad_logits) if start.requires_grad else None
        return loss, (of_start, [of_head])
