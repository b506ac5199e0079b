"""Particle environments with landmarks: a speaker and a listener, and two agents that know each other's goal.

Both environments have the observations, motion and rewards of `simple_speaker_listener` and `simple_reference` of
mpe2 1.1.1, the multi-agent particle environments of Lowe et al. (2017, arXiv 1706.02275) after Mordatch and Abbeel
(2018), in float64: equal positions, goals and actions give equal results
(`tests/games/environments/test_landmarks.py` compares with the package, or with recorded figures if it is not
installed). Positions are drawn differently.
"""

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ecsuite.games.environments.environment import (
    AgentSpec,
    Environment,
    Floats,
    Integers,
    Moment,
    choices,
    shares,
)
from ecsuite.parts.config import Count

NUM_LANDMARKS = 3
INTERVAL, DAMPING, FORCE = 0.1, 0.25, 5.0
"""Duration of a step, share of velocity lost in a step, and force of an action."""
MOVES = np.array([[0, 0], [-1, 0], [1, 0], [0, -1], [0, 1]], dtype=np.float64)
"""Directions of the actions: none, left, right, down, up."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LandmarkOptions:
    """Options of environments with landmarks."""

    num_steps: Count = 25
    """Number of steps per episode."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _State:
    positions: Floats
    """Positions of moving agents, (batch, num_movers, 2)."""
    velocities: Floats
    landmarks: Floats
    """Positions of the landmarks, (batch, NUM_LANDMARKS, 2)."""
    goals: Integers
    """Index of the landmark that each speaker knows, (batch, num_speakers)."""
    step: int


class Landmarks(Environment):
    """Base class of environments in which agents move to landmarks."""

    Options = LandmarkOptions
    attribute_names = ("goal",)
    num_movers: ClassVar[int]
    num_speakers: ClassVar[int]
    colours: ClassVar[Floats]
    """Observation of a speaker for each goal, (NUM_LANDMARKS, 3)."""
    num_script_symbols = NUM_LANDMARKS

    def __init__(self, options: Any) -> None:
        super().__init__(options)
        self.max_steps = options.num_steps

    def reset(self, seed: int, episodes: Integers) -> Moment:
        """See the base class."""
        number = self.num_movers + NUM_LANDMARKS
        places = 2 * shares(seed, "places", episodes, 2 * number).reshape(-1, number, 2) - 1
        goals = choices(seed, "goals", episodes, self.num_speakers, NUM_LANDMARKS)
        return self.begin(places[:, : self.num_movers], places[:, self.num_movers :], goals)

    def begin(self, positions: Floats, landmarks: Floats, goals: Integers) -> Moment:
        """Begin episodes with these positions of agents and landmarks, and these goals; see `_State`."""
        return self._moment(
            _State(
                positions=positions,
                velocities=np.zeros_like(positions),
                landmarks=landmarks,
                goals=goals,
                step=0,
            )
        )

    def step(self, moment: Moment, actions: Integers) -> tuple[Moment, Floats]:
        """See the base class."""
        state: _State = moment.inner
        moves = MOVES[actions[:, len(self.agents) - self.num_movers :]]
        after = _State(
            positions=state.positions + state.velocities * INTERVAL,
            velocities=state.velocities * (1 - DAMPING) + FORCE * moves * INTERVAL,
            landmarks=state.landmarks,
            goals=state.goals,
            step=state.step + 1,
        )
        return self._moment(after), self.rewards(after)

    @abstractmethod
    def rewards(self, state: _State) -> Floats:
        """Rewards of the agents, (batch, num_agents)."""

    def _moment(self, state: _State) -> Moment:
        batch, number = len(state.goals), len(self.agents)
        seen = self.colours[state.goals]  # (batch, num_speakers, 3)
        around = (state.landmarks[:, None] - state.positions[:, :, None]).reshape(batch, self.num_movers, -1)
        felt = np.concatenate([state.velocities, around], 2)  # (batch, num_movers, 2 + 2 * NUM_LANDMARKS)
        if self.num_movers == number:
            observations = tuple(np.concatenate([felt, seen], 2).transpose(1, 0, 2))
        else:
            observations = (seen[:, 0], felt[:, 0])
        meanings = np.zeros((batch, number, 1), np.int64)
        meanings[:, : self.num_speakers, 0] = state.goals
        return Moment(
            observations=observations,
            heard=np.broadcast_to(self._partners(), (batch, number, 1)),
            active=np.ones((batch, number), bool),
            done=np.full(batch, state.step >= self.max_steps),
            meanings=meanings,
            inner=state,
        )

    def _partners(self) -> Integers:
        """Index of the agent that each agent hears, (num_agents, 1); -1: none."""
        return np.array(
            [[-1 if agent.num_heard == 0 else 1 - number] for number, agent in enumerate(self.agents)]
        )

    def script(
        self, agent: int, seen: Floats, heard: Integers, memory: dict[str, Any]
    ) -> tuple[Integers, Integers]:
        """Send the index of the goal, and go to the landmark whose index was heard last; see the base class.

        The action is chosen that lets the agent come to rest nearest to the goal.
        """
        spec, batch = self.agents[agent], len(seen)
        symbols = seen[:, -3:].argmax(1) + 1 if spec.speaks else np.ones(batch, np.int64)
        if spec.num_actions == 1:
            return np.zeros(batch, np.int64), symbols
        goal = np.where(heard[:, 0] > 0, heard[:, 0] - 1, memory.get("goal", np.full(batch, -1)))
        memory["goal"] = goal
        velocity, around = seen[:, :2], seen[:, 2 : 2 + 2 * NUM_LANDMARKS].reshape(batch, NUM_LANDMARKS, 2)
        target = np.where(
            (goal >= 0)[:, None],
            np.take_along_axis(around, goal.clip(0)[:, None, None], 1)[:, 0],
            around.mean(1),
        )
        after = velocity[:, None] * (1 - DAMPING) + FORCE * MOVES * INTERVAL  # (batch, actions, 2)
        rest = velocity[:, None] * INTERVAL + after * INTERVAL / DAMPING
        return ((rest - target[:, None]) ** 2).sum(2).argmin(1), symbols


def _colours(high: float, low: float) -> Floats:
    colours: Floats = np.where(np.eye(NUM_LANDMARKS, 3) == 1, high, low)
    return colours


class SpeakerListener(Landmarks):
    """A speaker that sees which landmark is the goal, and a listener that moves and can't distinguish the landmarks.

    Both get minus the squared distance of the listener from the goal at each step.
    """

    num_movers, num_speakers, colours = 1, 1, _colours(0.65, 0.15)
    agents = (
        AgentSpec(name="speaker", num_features=3),
        AgentSpec(
            name="listener", num_features=2 + 2 * NUM_LANDMARKS, num_actions=5, speaks=False, num_heard=1
        ),
    )

    def rewards(self, state: _State) -> Floats:
        """See the base class."""
        goal = np.take_along_axis(state.landmarks, state.goals[:, :1, None], 1)[:, 0]
        return np.repeat(-((state.positions[:, 0] - goal) ** 2).sum(1)[:, None], 2, axis=1)


class Reference(Landmarks):
    """Two agents that move and speak, each of which sees the goal of the other.

    The reward of an agent is the mean of minus the other agent's distance from its goal and the average of this term
    over both agents.
    """

    num_movers, num_speakers, colours = 2, 2, _colours(0.75, 0.25)
    agents = tuple(
        AgentSpec(name=f"agent_{number}", num_features=2 + 2 * NUM_LANDMARKS + 3, num_actions=5, num_heard=1)
        for number in range(2)
    )

    def rewards(self, state: _State) -> Floats:
        """See the base class."""
        goals = np.take_along_axis(state.landmarks, state.goals[:, :, None], 1)  # (batch, 2, 2)
        own = -np.sqrt(((state.positions[:, ::-1] - goals) ** 2).sum(2))
        rewards: Floats = 0.5 * own.mean(1, keepdims=True) + 0.5 * own
        return rewards
