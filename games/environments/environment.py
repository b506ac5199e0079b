"""Interface of environments: observations, actions, rewards and termination, for batches of episodes.

    class Corridor(Environment):
        agents = (AgentSpec(name="guide", num_features=1), AgentSpec(name="walker", num_features=0, num_actions=2))
        max_steps, attribute_names = 1, ("side",)

        def reset(self, seed, episodes):       # a pure function of both
            side = random_words(seed, "side", episodes, 1) % 2
            ...
            return Moment(...)

        def step(self, moment, actions):       # actions: (batch, num_agents)
            ...
            return Moment(...), rewards

Messages are not part of an environment: a message of one step is heard at the next, by the agents in `Moment.heard`.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ecsuite.parts.own_code import NoOptions
from ecsuite.runtime.randomness import random_words

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

PURPOSES = {"train": 0, "valid": 1 << 40, "corpus": 1 << 41, "audit": 1 << 42, "seen": 1 << 43}
"""First episode number of each purpose; the ranges are disjoint."""


@dataclass(frozen=True, kw_only=True, slots=True)
class AgentSpec:
    """An agent of an environment."""

    name: str
    num_features: int
    """Width of its observation."""
    num_actions: int = 1
    """Number of actions, ids from 0; 1: nothing to choose."""
    speaks: bool = True
    num_heard: int = 0
    """Most messages heard at a step."""
    num_symbols: int | None = None
    """Number of symbols that it may say, ids from 1; None: all of the channel."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Moment:
    """State of a batch of episodes between two steps."""

    observations: tuple[Floats, ...]
    """Observation of each agent, (batch, num_features) each."""
    heard: Integers
    """Indices of the agents whose last message each agent hears, (batch, num_agents, maximum num_heard); -1: none."""
    active: NDArray[np.bool_]
    """Mask of agents whose action and message count at the coming step, (batch, num_agents); others take action 0."""
    done: NDArray[np.bool_]
    """Mask of finished episodes, (batch,)."""
    speaking: NDArray[np.bool_] | None = None
    """Mask of active agents whose message counts, (batch, num_agents); None: all active agents."""
    acting: NDArray[np.bool_] | None = None
    """Mask of active agents whose action counts, (batch, num_agents); None: all active agents."""
    right: Integers | None = None
    """Right action of each agent at the coming step, (batch, num_agents); -1: undefined; None: all undefined."""
    meanings: Integers
    """Meanings of the messages of the coming step, (batch, num_agents, num_attributes), by speaker."""
    inner: Any = field(default=None, repr=False)
    """Internal state of the environment for the next step."""


class Environment(ABC):
    """Base class of environments.

    Args:
        options: Its `Options`.
    """

    Options: ClassVar[type] = NoOptions
    agents: tuple[AgentSpec, ...]
    max_steps: int
    """Most steps of an episode."""
    attribute_names: tuple[str, ...]
    """Names of the attributes of `Moment.meanings`."""
    num_script_symbols: int | None = None
    """Number of symbols that `script` needs; None: there is no script."""
    silent_reward: float | None = None
    """Known reward of an episode without messages; None: unknown."""
    silent_accuracy: float | None = None
    """Known accuracy without messages; None: unknown."""
    oracle_reward: float | None = None
    """Known expected reward of the best agents that see everything, an upper bound; None: unknown."""
    right_reward: float | None = None
    """Reward of a completely right episode, from which the accuracy is computed; None: there is no accuracy."""
    tells_right: bool = False
    """Whether moments contain the right actions, `Moment.right`."""
    steps_per_turn: int | None = None
    """Steps per turn of a dialogue; None: there are no turns."""
    other_purposes: Mapping[str, str] = MappingProxyType({})
    """Further evaluations, such as one on training objects: name to a key of `PURPOSES`."""

    def __init__(self, options: Any) -> None:
        self.options = options

    def notes(self, seed: int) -> Sequence[str]:
        """Notes for the user on the world of a seed, and on the limits of its evaluations."""
        return ()

    @abstractmethod
    def reset(self, seed: int, episodes: Integers) -> Moment:
        """Begin episodes with these numbers, (batch,): a pure function of the seed and of each number."""

    @abstractmethod
    def step(self, moment: Moment, actions: Integers) -> tuple[Moment, Floats]:
        """Apply actions, (batch, num_agents); returns the next state and the rewards, (batch, num_agents).

        Values for finished episodes are ignored. A `Moment` is used for one step only.
        """

    def columns(self, seed: int, episodes: Integers) -> Mapping[str, NDArray[Any]]:
        """Further corpus columns of episodes, numbers (batch,): arrays by name, (batch,) each; none by default."""
        return {}

    def script(
        self, agent: int, seen: Floats, heard: Integers, memory: dict[str, Any]
    ) -> tuple[Integers, Integers]:
        """Choose for a scripted agent that knows the environment, as a reference for trained agents.

        Called only if `num_script_symbols` is not None.

        Args:
            agent: Index of the agent.
            seen: Its observation, (batch, num_features).
            heard: First symbol of each message that it hears, (batch, num_heard), from 1; 0: no message.
            memory: Its memory of these episodes, empty at the beginning; changed in place.

        Returns:
            Actions, and symbols from 1, (batch,) each.
        """
        raise NotImplementedError


def shares(seed: int, purpose: str, episodes: Integers, number: int) -> Floats:
    """Uniform numbers in [0, 1), (batch, number), a pure function of the arguments."""
    words = random_words(seed, purpose, episodes, number)
    numbers: Floats = (words >> np.uint64(11)).astype(np.float64) / 2.0**53
    return numbers


def choices(seed: int, purpose: str, episodes: Integers, number: int, total: int) -> Integers:
    """Uniform integers from 0 to `total` - 1, (batch, number), a pure function of the arguments."""
    return (shares(seed, purpose, episodes, number) * total).astype(np.int64)


def one_hot(values: Integers, total: int) -> Floats:
    """One-hot vectors, (..., total), of integers, (...)."""
    rows: Floats = (values[..., None] == np.arange(total)).astype(np.float64)
    return rows
