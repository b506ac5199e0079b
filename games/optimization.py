"""What training minimises and how: losses, optimizers, and schedules of the learning rate."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from ecsuite.agents.message import Message
from ecsuite.config import ConfigError, Count, Positive, Weight
from ecsuite.games.tasks import TaskOutput


class TaskLoss:
    """The task's loss in expectation over the end of the message, and a cost of the message's length."""

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options:
        """Options of the loss."""

        length_cost: Weight = 0.0
        """Cost added to the loss per symbol of the message, incl. EOS."""

    def __init__(self, options: Options) -> None:
        self.options = options

    def __call__(self, output: TaskOutput, ends: Tensor, message: Message) -> tuple[Tensor, Tensor]:
        """The loss of each example, and the cost of its message, (batch,) each; the channel decides how they train.

        Args:
            output: Loss and measures of the task at each possible end.
            ends: Probability of each end, (num_ends, batch).
            message: The message.
        """
        return (ends * output.loss).sum(0), self.options.length_cost * message.length


class Adam:
    """Adam (Kingma & Ba 2015, arXiv 1412.6980) with torch's other settings."""

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options:
        """Options of Adam."""

        lr: Positive = 0.001
        """Learning rate, which the schedule changes."""

    def __init__(self, options: Options) -> None:
        self.options = options

    def optimizer(self, parameters: Iterable[nn.Parameter]) -> torch.optim.Optimizer:
        """Make the optimizer of these parameters."""
        return torch.optim.Adam(parameters, lr=self.options.lr, fused=True)


class Constant:
    """The same rate at every step."""

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options:
        """A constant rate has no options."""

    def __init__(self, options: Options, *, steps_per_epoch: int) -> None:
        pass

    @staticmethod
    def horizon(options: Options, num_epochs: int) -> Options:
        """The options for a run of `num_epochs`: the same."""
        return options

    def factor(self, step: int) -> float:
        """The factor on the optimizer's rate at a step, counted from 0."""
        return 1.0


class Linear:
    """The rate decreases by the same amount at every step, and reaches 0 at the end of its horizon."""

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options:
        """Options of a linear decrease."""

        num_epochs: Count | None = None
        """Epochs until the rate reaches 0; null: those of the run, which are part of it from then on."""

    def __init__(self, options: Options, *, steps_per_epoch: int) -> None:
        assert options.num_epochs is not None
        self.num_steps = options.num_epochs * steps_per_epoch

    @staticmethod
    def horizon(options: Options, num_epochs: int) -> Options:
        """The options for a run of `num_epochs`, with their horizon; `ConfigError` if the run is longer."""
        if options.num_epochs is not None and options.num_epochs < num_epochs:
            raise ConfigError(
                f"schedule.num_epochs: the rate is 0 after {options.num_epochs} epochs, expected at least "
                f"training.num_epochs ({num_epochs})"
            )
        return replace(options, num_epochs=options.num_epochs or num_epochs)

    def factor(self, step: int) -> float:
        """The factor on the optimizer's rate at a step, counted from 0."""
        return 1 - step / self.num_steps
