"""Environments whose agents see what others see, in place of hearing them: references for the worth of messages."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ecsuite.games.environments.environment import Environment, Floats, Integers, Moment, one_hot
from ecsuite.games.environments.fitting import require_fitting, stepped

Broadcasts = Literal["nothing", "heard", "all"]
"""Views of others in place of messages: see `Broadcast`."""
FACTS = (
    *("max_steps", "attribute_names", "silent_reward", "silent_accuracy", "oracle_reward"),
    *("right_reward", "tells_right", "steps_per_turn", "other_purposes"),
)
"""Attributes of an environment that are those of the environment in it."""


class Broadcast(Environment):
    """An environment in which no message arrives, and agents see what others see and do.

    With `heard`, in the place and at the time of each message: what its speaker saw at that step, then what it did,
    one-hot, filled with zeros up to the width of the speaker with most of each. With `all`, at each step what all other
    agents see at that step.

    Args:
        environment: The environment in it.
        broadcasts: heard or all.
    """

    def __init__(self, environment: Environment, broadcasts: Broadcasts) -> None:
        super().__init__(environment.options)
        self.environment, self.broadcasts, specs = environment, broadcasts, environment.agents
        for name in FACTS:
            setattr(self, name, getattr(environment, name))
        speakers = [spec for spec in specs if spec.speaks]
        self.num_seen = max(spec.num_features for spec in speakers)
        self.num_done = max(spec.num_actions if spec.num_actions > 1 else 0 for spec in speakers)
        total, width = sum(spec.num_features for spec in specs), self.num_seen + self.num_done
        self.agents = tuple(
            replace(
                spec,
                num_features=total if broadcasts == "all" else spec.num_features + spec.num_heard * width,
            )
            for spec in specs
        )

    def reset(self, seed: int, episodes: Integers) -> Moment:
        """See the base class."""
        moment = self.environment.reset(seed, episodes)
        require_fitting(self.environment, moment, len(episodes), "reset")
        nothing = np.zeros((len(episodes), len(self.agents) + 1, self.num_seen + self.num_done))
        return self._seeing(moment, nothing)

    def step(self, moment: Moment, actions: Integers) -> tuple[Moment, Floats]:
        """See the base class."""
        before: Moment = moment.inner
        after, rewards = stepped(self.environment, before, actions)
        told = np.zeros((len(actions), len(self.agents) + 1, self.num_seen + self.num_done))  # first: nobody
        for number, (seen, spec) in enumerate(zip(before.observations, self.environment.agents, strict=True)):
            if spec.speaks:
                told[:, number + 1, : seen.shape[1]] = seen
                if spec.num_actions > 1:
                    told[:, number + 1, self.num_seen :] = one_hot(actions[:, number], self.num_done)
        return self._seeing(after, told), rewards

    def columns(self, seed: int, episodes: Integers) -> Mapping[str, NDArray[Any]]:
        """See the base class."""
        return self.environment.columns(seed, episodes)

    def notes(self, seed: int) -> Any:
        """See the base class."""
        return self.environment.notes(seed)

    def _seeing(self, moment: Moment, told: Floats) -> Moment:
        """State in which agents see what is told by each agent before, (batch, 1 + num_agents, width), or all."""
        rows, observations = np.arange(len(told))[:, None], list[Floats]()
        for number, spec in enumerate(self.environment.agents):
            others = [seen for other, seen in enumerate(moment.observations) if other != number]
            if self.broadcasts == "heard":
                others = [told[rows, moment.heard[:, number, : spec.num_heard] + 1].reshape(len(told), -1)]
            observations.append(np.concatenate([moment.observations[number], *others], 1))
        heard = np.full_like(moment.heard, -1)
        return replace(moment, observations=tuple(observations), heard=heard, inner=moment)
