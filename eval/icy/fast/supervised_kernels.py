"""Imitation: senders learn a given language by cross-entropy, many replicas of one sender at once.

What a sender feels is defined by its module: it says scores, hears their softmax, and minimises the mean cross-entropy
of all symbols. `make_fused_sender` gives the same written out for speed.
"""

from typing import cast

import torch
from torch import Tensor, nn

from ecsuite.agents.cells import RecurrentCell, tanh
from ecsuite.agents.feedforward import FeedForwardSender
from ecsuite.agents.hierarchical import HierarchicalSender
from ecsuite.agents.senders import RecurrentSender
from ecsuite.eval.icy.fast.recurrent_kernels import Parameters, fused_cell_of
from ecsuite.eval.icy.fast.sender_kernels import HierarchicalTrainer, MultiLayerTrainer
from ecsuite.eval.icy.fast.supervised_batches import FusedSenderTrainer, SupervisedBatch, fused_loss


def make_fused_sender(sender: nn.Module) -> FusedSenderTrainer | None:
    """The fast way for a sender to learn; None where there is none."""
    if isinstance(sender, FeedForwardSender):
        return FeedForwardTrainer(sender)
    if not isinstance(sender, RecurrentSender | HierarchicalSender) or sender.style != "icy":
        return None
    cells = [sender.upper, sender.lower] if isinstance(sender, HierarchicalSender) else list(sender.cells)
    cell = fused_cell_of(type(cast(RecurrentCell, cells[0])))
    if cell is None:
        return None
    kind = HierarchicalTrainer if isinstance(sender, HierarchicalSender) else MultiLayerTrainer
    return kind(sender, cell, num_layers=len(cells))


class FeedForwardTrainer(FusedSenderTrainer):
    """FC1L and FC2L: all scores come at once.

    Args:
        sender: The sender.
    """

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
        self,
        examples: SupervisedBatch,
        start: Tensor,
        groups: list[list[Tensor]],
        gradients: list[list[Tensor]],
    ) -> tuple[Tensor, Tensor | None]:
        """See the base class."""
        ((weight, bias),), ((to_weight, to_bias),) = groups, gradients
        scores = torch.baddbmm(bias, weight, start)  # (replicas, length * symbols, batch)
        by_step = scores.unflatten(1, (-1, examples.num_symbols))
        probabilities = by_step.softmax(2)
        loss = examples.cross_entropy(probabilities.transpose(0, 1))
        to_scores = probabilities.mul_(examples.share).sub_(examples.targets().transpose(0, 1)).flatten(1, 2)
        torch.bmm(to_scores, start.mT, out=to_weight)
        torch.sum(to_scores, 2, keepdim=True, out=to_bias)
        return loss, torch.bmm(weight.mT, to_scores) if start.requires_grad else None
