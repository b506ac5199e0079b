"""The agents of an experiment, and who meets whom; what they begin with, and how they are replaced."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ecsuite.games.channels.channels import Channel
from ecsuite.games.channels.noise import seeded
from ecsuite.games.config.registry import MEETINGS
from ecsuite.games.config.sections import ROLES, Experiment, Role
from ecsuite.games.players.agent import SHARED, Agent, Listener, Speaker
from ecsuite.games.players.pair import Pair, make_pair
from ecsuite.games.players.schedule import Schedule
from ecsuite.games.tasks.tasks import Task
from ecsuite.games.worlds.world import Batch, World
from ecsuite.runtime.randomness import initial_weights


class Agents(nn.Module):
    """Agents, and the schedule of their meetings.

    Sender 0 and receiver 0 begin with the weights of the seed; each other agent, and each new one, has weights from a
    stream of its own, of the seed, its role, its number and the step at which it begins.

    Args:
        experiment: Everything that the agents and their meetings are made of.
        world: The world.
        dtype: Precision of products and activations.

    Raises:
        ConfigError: If a part does not fit the world or another part, or if someone meets nobody.
    """

    first_steps: Tensor
    recent: Tensor
    taught: Tensor
    written: Tensor
    before_contact: Tensor

    def __init__(self, experiment: Experiment, world: World, dtype: torch.dtype = torch.float32) -> None:
        super().__init__()
        self.experiment, self.world, self.dtype = experiment, world, dtype
        self.options, self.seed = experiment.society, experiment.training.seed
        self.is_society = experiment.is_society
        num_epochs = max(experiment.training.num_epochs, 1)  # agents that are only taught meet nobody
        self.schedule = Schedule(MEETINGS.make(self.options.meets), self.options, self.seed, num_epochs)
        agents = self._first_agents()
        self.agents = nn.ModuleList(agents)
        self.senders = [agent.speaker for agent in agents if agent.speaker is not None]
        """What the agents that speak speak with."""
        self.receivers = [agent.listener for agent in agents if agent.listener is not None]
        """What the agents that listen listen with."""
        if self.is_society:
            num_senders, num_receivers = map(self.options.number, ROLES)
            # Steps at which agents began: senders, then receivers. And the accuracy of late of each sender.
            self.register_buffer("first_steps", torch.zeros(num_senders + num_receivers, dtype=torch.long))
            self.register_buffer("recent", torch.zeros(num_senders))
        self.generators: dict[int, torch.Generator] = {}
        self.num_plays: Mapping[Role, Any] = {}
        """The agents of each role that learn in a step, and in how many pairs each does."""
        self.pairs_by_number: dict[tuple[int, int], Pair] = {}
        """Pairs of agents that were made, by the numbers of their sender and receiver."""

    def sides(self, role: Role) -> Sequence[Speaker | Listener]:
        """What the agents of a role speak or listen with."""
        return self.senders if role == "sender" else self.receivers

    def modules_of(self, role: Role) -> list[nn.Module]:
        """The modules whose weights agents of a role learn."""
        return [module for side in self.sides(role) for module in side.learnt()]

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return self.receivers[0].device

    @property
    def task(self) -> Task:
        """The task of the first receiver, which is like those of all."""
        return self.receivers[0].task

    @property
    def channel(self) -> Channel:
        """The channel of the first sender, which is like those of all."""
        return self.senders[0].channel

    def pair(self, sender: int, receiver: int) -> Pair:
        """A sender and a receiver by their numbers."""
        if (sender, receiver) not in self.pairs_by_number:
            self.pairs_by_number[sender, receiver] = Pair(self.senders[sender], self.receivers[receiver])
        return self.pairs_by_number[sender, receiver]

    @property
    def first_pair(self) -> Pair:
        """The first sender, and the first receiver that it meets."""
        return self.pair(0, self.schedule.partners(0)[0])

    def replace_agent(self, role: Role, index: int, step: int, optimizer: torch.optim.Optimizer) -> None:
        """A new agent takes the place of one; it has no optimizer state yet. Others keep theirs."""
        side, new = self.sides(role)[index], self._newborn(role, index, step)
        side.load_state_dict(new.state_dict())
        for parameter in side.parameters():
            optimizer.state.pop(parameter, None)
        self.first_steps[index + (0 if role == "sender" else len(self.senders))] = step
        if role == "sender":  # nobody has understood it yet
            self.recent[index] = 0

    def batch(self, number: int, place: int) -> Batch:
        """The batch of the pair at a place of a step."""
        return self.world.batch("train", self.batch_number(number, place))

    def batch_number(self, number: int, place: int) -> int:
        """The number of the batch of the pair at a place of a step: in an epoch, each place has every batch once."""
        size = self.batches_per_epoch
        epoch, within = divmod(number, size)
        return epoch * size + (within + place) % size

    @property
    def batches_per_epoch(self) -> int:
        """Batches in which the rounds of an epoch are played once."""
        return -(-self.world.num_train // self.world.sizes.batch_size)

    def noises(self, number: int, places: Sequence[int]) -> list[torch.Generator]:
        """The noise of pairs at places of a step; the generator is that of its place at every step, on CUDA of all."""
        if self.device.type != "cuda":
            return [self._noise(number, place) for place in places]
        return [self._noise(number, places[0])] * len(places) if places else []

    def _noise(self, number: int, place: int) -> torch.Generator:
        purpose = "train" if place == 0 else f"train, pair {place}"
        if (generator := self.generators.get(place)) is None or generator.device != self.device:
            generator = self.generators[place] = torch.Generator(self.device)
        return seeded(generator, self.seed, purpose, number)

    def _first_agents(self) -> list[Agent]:
        """The agents that begin."""
        first = make_pair(self.experiment, self.world, self.dtype)
        speakers, listeners = (
            [self._newborn(role, index, 0) if index else side for index in range(self.options.number(role))]
            for role, side in zip(ROLES, (first.speaker, first.listener), strict=True)
        )
        for role, sides in zip(ROLES, (speakers, listeners), strict=True):
            for member, side in zip(self.options.members_of(role), sides, strict=False):
                side.is_frozen = side.is_frozen or member.is_frozen
                side.freeze()
        if self.options.agents is None:
            return [
                *(Agent(speaker, None) for speaker in speakers),  # type: ignore[arg-type]
                *(Agent(None, listener) for listener in listeners),  # type: ignore[arg-type]
            ]
        shares = [each for each in SHARED if self.options.shares in (each, "both")]
        return [
            Agent(speaker, listener, shares=shares)  # type: ignore[arg-type]
            for speaker, listener in zip(speakers, listeners, strict=True)
        ]

    def _newborn(self, role: Role, index: int, step: int) -> Speaker | Listener:
        """What an agent that begins at a step speaks or listens with."""
        words = np.random.SeedSequence([self.seed, step, index, *f"{role} begins".encode()])
        with initial_weights(int(words.generate_state(1, np.uint64)[0] >> np.uint64(1))):
            pair = make_pair(self.experiment, self.world, self.dtype)
        return pair.speaker if role == "sender" else pair.listener
