"""Objectives of training: the task's loss with a cost of the message's length, or rewards of sampled answers."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Annotated, Any

import torch
from torch import Tensor, nn

from ecsuite.agents.message import Message
from ecsuite.games.config.registry import REWARDS
from ecsuite.games.tasks.tasks import TaskOutput, Truth, right_parts
from ecsuite.parts.config import Weight
from ecsuite.parts.registry import Part
from ecsuite.runtime.errors import ConfigError


class Correct:
    """1 for an answer that is right in every part, else 0."""

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options:
        """The reward has no options."""

    def __init__(self, options: Options) -> None:
        pass

    def __call__(self, chosen: Tensor, truth: Truth) -> Tensor:
        """The reward of each answer, (batch,).

        Args:
            chosen: See `right_parts`.
            truth: What is right.
        """
        return right_parts(chosen, truth).all(-1).float()


class ShareCorrect(Correct):
    """The share of the parts of an answer that are right: attributes, or candidates of a concept."""

    def __call__(self, chosen: Tensor, truth: Truth) -> Tensor:
        """See the base class."""
        return right_parts(chosen, truth).float().mean(-1)


CORRECT = Part("accuracy", Correct.Options())
"""The reward of a loss that names none."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LossOptions:
    """Options of every loss."""

    length_cost: Weight = 0.0
    """Cost added to the loss per symbol of the message, incl. EOS."""
    length_cost_power: Weight = 0.0
    """The cost is multiplied by the accuracy of the batch to this power, so that messages need not be short before
    they are understood (Rita et al. 2020, arXiv 2010.01878, section 3.1: 45, with a length_cost of 0.1)."""

    def __post_init__(self) -> None:
        """Check that there is a cost to multiply; `ConfigError` if not."""
        if self.length_cost_power and not self.length_cost:
            raise ConfigError("length_cost_power: needs a cost, such as loss.length_cost=0.1")

    def cost(self, output: TaskOutput, ends: Tensor, message: Message) -> Tensor:
        """The cost of each message, (batch,)."""
        of_symbol, power = self.length_cost, self.length_cost_power
        if not of_symbol:
            return torch.zeros_like(message.length)
        cost = of_symbol * message.length
        if power:
            accuracy = (ends * output.measures["accuracy"]).detach().sum(0).mean()
            cost = cost * accuracy**power
        return cost


class Loss(nn.Module, ABC):
    """Base class of losses, also of users' own."""

    samples_answers = False
    """Whether the output of the task has sampled answers of the receiver and what is right."""
    needs_all_answers = False
    """Whether in training the receiver answers after every symbol that a message could have."""
    length_cost = 0.0
    """Cost of a symbol; refused where all messages are equally long."""

    def __init__(self, options: Any) -> None:
        super().__init__()
        self.options = options

    @abstractmethod
    def forward(self, output: TaskOutput, ends: Tensor, message: Message) -> tuple[Tensor, Tensor]:
        """The loss of each example, and the cost of its message, (batch,) each; the channel decides how they train.

        Args:
            output: Loss and measures of the task at each possible end.
            ends: Probability of each end, (num_ends, batch).
            message: The message.
        """


class TaskLoss(Loss):
    """The task's loss in expectation over the end of the message, and a cost of the message's length."""

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options(LossOptions):
        """Options of the loss."""

        impatient: bool = False
        """In training, the receiver answers after every symbol of the message, and the loss is the mean over these
        answers (Rita et al. 2020, arXiv 2010.01878, section 3.2)."""

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        self.needs_all_answers, self.length_cost = options.impatient, options.length_cost

    def forward(self, output: TaskOutput, ends: Tensor, message: Message) -> tuple[Tensor, Tensor]:
        """See the base class."""
        weights = ends
        if self.options.impatient and len(ends) > 1:
            weights = weights_of_answers(ends)
        return (weights * output.loss).sum(0), self.options.cost(output, ends, message)


def weights_of_answers(ends: Tensor) -> Tensor:
    """The weight of the answer after each symbol in the mean over all of them, (num_ends, batch).

    Args:
        ends: Probability that the message ends with each symbol, (num_ends, batch).
    """
    num_answers = torch.arange(1, len(ends) + 1, device=ends.device, dtype=ends.dtype)[:, None]
    return (ends / num_answers).flip(0).cumsum(0).flip(0)


class RewardLoss(Loss):
    """The receiver's answer is sampled and rewarded; both agents learn by REINFORCE (Williams 1992).

    The loss is the negative reward, so the reward needs no gradient. The receiver's baseline is the mean reward of all
    steps so far, saved with the model; the sender's is that of the channel. Receivers that learn messages of others
    learn in the same way. In evaluation the most likely answer is given.
    """

    samples_answers = True
    baseline: Tensor
    num_steps: Tensor

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options(LossOptions):
        """Options of the loss."""

        reward: Annotated[Part, REWARDS] = CORRECT
        """Reward of an answer."""
        entropy_coefficient: Weight = 0.0
        """Weight of a bonus for the entropy of the receiver's answer."""

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        self.length_cost = options.length_cost
        self.reward = REWARDS.make(options.reward)
        self.register_buffer("baseline", torch.zeros(()))
        self.register_buffer("num_steps", torch.zeros(()))

    def forward(self, output: TaskOutput, ends: Tensor, message: Message) -> tuple[Tensor, Tensor]:
        """The negative reward of each example, whose gradient is the receiver's policy gradient; see `TaskLoss`."""
        answers, truth = output.answers, output.truth
        assert answers is not None and truth is not None
        loss = -self.reward(answers.chosen, truth).detach().float()  # (batch,)
        if self.training:
            advantage = loss - self.baseline
            with torch.no_grad():
                self.num_steps += 1
                self.baseline += (loss.mean() - self.baseline) / self.num_steps
            surrogate = advantage * answers.log_probability
            surrogate = surrogate - self.options.entropy_coefficient * answers.entropy
            loss = loss + (surrogate - surrogate.detach())
        return loss, self.options.cost(output, ends, message)
