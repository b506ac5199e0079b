"""The switch riddle (Foerster et al. 2016, arXiv 1605.06676): prisoners, a room that they visit, and a switch in it."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from ecsuite.games.environments.environment import AgentSpec, Environment, Floats, Integers, Moment, choices
from ecsuite.parts.config import Levels

MOST_COMPUTED = 6
"""Prisoners for whom the best reward without messages is computed, in a tenth of a second; of more it takes seconds."""
ROUNDING = 1e-12
"""Far more than the sums of some thousand products below 1 are rounded by; of equal choices the prisoners wait."""


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
        if number <= MOST_COMPUTED:
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


@cache
def _without_messages(number: int, days: int) -> float:
    """Reward of the best prisoners that hear nothing and tell by the day and the number of their own visits.

    From prisoners that never tell, the choices of one day after the other, beginning with the last, are made the best
    of all given the choices of the other days, until none changes. Only how often the prisoners were there counts, not
    who was there how often: a state is the sorted numbers of their visits. For two and three prisoners nothing that
    prisoners without messages could do is better, also by different rules and by the days of their visits.
    """
    states: list[set[tuple[int, ...]]] = [{(0,) * number}]
    for _ in range(days):
        states.append({after for state in states[-1] for _, _, after in _visits(state)})
    tells: set[tuple[int, int]] = set()
    before = None
    while before != tells:
        before = tells.copy()
        reached = [dict.fromkeys(of_day, 0.0) for of_day in states]
        reached[0][(0,) * number] = 1.0
        for day in range(days):
            for state, likely in reached[day].items():
                for own, share, after in _visits(state):
                    reached[day + 1][after] += likely * share * ((day, own) not in tells)
        rewards = dict.fromkeys(states[-1], 0.0)
        """From a state on, if nobody has told yet."""
        for day in reversed(range(days)):
            gains: dict[int, float] = {}
            for state, likely in reached[day].items():
                for own, share, after in _visits(state):
                    gain = likely * share * (_reward(after) - rewards[after])
                    gains[own] = gains.get(own, 0.0) + gain
            tells -= {(day, own) for own in gains}
            tells |= {(day, own) for own, gain in gains.items() if gain > ROUNDING}
            rewards = {
                state: sum(
                    share * (_reward(after) if (day, own) in tells else rewards[after])
                    for own, share, after in _visits(state)
                )
                for state in states[day]
            }
    return rewards[(0,) * number]


def _visits(state: tuple[int, ...]) -> Iterator[tuple[int, float, tuple[int, ...]]]:
    """Who may come next: the visits it had before, how likely that is, and the state after it."""
    for own in set(state):
        place = state.index(own)
        after = tuple(sorted((*state[:place], own + 1, *state[place + 1 :])))
        yield own, state.count(own) / len(state), after


def _reward(state: tuple[int, ...]) -> float:
    """What telling in a state is worth."""
    return 1.0 if state[0] else -1.0
