"""The game: a sender, a channel, a receiver, and a task that computes the loss."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from ecsuite.agents import make_receiver, make_sender
from ecsuite.agents.autocast import call_receiver, call_sender
from ecsuite.agents.message import Message
from ecsuite.agents.receivers import state_size
from ecsuite.config import Experiment, look_up, unknown_name
from ecsuite.games.channels import CHANNELS, Mode
from ecsuite.games.tasks import TASKS, Discrimination, Reconstruction, Task, TaskOutput
from ecsuite.games.worlds.attributes import Examples, num_candidates, one_hot


@dataclass(frozen=True, kw_only=True, slots=True)
class PlayResult:
    """Objective, measures and messages of one batch."""

    objective: Tensor
    """The scalar that training minimises."""
    measures: Mapping[str, Tensor]
    """Means over the batch: loss (nats), accuracy, length (symbols including EOS), and others of the task."""
    message: Message


class SenderReceiverGame(nn.Module, ABC):
    """Base class of games: a sender and a receiver with a channel between them.

    Args:
        experiment: The configuration.
        num_features: Width of the sender's input.
        dtype: Precision of products and activations.

    Raises:
        ConfigError: If a name in the experiment is unknown.
    """

    task: Task

    def __init__(self, experiment: Experiment, num_features: int, dtype: torch.dtype) -> None:
        super().__init__()
        channel, receiver = experiment.channel, experiment.receiver
        self.dtype = dtype
        self.channel = look_up("channel", channel.kind, CHANNELS)(channel)
        # Agents add EOS to the vocabulary size; without a vocabulary, `symbol_size` is the number of values of a word.
        vocab_size = self.channel.symbol_size - 1
        self.sender = make_sender(
            experiment.sender.architecture,
            num_features=num_features,
            vocab_size=vocab_size,
            max_len=channel.max_len,
            hidden_size=experiment.sender.hidden_size,
            embedding_size=experiment.sender.embedding_size,
        )
        self.receiver = make_receiver(
            receiver.architecture,
            vocab_size=vocab_size,
            max_len=channel.max_len,
            hidden_size=receiver.hidden_size,
            embedding_size=receiver.embedding_size,
        )

    @abstractmethod
    def play(
        self, batch: Any, mode: Mode, generator: torch.Generator | None = None, epoch: int = 0
    ) -> PlayResult:
        """Play one batch.

        Args:
            batch: The examples or rounds, as the game's world makes them.
            mode: Mode of the channel: train, sample or greedy.
            generator: Source of the channel's noise; not used by greedy.
            epoch: Passes over the training examples so far; sets the channel's temperature in train mode.
        """

    def generate_from_features(
        self, meanings: Tensor, mode: Mode, generator: torch.Generator | None = None, epoch: int = 0
    ) -> Message:
        """The sender's messages for feature vectors, (batch, num_features)."""
        return call_sender(
            self.sender, meanings, self.channel.start_message(mode, meanings, generator, epoch)
        )

    def compute_objective(self, output: TaskOutput, ends: Tensor, message: Message) -> PlayResult:
        """Objective and measures of a batch, in expectation over the message end.

        Args:
            output: Loss and measures at each possible end.
            ends: Probability of each end, (num_ends, batch).
            message: The message.
        """
        loss = (ends * output.loss).sum(0)
        measures = {name: (ends.detach() * value).sum(0).mean() for name, value in output.measures.items()}
        return PlayResult(
            objective=self.channel.objective(loss, message),
            measures={"loss": loss.detach().mean(), **measures, "length": message.length.detach().mean()},
            message=message,
        )


class Game(SenderReceiverGame):
    """A game about single objects.

    Args:
        experiment: The configuration.
        dtype: Precision of products and activations.

    Raises:
        ConfigError: If a name in the experiment is unknown.
    """

    def __init__(self, experiment: Experiment, dtype: torch.dtype = torch.float32) -> None:
        world = experiment.world
        super().__init__(experiment, world.num_attributes * world.num_values, dtype)
        self.num_values = world.num_values
        self.task = make_task(experiment, state_size(self.receiver))

    def play(
        self, examples: Examples, mode: Mode, generator: torch.Generator | None = None, epoch: int = 0
    ) -> PlayResult:
        """See the base class."""
        device = next(self.parameters()).device
        candidates = torch.from_numpy(examples.candidates).to(device, non_blocking=True)
        targets = torch.from_numpy(examples.targets).to(device, non_blocking=True)
        meanings = candidates[torch.arange(len(targets), device=device), targets]
        message = self.generate_message(meanings, mode, generator, epoch)
        states, ends = call_receiver(self.receiver, message, self.dtype)
        return self.compute_objective(self.task(states, candidates, targets), ends, message)

    def generate_message(
        self, meanings: Tensor, mode: Mode, generator: torch.Generator | None = None, epoch: int = 0
    ) -> Message:
        """The sender's messages for meanings, (batch, num_attributes). See `play` for the other arguments."""
        return self.generate_from_features(
            one_hot(meanings, self.num_values, self.dtype), mode, generator, epoch
        )


def make_task(experiment: Experiment, state_size: int) -> Task:
    """Make the task of an experiment for a receiver with states of width `state_size`."""
    shared = {
        "hidden_size": state_size,
        "num_attributes": experiment.world.num_attributes,
        "num_values": experiment.world.num_values,
    }
    if experiment.game.task == "discrimination":
        return Discrimination(**shared, num_candidates=num_candidates(experiment))
    if experiment.game.task == "reconstruction":
        return Reconstruction(**shared)
    raise unknown_name("task", experiment.game.task, TASKS)
