"""Agents of environments: recurrent agents that learn to act and to speak, and scripted agents."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import one_hot

from ecsuite.agents.cells import RecurrentCell
from ecsuite.agents.linear import Linear
from ecsuite.agents.recurrence import State
from ecsuite.agents.registry import CELLS
from ecsuite.games.channels.channels import Channel
from ecsuite.games.environments.environment import AgentSpec, Environment
from ecsuite.games.environments.episodes import Decision, Policy
from ecsuite.parts.config import Count
from ecsuite.runtime.errors import ConfigError, look_up, unknown_name


@dataclass(frozen=True, kw_only=True, slots=True)
class AgentsOptions:
    """Options of recurrent agents that act."""

    hidden_size: Count = 64
    """Width of the state and of the input layer."""
    cell: str = "gru"
    """The recurrent cell."""
    forgetful: tuple[str, ...] = ()
    """Names of agents without memory between steps, such as [speaker]."""
    is_shared: bool = False
    """Whether all agents share weights; each gets its index as a one-hot input."""
    speaks_apart: bool = False
    """Whether agents that act and speak have a separate network for each, with the same inputs."""

    def __post_init__(self) -> None:
        """Validate the name of the cell; `ConfigError` if it is unknown."""
        look_up("cell", self.cell, CELLS.parts)


class _Network(nn.Module):
    """A linear layer, a recurrent cell, and a linear layer to the scores of actions and the logits of the message."""

    def __init__(self, num_inputs: int, num_outputs: int, options: AgentsOptions) -> None:
        super().__init__()
        width = options.hidden_size
        self.read, self.answer = Linear(num_inputs, width), Linear(width, num_outputs)
        self.cell: RecurrentCell = CELLS.load(options.cell)(width, width)


class ActingAgents(nn.Module, ABC):
    """Base class of trainable agents: all agents of an environment in one module.

    Args:
        options: `Options` of the agents.
        environment: Environment of the agents.
        channel: Channel of the agents.
    """

    Options: type

    def __init__(self, options: Any, *, environment: Environment, channel: Channel) -> None:
        super().__init__()
        self.options, self.environment, self.specs = options, environment, environment.agents

    @abstractmethod
    def begin(self, batch: int) -> Policy:
        """Begin `batch` episodes, with empty memories."""


class RecurrentAgents(ActingAgents):
    """Agents of a linear layer, a recurrent cell, and a linear layer to scores of actions and logits of the message.

    Raises:
        ConfigError: If an option does not fit the environment.
    """

    Options = AgentsOptions

    def __init__(self, options: AgentsOptions, *, environment: Environment, channel: Channel) -> None:
        super().__init__(options, environment=environment, channel=channel)
        names = [spec.name for spec in self.specs]
        for name in options.forgetful:
            if name not in names:
                raise ConfigError(f"play.agents.forgetful: {unknown_name('agent', name, names)}")
        width = channel.max_len * channel.symbol_size
        self.num_logits = channel.max_len * (channel.num_logits or channel.symbol_size)
        sizes = [
            (spec.num_features + spec.num_heard * width, (spec.num_actions, self.num_logits * spec.speaks))
            for spec in self.specs
        ]
        if options.is_shared:
            if len(set(sizes)) > 1:
                raise ConfigError(
                    f"play.agents.is_shared: {', '.join(names)} see, hear or do different things: expected false"
                )
            sizes = [(sizes[0][0] + len(names), sizes[0][1])]
        self.networks, self.places = nn.ModuleList(), list[range]()
        for num_inputs, outputs in sizes:
            apart = outputs if options.speaks_apart and outputs[0] > 1 and outputs[1] else (sum(outputs),)
            self.places.append(range(len(self.networks), len(self.networks) + len(apart)))
            self.networks.extend(_Network(num_inputs, number, options) for number in apart)

    def begin(self, batch: int) -> Policy:
        """See the base class."""
        reads, cells, answers = [], [], []
        for network in self.networks:
            assert isinstance(network, _Network)
            reads.append(network.read.unroll(torch.float32))
            cells.append(network.cell.unroll(torch.float32))
            answers.append(network.answer.unroll(torch.float32))
        states: dict[tuple[int, int], State] = {}

        def decide(agent: int, seen: Tensor, heard: Tensor, *, keeps: bool = True) -> Decision:
            inputs = [seen, heard.flatten(1)]
            if self.options.is_shared:
                inputs.append(torch.eye(len(self.specs), device=seen.device)[agent].expand(len(seen), -1))
            known, given = torch.cat(inputs, 1), []
            for place in self.places[0 if self.options.is_shared else agent]:
                state = cells[place](reads[place](known).tanh(), states.get((agent, place)))
                if keeps and self.specs[agent].name not in self.options.forgetful:
                    states[agent, place] = state
                given.append(answers[place](state[0]))
            outputs = given[0] if len(given) == 1 else torch.cat(given, 1)
            number = self.specs[agent].num_actions
            scores, logits = outputs.split((number, outputs.shape[1] - number), 1)
            return Decision(scores=scores, logits=logits)

        return decide


class ScriptedAgents:
    """The agents of an environment's script, for a channel of symbols; see `Policies`.

    Args:
        environment: Environment with a script.
        channel: Channel with at least the symbols of the script.

    Raises:
        ConfigError: If there is no script, or the channel does not fit.
    """

    def __init__(self, environment: Environment, channel: Channel) -> None:
        self.environment, self.channel = environment, channel
        needed = environment.num_script_symbols
        if needed is None:
            raise ConfigError(f"{type(environment).__name__}: it has no scripted agents")
        if channel.is_of_values or channel.vocab_size < needed:
            raise ConfigError(f"scripted agents need {needed} symbols: expected a larger channel.vocab_size")

    def begin(self, batch: int) -> Policy:
        """See `Policies`."""
        memories: Sequence[dict[str, Any]] = [{} for _ in self.environment.agents]

        def decide(agent: int, seen: Tensor, heard: Tensor, *, keeps: bool = True) -> Decision:
            spec: AgentSpec = self.environment.agents[agent]
            symbols = heard.unflatten(-1, (self.channel.max_len, -1))[:, :, 0]
            first = symbols.argmax(-1).where(symbols.sum(-1) > 0, 0).cpu().numpy()
            memory = memories[agent] if keeps else dict(memories[agent])
            actions, said = self.environment.script(
                agent, seen.cpu().numpy().astype(np.float64), first, memory
            )
            scores = 50.0 * one_hot(torch.from_numpy(actions), spec.num_actions).float()
            logits = 50.0 * one_hot(torch.from_numpy(said), self.channel.symbol_size).float()
            return Decision(
                scores=scores.to(seen.device),
                logits=logits.repeat(1, self.channel.max_len).to(seen.device),
            )

        return decide
