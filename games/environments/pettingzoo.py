"""Adapters for PettingZoo's parallel interface: environments of PettingZoo in ecsuite, and of ecsuite in PettingZoo.

Example:
    from mpe2 import simple_spread_v3
    from ecsuite.games.environments.pettingzoo import FromPettingZoo

    class Spread(FromPettingZoo):              # in mine.py; then: --set play.environment=./mine.py:Spread
        make = staticmethod(simple_spread_v3.parallel_env)

    env = to_pettingzoo(environment, num_symbols=3)    # a pettingzoo.ParallelEnv
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ecsuite.games.environments.environment import AgentSpec, Environment, Floats, Integers, Moment, one_hot
from ecsuite.parts.config import Count
from ecsuite.runtime.errors import ConfigError, missing_extra

METHODS = ("reset", "step", "observation_space", "action_space", "possible_agents")
"""Attributes required of a PettingZoo environment."""


class FromPettingZoo(Environment):
    """A PettingZoo environment with a broadcast channel: all other agents hear every speaker, one step later.

    Subclasses set `make`. Observations are vectors (boxes, flattened) and actions discrete; all agents stay until the
    end. The seed of an episode is derived from the run's seed and the episode's number.

    Raises:
        ConfigError: If the result of `make` has another interface.
    """

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options:
        """Options of environments of PettingZoo."""

        num_steps: Count = 100
        """Maximum number of steps per episode."""

    make: ClassVar[Callable[[], Any]]
    """Factory of environments, such as `mpe2.simple_spread_v3.parallel_env`."""
    speakers: ClassVar[tuple[str, ...] | None] = None
    """Names of the agents that speak; None: all."""
    attribute_names = ("step",)

    def __init__(self, options: Any) -> None:
        super().__init__(options)
        self.name, self.max_steps = type(self).__name__, options.num_steps
        if not callable(getattr(type(self), "make", None)):
            raise ConfigError(
                f"environment {self.name}: expected `make`, which returns a parallel environment"
            )
        self.spare = [type(self).make()]
        env = self.spare[0]
        if missing := [method for method in METHODS if not hasattr(env, method)]:
            raise ConfigError(
                f"environment {self.name}: expected PettingZoo's parallel interface, but {type(env).__name__} has no "
                f"{', '.join(missing)}"
            )
        self.names: list[str] = list(env.possible_agents)
        speakers = self.names if self.speakers is None else self.speakers
        for name in speakers:
            if name not in self.names:
                raise ConfigError(
                    f"environment {self.name}: speaker {name} is not one of {', '.join(self.names)}"
                )
        self.agents = tuple(
            AgentSpec(
                name=name,
                num_features=_size(env.observation_space(name), self.name, name),
                num_actions=_number(env.action_space(name), self.name, name),
                speaks=name in speakers,
                num_heard=len(set(speakers) - {name}),
            )
            for name in self.names
        )
        most = max(agent.num_heard for agent in self.agents)
        self.heard = np.full((len(self.names), most), -1)
        for number, name in enumerate(self.names):
            others = [self.names.index(each) for each in speakers if each != name]
            self.heard[number, : len(others)] = others

    def reset(self, seed: int, episodes: Integers) -> Moment:
        """See the base class."""
        envs, observations = [], []
        while len(self.spare) < len(episodes):
            self.spare.append(type(self).make())
        for env, episode in zip(self.spare, episodes.tolist(), strict=False):
            words = np.random.SeedSequence([seed, episode]).generate_state(1)
            observations.append(env.reset(seed=int(words[0] >> 1))[0])
            envs.append(env)
        return self._moment(envs, observations, np.zeros(len(envs), bool), 0)

    def step(self, moment: Moment, actions: Integers) -> tuple[Moment, Floats]:
        """See the base class."""
        envs, before, step = moment.inner
        done, observations = moment.done.copy(), list(before)
        rewards = np.zeros((len(envs), len(self.names)))
        for row, env in enumerate(envs):
            if done[row]:
                continue
            chosen = dict(zip(self.names, actions[row].tolist(), strict=True))
            observations[row], got, ended, cut, _ = env.step(chosen)
            over = [bool(ended.get(name, True) or cut.get(name, True)) for name in self.names]
            if any(over) and not all(over):
                left = ", ".join(name for name, is_over in zip(self.names, over, strict=True) if is_over)
                raise ConfigError(
                    f"environment {self.name}: {left} left at step {step + 1} before others: expected agents that stay"
                )
            rewards[row] = [got.get(name, 0.0) for name in self.names]
            done[row] = all(over)
            observations[row] = {**before[row], **observations[row]}
        return self._moment(envs, observations, done | (step + 1 >= self.max_steps), step + 1), rewards

    def _moment(self, envs: Any, observations: Any, done: Any, step: int) -> Moment:
        shape = (len(envs), len(self.names))
        return Moment(
            observations=tuple(
                np.stack([np.asarray(each[name], np.float64).ravel() for each in observations])
                for name in self.names
            ),
            heard=np.broadcast_to(self.heard, (len(envs), *self.heard.shape)),
            active=np.ones(shape, bool),
            done=done,
            meanings=np.full((*shape, 1), step),
            inner=(envs, observations, step),
        )


def _size(space: Any, name: str, agent: str) -> int:
    """Width of the observations of a space."""
    shape = getattr(space, "shape", None)
    if hasattr(space, "n") or not shape:
        raise ConfigError(f"environment {name}: expected vectors as observations of {agent}, got {space}")
    return int(np.prod(shape))


def _number(space: Any, name: str, agent: str) -> int:
    """Number of actions of a space."""
    if not hasattr(space, "n") or int(getattr(space, "start", 0)) != 0:
        raise ConfigError(f"environment {name}: expected discrete actions of {agent}, from 0, got {space}")
    return int(space.n)


def to_pettingzoo(environment: Environment, *, num_symbols: int, seed: int = 1) -> Any:
    """Wrap an environment as a `pettingzoo.ParallelEnv`.

    The action of an agent that speaks is action + num_actions * symbol, as in mpe2; symbols that an agent hears are
    appended to the observation, one-hot. Each reset begins the next episode; `reset(seed=...)` begins with episode 0
    of a seed.

    Args:
        environment: The environment.
        num_symbols: Vocabulary size; a message is one symbol.
        seed: Seed until `reset` gets one.

    Raises:
        ConfigError: If PettingZoo is not installed.
    """
    try:
        from gymnasium.spaces import Box, Discrete
        from pettingzoo import ParallelEnv
    except ImportError:
        raise missing_extra("PettingZoo's environments need pettingzoo", "pettingzoo") from None

    specs = {spec.name: spec for spec in environment.agents}

    class World(ParallelEnv):  # type: ignore[misc]
        metadata: ClassVar[Mapping[str, Any]] = {"name": type(environment).__name__, "render_modes": []}
        possible_agents: ClassVar[list[str]] = list(specs)

        def __init__(self) -> None:
            self.seed, self.episode, self.agents = seed, -1, list[str]()
            self.observation_spaces, self.action_spaces = {}, {}
            for name, spec in specs.items():
                width = spec.num_features + spec.num_heard * num_symbols
                self.observation_spaces[name] = Box(-np.inf, np.inf, (width,), np.float32)
                self.action_spaces[name] = Discrete(spec.num_actions * (num_symbols if spec.speaks else 1))

        def observation_space(self, agent: str) -> Any:
            return self.observation_spaces[agent]

        def action_space(self, agent: str) -> Any:
            return self.action_spaces[agent]

        def reset(
            self, seed: int | None = None, options: Any = None
        ) -> tuple[dict[str, Any], dict[str, Any]]:
            if seed is not None:
                self.seed, self.episode = seed, -1
            self.episode += 1
            self.moment = environment.reset(self.seed, np.array([self.episode]))
            self.agents, self.said = list(specs), np.full(len(specs) + 1, -1)
            return self._seen(), {agent: {} for agent in specs}

        def step(self, actions: Mapping[str, int]) -> tuple[dict[str, Any], ...]:
            chosen = np.zeros((1, len(specs)), np.int64)
            for number, (agent, spec) in enumerate(specs.items()):
                action = int(actions.get(agent, -1))
                if not 0 <= action < (number_of := self.action_spaces[agent].n):
                    raise ConfigError(
                        f"action {actions.get(agent)} of {agent}: expected 0 to {number_of - 1}"
                    )
                chosen[0, number] = action % spec.num_actions if self.moment.active[0, number] else 0
                self.said[number] = action // spec.num_actions if spec.speaks else -1
            self.moment, rewards = environment.step(self.moment, chosen)
            ends = dict.fromkeys(specs, bool(self.moment.done[0]))
            self.agents = [] if self.moment.done[0] else self.agents
            got = dict(zip(specs, rewards[0].tolist(), strict=True))
            return self._seen(), got, ends, dict.fromkeys(specs, False), {agent: {} for agent in specs}

        def _seen(self) -> dict[str, Any]:
            seen = {}
            for number, (agent, spec) in enumerate(specs.items()):
                heard = self.said[self.moment.heard[0, number, : spec.num_heard]]  # -1: no message
                parts = [self.moment.observations[number][0], one_hot(heard, num_symbols).ravel()]
                seen[agent] = np.concatenate(parts).astype(np.float32)
            return seen

    return World()
