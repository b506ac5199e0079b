"""Training losses: from the task's output and the message to the loss of each example."""

from dataclasses import dataclass

from torch import Tensor

from ecsuite.agents.message import Message
from ecsuite.config import Weight
from ecsuite.games.tasks import TaskOutput


class TaskLoss:
    """The task's loss in expectation over the end of the message, and a cost of the message's length.

    Args:
        options: The options.
    """

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options:
        """Options of the loss."""

        length_cost: Weight = 0.0
        """Cost added to the loss per symbol of the message, incl. EOS."""

    def __init__(self, options: Options) -> None:
        self.options = options

    def __call__(self, output: TaskOutput, ends: Tensor, message: Message) -> tuple[Tensor, Tensor]:
        """The loss of each example, and the cost of its message.

        Args:
            output: Loss and measures of the task at each possible end.
            ends: Probability of each end, (num_ends, batch).
            message: The message.

        Returns:
            The loss and the cost, (batch,) each. The channel decides how each of them trains the sender.
        """
        return (ends * output.loss).sum(0), self.options.length_cost * message.length
