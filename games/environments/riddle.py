"""The switch riddle (Foerster et al. 2016, arXiv 1605.06676): prisoners, a room that they visit, and a switch in it."""

from dataclasses import dataclass
from math import comb

import numpy as np
from numpy.typing import NDArray

from ecsuite.games.environments.environment import AgentSpec, Environment, Floats, Integers, Moment, choices
from ecsuite.parts.config import Levels


class Riddle(Environment):
    """Each day one prisoner is in the room, hears what was said there the day before, and may tell that all were there.

    Telling ends the episode: its reward is 1 if all have been there, and -1 if not; there is none after the last day,
    day 4 n - 6 of n prisoners, at least 2. A prisoner sees whether it is in the room, and only there acts and speaks.
    """

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options:
        """Options of the riddle."""

        num_prisoners: Levels = 3
        """Prisoners."""

    attribute_names = ("day", "others", "visits")
    options: Options

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        number = options.num_prisoners
        self.agents = tuple(
            AgentSpec(name=f"prisoner_{each}", num_features=1, num_actions=2, num_heard=1)
            for each in range(number)
        )
        self.max_steps = max(4 * number - 6, 2)
        self.silent_reward = _without_messages(number, self.max_steps)

    def reset(self, seed: int, episodes: Integers) -> Moment:
        """See the base class."""
        number = self.options.num_prisoners
        visitors = choices(seed, "visitors", episodes, self.max_steps, number)
        return self._moment(
            visitors, np.zeros((len(episodes), number), np.int64), 0, np.zeros(len(episodes), bool)
        )

    def step(self, moment: Moment, actions: Integers) -> tuple[Moment, Floats]:
        """See the base class."""
        visitors, visits, day = moment.inner
        here = np.arange(len(visitors)), visitors[:, day]
        told = actions[here] == 1
        reward = np.where(told, np.where((visits > 0).all(1), 1.0, -1.0), 0.0)
        done = moment.done | told
        rewards = np.repeat(reward[:, None], visits.shape[1], axis=1)
        return self._moment(visitors, visits, day + 1, done | (day + 1 >= self.max_steps)), rewards

    def _moment(self, visitors: Integers, before: Integers, day: int, done: NDArray[np.bool_]) -> Moment:
        """The moment on a day; `before` are the visits of each on the days before, (batch, num_prisoners)."""
        batch, number = before.shape
        active = np.zeros((batch, number), bool)
        heard = np.full((batch, number, 1), -1)
        visits = before
        if day < self.max_steps:
            rows, here = np.arange(batch), visitors[:, day]
            active[rows, here] = True
            visits = before + active
            if day > 0:
                heard[rows, here, 0] = visitors[:, day - 1]
        others = (visits > 0).sum(1, keepdims=True) - (visits > 0)
        meanings = np.stack([np.full((batch, number), day), others, visits], 2)
        return Moment(
            observations=tuple(active[:, each, None].astype(np.float64) for each in range(number)),
            heard=heard,
            active=active,
            done=done,
            meanings=meanings,
            inner=(visitors, visits, day),
        )


def _without_messages(number: int, days: int) -> float:
    """Reward of prisoners that remember their own visits, and of whom the last one tells if that is likely right.

    It has been there on k of the days before; on the others, one of the n - 1 others was there, each equally likely,
    and all of them were with the probability that inclusion and exclusion give.
    """
    others, total = number - 1, 0.0
    for own in range(days):
        left = days - 1 - own
        right = sum(
            (-1) ** missing * comb(others, missing) * (1 - missing / others) ** left
            for missing in range(number)
        )
        likely = comb(days - 1, own) * (1 / number) ** own * (others / number) ** left
        total += likely * max(0.0, 2 * right - 1)
    return total
