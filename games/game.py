"""The game: a sender and a receiver, joined by a channel, judged by a task."""

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from ecsuite.agents import make_receiver, make_sender
from ecsuite.agents.message import Message
from ecsuite.config import Experiment, look_up, unknown_name
from ecsuite.games.channels import CHANNELS, Mode
from ecsuite.games.tasks import TASKS, Discrimination, Reconstruction, Task
from ecsuite.games.worlds import Examples, num_candidates, one_hot


@dataclass(frozen=True, kw_only=True, slots=True)
class Round:
    """What came of one batch."""

    objective: Tensor
    """What training minimises, a scalar."""
    measures: Mapping[str, Tensor]
    """Means over the batch: loss (nats), accuracy, length (symbols, EOS included), and the task's own."""
    message: Message


class Game(nn.Module):
    """One game, ready to be played.

    Args:
        experiment: Everything that the game is made of.
        dtype: Precision of products and activations.

    Raises:
        ConfigError: If a name in the experiment is not known.
    """

    def __init__(self, experiment: Experiment, dtype: torch.dtype = torch.float32) -> None:
        super().__init__()
        world, channel, receiver = experiment.world, experiment.channel, experiment.receiver
        self.num_values, self.dtype = world.num_values, dtype
        self.channel = look_up("channel", channel.kind, CHANNELS)(channel)
        self.sender = make_sender(
            experiment.sender.architecture,
            num_features=world.num_attributes * world.num_values,
            vocab_size=channel.vocab_size,
            max_len=channel.max_len,
            hidden_size=experiment.sender.hidden_size,
            embedding_size=experiment.sender.embedding_size,
        )
        self.receiver = make_receiver(
            receiver.architecture,
            vocab_size=channel.vocab_size,
            max_len=channel.max_len,
            hidden_size=receiver.hidden_size,
            embedding_size=receiver.embedding_size,
        )
        self.task = make_task(experiment, self.receiver.state_size)

    def play(
        self, examples: Examples, mode: Mode, generator: torch.Generator | None = None, epoch: int = 0
    ) -> Round:
        """Play one batch.

        Args:
            examples: The rounds.
            mode: train, sample or greedy: what the channel does.
            generator: Source of the channel's noise; not used by greedy.
            epoch: Passes over the training examples so far; sets the channel's temperature in train mode.
        """
        device = next(self.parameters()).device
        candidates = torch.from_numpy(examples.candidates).to(device, non_blocking=True)
        targets = torch.from_numpy(examples.targets).to(device, non_blocking=True)
        meanings = candidates[torch.arange(len(targets), device=device), targets]
        message = self.speak(meanings, mode, generator, epoch)
        states, ends = self.receiver(message, self.dtype)
        verdict = self.task(states, candidates, targets)
        loss = (ends * verdict.loss).sum(0)
        measures = {name: (ends.detach() * figure).sum(0).mean() for name, figure in verdict.measures.items()}
        return Round(
            objective=self.channel.objective(loss, message),
            measures={"loss": loss.detach().mean(), **measures, "length": message.length.detach().mean()},
            message=message,
        )

    def speak(
        self, meanings: Tensor, mode: Mode, generator: torch.Generator | None = None, epoch: int = 0
    ) -> Message:
        """What the sender says of meanings, (batch, num_attributes). See `play` for the other arguments."""
        line = self.channel.open(mode, meanings, generator, epoch)
        message: Message = self.sender(one_hot(meanings, self.num_values, self.dtype), line)
        return message


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
