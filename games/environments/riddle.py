"""The switch riddle (Foerster et al. 2016, arXiv 1605.06676): prisoners, a room that they visit, and a switch in it."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from math import comb

import numpy as np
from numpy.typing import NDArray

from ecsuite.games.environments.environment import AgentSpec, Environment, Floats, Integers, Moment, choices
from ecsuite.parts.config import Levels

MOST_COMPUTED = 6
"""Most prisoners for whom the best reward without messages is computed: 6 take 0.1 s, more take seconds."""
ROUNDING = 1e-12
"""Tolerance, far above the rounding error of sums of some thousand products below 1; on ties, prisoners wait."""


class Riddle(Environment):
    """One prisoner per day is in the room, hears the message of the day before, and may declare that all were there.

    A declaration ends the episode: the reward is 1 if all have been there, and -1 if not. Without one, the reward is 0
    and the episode ends after day 4 n - 6 for n prisoners, at least 2. A prisoner sees whether it is in the room, and
    only there acts and speaks.
    """

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options:
        """Options of the riddle."""

        num_prisoners: Levels = 3
        """Number of prisoners."""

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
        self.oracle_reward = sum(
            (-1) ** absent * comb(number, absent) * (1 - absent / number) ** self.max_steps
            for absent in range(number)
        )
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
        """State on a day; `before`: earlier visits of each prisoner, (batch, num_prisoners)."""
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
    """Expected reward of the best prisoners without messages that decide by the day and the number of their own visits.

    Coordinate ascent: from prisoners that never declare, the decisions of one day at a time, from the last to the
    first, are optimised given those of the other days, until none changes. Only the visit counts matter, not whose they
    are: a state is the sorted counts. For two and three prisoners no other strategy without messages is better, not
    even one with different rules per prisoner or with the days of their visits.
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
        """Expected reward from each state on, if nobody has declared yet."""
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
    """Possible next visits: earlier visits of the visitor, probability, and the state afterwards."""
    for own in set(state):
        place = state.index(own)
        after = tuple(sorted((*state[:place], own + 1, *state[place + 1 :])))
        yield own, state.count(own) / len(state), after


def _reward(state: tuple[int, ...]) -> float:
    """Reward of a declaration in a state."""
    return 1.0 if state[0] else -1.0
