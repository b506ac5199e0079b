"""What a world with steps is: observations, actions, rewards and an end, for many episodes side by side.

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

Messages are no part of it: what is said at a step is heard at the next one, by whom `Moment.heard` says.
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
"""The number of the first episode for each purpose, so that no two share one."""


@dataclass(frozen=True, kw_only=True, slots=True)
class AgentSpec:
    """An agent of a world with steps."""

    name: str
    num_features: int
    """Width of what it sees."""
    num_actions: int = 1
    """Actions to choose from, from 0; 1: there is nothing to choose."""
    speaks: bool = True
    num_heard: int = 0
    """Messages that it may hear at a step."""
    num_symbols: int | None = None
    """Symbols that it may say, from 1; None: all of the channel."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Moment:
    """A batch of episodes between two steps."""

    observations: tuple[Floats, ...]
    """What each agent sees, (batch, num_features) each."""
    heard: Integers
    """Whose last message each agent hears, (batch, num_agents, most of num_heard); -1: nobody's."""
    active: NDArray[np.bool_]
    """Whose action and message count at the coming step, (batch, num_agents); the action of others is 0."""
    done: NDArray[np.bool_]
    """Which episodes are over, (batch,)."""
    speaking: NDArray[np.bool_] | None = None
    """Of those that are active: whose message counts, (batch, num_agents); None: that of all."""
    acting: NDArray[np.bool_] | None = None
    """Of those that are active: whose action counts, (batch, num_agents); None: that of all."""
    right: Integers | None = None
    """The right action of each agent at the coming step, (batch, num_agents), -1 where none is; None: nowhere."""
    meanings: Integers
    """What messages of the coming step may be about, (batch, num_agents, num_attributes), by speaker."""
    inner: Any = field(default=None, repr=False)
    """What the world needs for the next step."""


class Environment(ABC):
    """A world with steps.

    Args:
        options: Its `Options`.
    """

    Options: ClassVar[type] = NoOptions
    agents: tuple[AgentSpec, ...]
    max_steps: int
    """An episode is over after so many steps at the latest."""
    attribute_names: tuple[str, ...]
    """Of the attributes of `Moment.meanings`."""
    num_script_symbols: int | None = None
    """Symbols that the agents of `script` use; None: there is no script."""
    silent_reward: float | None = None
    """Reward of an episode that is known for agents that hear nothing; None: it is not known."""
    silent_accuracy: float | None = None
    """Accuracy that is known for agents that hear nothing; None: it is not known."""
    right_reward: float | None = None
    """Reward of an episode in which all was right, of which runs then have an accuracy; None: there is none."""
    tells_right: bool = False
    """Whether moments say which actions are right."""
    steps_per_turn: int | None = None
    """Steps of a turn of a dialogue; None: there are no turns."""
    other_purposes: Mapping[str, str] = MappingProxyType({})
    """Further evaluations by name, such as of objects that are in training: the purpose in `PURPOSES` of each."""

    def __init__(self, options: Any) -> None:
        self.options = options

    def notes(self, seed: int) -> Sequence[str]:
        """Notes for people on the world of a seed, and on the limits of its evaluations."""
        return ()

    @abstractmethod
    def reset(self, seed: int, episodes: Integers) -> Moment:
        """The beginning of episodes, a pure function of the seed and of the number of each, (batch,)."""

    @abstractmethod
    def step(self, moment: Moment, actions: Integers) -> tuple[Moment, Floats]:
        """What follows actions, (batch, num_agents), and the rewards, (batch, num_agents).

        What becomes of episodes that are over does not matter. A moment is used for one step.
        """

    def columns(self, seed: int, episodes: Integers) -> Mapping[str, NDArray[Any]]:
        """What a corpus also says of the episodes of these numbers, by name, (batch,) each: nothing by default."""
        return {}

    def script(
        self, agent: int, seen: Floats, heard: Integers, memory: dict[str, Any]
    ) -> tuple[Integers, Integers]:
        """What an agent does that is not trained and knows the world, to compare with.

        Asked only where `num_script_symbols` says that there is a script.

        Args:
            agent: Its number.
            seen: What it sees, (batch, num_features).
            heard: The first symbol of each message that it hears, (batch, num_heard), from 1; 0: nothing.
            memory: What it remembers of these episodes, empty at the beginning; changed here.

        Returns:
            Its actions and its symbols from 1, (batch,) each.
        """
        raise NotImplementedError


def shares(seed: int, purpose: str, episodes: Integers, number: int) -> Floats:
    """Numbers from 0 to below 1, (batch, number), a pure function of the arguments."""
    words = random_words(seed, purpose, episodes, number)
    numbers: Floats = (words >> np.uint64(11)).astype(np.float64) / 2.0**53
    return numbers


def choices(seed: int, purpose: str, episodes: Integers, number: int, total: int) -> Integers:
    """Whole numbers from 0 to below `total`, (batch, number), a pure function of the arguments."""
    return (shares(seed, purpose, episodes, number) * total).astype(np.int64)


def one_hot(values: Integers, total: int) -> Floats:
    """Whole numbers, (...), as rows with a single 1, (..., total)."""
    rows: Floats = (values[..., None] == np.arange(total)).astype(np.float64)
    return rows
