"""The agents of a society: each a module of its own, and the game of any two of them."""

import copy
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ecsuite.games.channels import Channel
from ecsuite.games.game import Game
from ecsuite.games.registry import MEETINGS
from ecsuite.games.sections import ROLES, Experiment, Role
from ecsuite.games.society.meetings import Schedule
from ecsuite.games.tasks import Task
from ecsuite.games.worlds.world import World
from ecsuite.runtime.errors import ConfigError
from ecsuite.runtime.randomness import initial_weights


class Agents(nn.Module):
    """The senders and receivers of an experiment.

    Sender 0 and receiver 0 begin with the weights that a single pair of this seed has; each other agent, and each new
    one, has weights from a stream of its own, of the seed, its role, its number and the step at which it begins.

    Args:
        experiment: Everything that the game and the society are made of.
        world: The world of the game.
        dtype: Precision of products and activations.

    Raises:
        ConfigError: As `Game` does; or if someone meets nobody.
    """

    first_steps: Tensor
    written: Tensor

    def __init__(self, experiment: Experiment, world: World, dtype: torch.dtype = torch.float32) -> None:
        super().__init__()
        self.experiment, self.world, self.dtype = experiment, world, dtype
        self.options, self.seed = experiment.society, experiment.training.seed
        self.schedule = Schedule(MEETINGS.make(self.options.meets), self.options, self.seed)
        first = Game(experiment, world, dtype)
        games = {
            role: [
                self.newborn(role, index, 0) if index else first for index in range(self.options.number(role))
            ]
            for role in ROLES
        }
        self.senders, self.receivers = (
            nn.ModuleList(_agent(game, role) for game in games[role]) for role in ROLES
        )
        # Each sender has the loss of its own messages: baselines of one are nothing to another.
        losses = [game.loss for game in games["sender"] if isinstance(game.loss, nn.Module)]
        self.losses = nn.ModuleList(losses)
        self._share()
        self._form = [first]  # in a list, so that its weights are not the society's
        # Steps at which agents began: senders, then receivers.
        self.register_buffer(
            "first_steps", torch.zeros(len(self.senders) + len(self.receivers), dtype=torch.long)
        )

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return next(self.parameters()).device

    @property
    def task(self) -> Task:
        """The task of the first receiver, which is like those of all."""
        return self.pair(*self.first_pair).task

    @property
    def channel(self) -> Channel:
        """The channel of the first sender."""
        return self.pair(*self.first_pair).channel

    @property
    def first_pair(self) -> tuple[int, int]:
        """The first sender, and the first receiver that it meets."""
        return 0, self.schedule.partners(0)[0]

    def pair(self, sender: int, receiver: int) -> Game:
        """The game of a sender and a receiver, whose weights are the society's."""
        game = copy.copy(self._form[0])
        own = {**self.senders[sender]._modules, **self.receivers[receiver]._modules}
        if self.losses:
            own["loss"] = self.losses[sender]
        game._modules = {**game._modules, **own}
        game.training = self.training
        return game

    def games(self) -> list[tuple[dict[str, int], Game]]:
        """The game of each pair that meets, with the numbers of its agents."""
        pairs = [(each.sender, each.receiver) for each in self.schedule.pairs]
        return [({"sender": i, "receiver": j}, self.pair(i, j)) for i, j in pairs]

    def speakers(self) -> list[Game]:
        """A game of each sender, in their order."""
        return [self.pair(index, self.schedule.partners(index)[0]) for index in range(len(self.senders))]

    def newborn(self, role: Role, index: int, step: int) -> Game:
        """A game whose agent of this role has the first weights of an agent that begins at a step."""
        words = np.random.SeedSequence([self.seed, step, index, *f"{role} begins".encode()])
        with initial_weights(int(words.generate_state(1, np.uint64)[0] >> np.uint64(1))):
            return Game(self.experiment, self.world, self.dtype)

    def modules_of(self, role: Role) -> list[nn.Module]:
        """The modules whose weights agents of a role learn."""
        return list(self.agents(role))

    def agents(self, role: Role) -> nn.ModuleList:
        """The agents of a role."""
        return self.senders if role == "sender" else self.receivers

    def replace_agent(self, role: Role, index: int, step: int, optimizer: torch.optim.Optimizer) -> None:
        """A new agent takes the place of one; it has no optimizer state yet. Others keep theirs."""
        game = self.newborn(role, index, step)
        replaced = [(self.agents(role)[index], _agent(game, role))]
        if role == "sender" and self.losses:
            replaced.append((self.losses[index], game.loss))
        for module, new in replaced:
            module.load_state_dict(new.state_dict())
            for parameter in module.parameters():
                optimizer.state.pop(parameter, None)
        self.first_steps[index + (0 if role == "sender" else len(self.senders))] = step

    def weights_of(self, role: Role, index: int) -> list[nn.Parameter]:
        """The weights that an agent of a role learns, and those of a sender's loss."""
        own = list(self.agents(role)[index].parameters())
        return [*own, *self.losses[index].parameters()] if role == "sender" and self.losses else own

    def _share(self) -> None:
        """Let agents that send and receive use one perception for both."""
        if self.options.shares == "nothing":
            return
        for sender, receiver in zip(self.senders, self.receivers, strict=True):
            own, other = sender.sender_perception, getattr(receiver, "receiver_perception", None)
            if other is None or _shapes(own) != _shapes(other):
                raise ConfigError(
                    "society.shares: expected perceptions of sender and receiver with weights of the same shapes"
                )
            receiver.receiver_perception = own


def _shapes(module: Any) -> dict[str, tuple[int, ...]]:
    return {name: tuple(each.shape) for name, each in module.state_dict().items()}


def _agent(game: Game, role: Role) -> nn.Module:
    """The agent of a game as a module of its own, with its parts by their names in the game."""
    return nn.ModuleDict(game.parts_of(role))
