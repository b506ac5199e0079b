"""A grid with a guide that sees the walker and the goal, and a walker that does not."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecsuite.games.environments.environment import (
    AgentSpec,
    Environment,
    Floats,
    Integers,
    Moment,
    choices,
    one_hot,
)
from ecsuite.parts.config import Count, Levels, Weight

MOVES = np.array([[0, 0], [-1, 0], [1, 0], [0, -1], [0, 1]])
"""Offsets in rows and columns of the actions: stay, up, down, left, right."""


class GuidedGrid(Environment):
    """A guide sees the positions of a walker and its goal on a grid; the walker only sees whether it is at an edge.

    Messages of the guide arrive one step later. Both agents get 1 when the walker reaches the goal, which ends the
    episode, and lose `cost` at every step. Walls stop the walker.
    """

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options:
        """Options of the grid."""

        size: Levels = 5
        """Number of rows and of columns."""
        num_steps: Count = 12
        """Most steps of an episode."""
        cost: Weight = 0.02
        """Cost of a step."""

    attribute_names = ("goal_row", "goal_column", "row", "column")
    num_script_symbols = len(MOVES)
    options: Options

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        self.max_steps = options.num_steps
        cells = _cells(np.arange(options.size**2), options.size)
        steps = np.abs(cells[:, None] - cells).sum(2)[~np.eye(len(cells), dtype=bool)]
        is_near = steps <= options.num_steps
        self.oracle_reward = float(
            (is_near - options.cost * np.where(is_near, steps, options.num_steps)).mean()
        )
        self.agents = (
            AgentSpec(name="guide", num_features=4 * options.size),
            AgentSpec(name="walker", num_features=4, num_actions=len(MOVES), speaks=False, num_heard=1),
        )

    def reset(self, seed: int, episodes: Integers) -> Moment:
        """See the base class."""
        size = self.options.size
        cells = choices(seed, "cells", episodes, 1, size**2)[:, 0]
        goals = (cells + 1 + choices(seed, "goals", episodes, 1, size**2 - 1)[:, 0]) % size**2
        return self._moment(_cells(cells, size), _cells(goals, size), np.zeros(len(episodes), bool), 0)

    def step(self, moment: Moment, actions: Integers) -> tuple[Moment, Floats]:
        """See the base class."""
        places, goals, step = moment.inner
        places = (places + MOVES[actions[:, 1]]).clip(0, self.options.size - 1)
        is_there = (places == goals).all(1)
        rewards = np.repeat((is_there - self.options.cost)[:, None], 2, axis=1)
        return self._moment(
            places, goals, moment.done | is_there | (step + 1 >= self.max_steps), step + 1
        ), rewards

    def _moment(self, places: Integers, goals: Integers, done: NDArray[np.bool_], step: int) -> Moment:
        """State with walkers and goals at these rows and columns, (batch, 2) each."""
        size, batch = self.options.size, len(places)
        both = np.concatenate([goals, places], 1)
        edges = np.concatenate([places == 0, places == size - 1], 1).astype(np.float64)
        heard = np.full((batch, 2, 1), -1)
        heard[:, 1] = 0
        return Moment(
            observations=(one_hot(both, size).reshape(batch, -1), edges),
            heard=heard,
            active=np.ones((batch, 2), bool),
            done=done,
            meanings=np.repeat(both[:, None], 2, axis=1),
            inner=(places, goals, step),
        )

    def script(
        self, agent: int, seen: Floats, heard: Integers, memory: dict[str, Any]
    ) -> tuple[Integers, Integers]:
        """Say the best move after the one before, or make the move that was heard: see the base class."""
        batch = len(seen)
        if agent == 1:
            return (heard[:, 0] - 1).clip(0), np.ones(batch, np.int64)
        goals, places = np.split(seen.reshape(batch, 4, -1).argmax(2), 2, axis=1)
        said = memory.get("said", np.zeros(batch, np.int64))
        soon = (places + MOVES[said]).clip(0, self.options.size - 1)
        steps = np.abs((soon[:, None] + MOVES) - goals[:, None]).sum(2)
        memory["said"] = steps.argmin(1)
        return np.zeros(batch, np.int64), memory["said"] + 1


def _cells(numbers: Integers, size: int) -> Integers:
    return np.stack([numbers // size, numbers % size], 1)
