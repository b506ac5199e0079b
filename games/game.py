"""The game: a sender and a receiver, joined by a channel, judged by a task."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from ecsuite.agents import make_receiver, make_sender
from ecsuite.agents.message import Message
from ecsuite.config import Experiment, look_up, unknown_name
from ecsuite.games.channels import CHANNELS, Mode
from ecsuite.games.tasks import TASKS, Discrimination, Reconstruction, Task, TaskOutput
from ecsuite.games.worlds.attributes import Examples, num_candidates, one_hot


@dataclass(frozen=True, kw_only=True, slots=True)
class PlayResult:
    """What came of one batch."""

    objective: Tensor
    """What training minimises, a scalar."""
    measures: Mapping[str, Tensor]
    """Means over the batch: loss (nats), accuracy, length (symbols, EOS included), and the task's own."""
    message: Message


class SenderReceiverGame(nn.Module, ABC):
    """What all games share: a sender and a receiver, joined by a channel.

    Args:
        experiment: Everything that the game is made of.
        num_features: Width of what the sender means.
        dtype: Precision of products and activations.

    Raises:
        ConfigError: If a name in the experiment is not known.
    """

    task: Task

    def __init__(self, experiment: Experiment, num_features: int, dtype: torch.dtype) -> None:
        super().__init__()
        channel, receiver = experiment.channel, experiment.receiver
        self.dtype = dtype
        self.channel = look_up("channel", channel.kind, CHANNELS)(channel)
        # Agents count content symbols and add EOS; over a channel without a vocabulary, all of a word's values count.
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
            batch: The rounds, as the game's world makes them.
            mode: train, sample or greedy: what the channel does.
            generator: Source of the channel's noise; not used by greedy.
            epoch: Passes over the training examples so far; sets the channel's temperature in train mode.
        """

    def generate_from_features(
        self, meanings: Tensor, mode: Mode, generator: torch.Generator | None = None, epoch: int = 0
    ) -> Message:
        """What the sender says of vectors, (batch, num_features)."""
        message: Message = self.sender(meanings, self.channel.start_message(mode, meanings, generator, epoch))
        return message

    def compute_objective(self, output: TaskOutput, ends: Tensor, message: Message) -> PlayResult:
        """What comes of a batch, from the verdict at each possible end and the probability of each."""
        loss = (ends * output.loss).sum(0)
        measures = {name: (ends.detach() * figure).sum(0).mean() for name, figure in output.measures.items()}
        return PlayResult(
            objective=self.channel.objective(loss, message),
            measures={"loss": loss.detach().mean(), **measures, "length": message.length.detach().mean()},
            message=message,
        )


class Game(SenderReceiverGame):
    """One game about single objects, ready to be played.

    Args:
        experiment: Everything that the game is made of.
        dtype: Precision of products and activations.

    Raises:
        ConfigError: If a name in the experiment is not known.
    """

    def __init__(self, experiment: Experiment, dtype: torch.dtype = torch.float32) -> None:
        world = experiment.world
        super().__init__(experiment, world.num_attributes * world.num_values, dtype)
        self.num_values = world.num_values
        self.task = make_task(experiment, self.receiver.state_size)

    def play(
        self, examples: Examples, mode: Mode, generator: torch.Generator | None = None, epoch: int = 0
    ) -> PlayResult:
        """See the base class."""
        device = next(self.parameters()).device
        candidates = torch.from_numpy(examples.candidates).to(device, non_blocking=True)
        targets = torch.from_numpy(examples.targets).to(device, non_blocking=True)
        meanings = candidates[torch.arange(len(targets), device=device), targets]
        message = self.generate_message(meanings, mode, generator, epoch)
        states, ends = self.receiver(message, self.dtype)
        return self.compute_objective(self.task(states, candidates, targets), ends, message)

    def generate_message(
        self, meanings: Tensor, mode: Mode, generator: torch.Generator | None = None, epoch: int = 0
    ) -> Message:
        """What the sender says of meanings, (batch, num_attributes). See `play` for the others."""
        return self.generate_from_features(
            one_hot(meanings, self.num_values, self.dtype), mode, generator, epoch
        )


def make_task(experiment: Experiment, state_size: int) -> Task:
    """The task that an experiment names, for a receiver whose states are so wide."""
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
