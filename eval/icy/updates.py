"""Updates of agents that are trained side by side: on CUDA their kernels are graphs, so that the GPU need not wait.

An update of a recurrent agent is some hundred kernels of a few microseconds each, and the processor takes longer to
start each of them than it runs.
"""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from ecsuite.eval.icy.fast.senders import Learner, SupervisedBatch
from ecsuite.eval.learning.replicas import Replicas
from ecsuite.runtime.graphs import Outputs
from ecsuite.runtime.recording import Recorded

KEPT_SHARE, FEWEST = 0.5, 8
"""With graphs, runs that have ended are computed until at most this share goes on, and to the end where they are so
few: graphs without them cost as much as a hundred updates, whose time hardly depends on so few runs."""


class Updates:
    """Computes the losses of replicas, and updates them.

    Args:
        learner: Of the agents.
        replicas: Their weights.
        examples: Makes a batch of meanings and messages.
    """

    def __init__(
        self, learner: Learner, replicas: Replicas, examples: Callable[[Tensor, Tensor], SupervisedBatch]
    ) -> None:
        self.learner, self.replicas, self.examples = learner, replicas, examples
        self.has_graphs = replicas.flat.is_cuda and bool(replicas.shapes) and learner.is_same_each_time
        self.recorded = Recorded(replicas.optimizer)
        self._loss: Tensor | None = None
        self._gradient: Tensor | None = None

    def loss(self, meanings: Tensor, messages: Tensor) -> tuple[float, list[float]]:
        """The sum of the losses, and the accuracy of each replica; waits for the device, once."""
        if self.has_graphs:
            found, (self._gradient,) = self.recorded("loss", self._differentiated, [meanings, messages])
            figures = found["figures"]
        else:
            self._loss, figures = self._computed(meanings, messages)
        loss, *accuracies = figures.tolist()
        return loss, accuracies

    def step(self) -> None:
        """Update the replicas with the gradients of the last loss."""
        if self._gradient is None:
            assert self._loss is not None
            self.replicas.update(self._loss)
        elif self.replicas.has_begun:
            self.recorded("step", self._stepped, [self._gradient])
        else:
            self.replicas.step(self._gradient)
        self._loss = self._gradient = None

    def is_worth_it(self, num_going: int) -> bool:
        """Whether to leave out the replicas of runs that have ended, where so many go on."""
        number = self.replicas.count
        return not self.has_graphs or (number > FEWEST and num_going <= KEPT_SHARE * number)

    def keep(self, kept: Sequence[int]) -> None:
        """Drop all replicas but these."""
        self.replicas.keep(kept)
        self.recorded = Recorded(self.replicas.optimizer)

    def _computed(self, meanings: Tensor, messages: Tensor) -> tuple[Tensor, Tensor]:
        examples = self.examples(meanings, messages)
        self.replicas.renew()
        loss = self.learner.loss(self.replicas.parameters(), examples)
        return loss, torch.cat([loss.detach()[None], examples.accuracy])

    def _differentiated(self, meanings: Tensor, messages: Tensor) -> Outputs:
        loss, figures = self._computed(meanings, messages)
        return {"figures": figures}, [self.replicas.gradient(loss)]

    def _stepped(self, gradient: Tensor) -> Outputs:
        self.replicas.step(gradient)
        return {}, ()
