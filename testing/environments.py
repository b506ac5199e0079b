"""Checks of worlds with steps: they repeat, end, and keep to what they say of themselves."""

from collections.abc import Callable, Sequence

import numpy as np

from ecsuite.games.config.registry import ENVIRONMENTS
from ecsuite.games.environments.environment import Environment, Floats, Integers, Moment
from ecsuite.games.environments.fitting import require_described, require_fitting, stepped
from ecsuite.parts.registry import read_part
from ecsuite.runtime.errors import ConfigError
from ecsuite.testing.check import Check, bound, require

BATCH = 6
"""Episodes side by side."""
Make = Callable[[], Environment]


def checks(kind: str, name: str, settings: Sequence[str]) -> list[Check]:
    """The checks of a world with steps. See `ecsuite.testing.checks`."""
    if settings:
        raise ConfigError(
            f"--set: an environment is tried alone: give its options after its name, {name},key=value"
        )
    part = read_part(ENVIRONMENTS, [("", name)], kind)

    def make() -> Environment:
        environment: Environment = ENVIRONMENTS.make(part)
        require_described(environment)
        return environment

    return bound(ALL, lambda: make)


def _episode(environment: Environment, episodes: Sequence[int], seed: int = 3) -> list[tuple[Moment, Floats]]:
    """Moments and the rewards that led to them, with actions that are pure functions of step and episode."""
    numbers = np.array(episodes)
    moment = environment.reset(seed, numbers)
    require_fitting(environment, moment, len(numbers), "reset")
    played = [(moment, np.zeros((len(numbers), len(environment.agents))))]
    for step in range(environment.max_steps):
        chosen = [
            (np.random.default_rng(step).integers(spec.num_actions, size=99)[numbers % 99] + agent)
            % spec.num_actions
            for agent, spec in enumerate(environment.agents)
        ]
        moment, rewards = _stepped(environment, moment, np.stack(chosen, 1) * moment.active, step)
        played.append((moment, np.asarray(rewards)))
        if moment.done.all():
            break
    return played


def _stepped(environment: Environment, moment: Moment, actions: Integers, step: int) -> tuple[Moment, Floats]:
    """A step of episodes; who refuses actions that it says it has is told which."""
    try:
        return stepped(environment, moment, actions)
    except AssertionError as error:
        highest = ", ".join(map(str, actions.max(0)))
        raise AssertionError(f"step {step}, with actions up to {highest} of each agent: {error}") from error


def _equal(one: tuple[Moment, Floats], other: tuple[Moment, Floats], was_done: np.ndarray) -> bool:
    """Whether two moments, and the rewards before, are the same, in episodes that were not over before."""
    arrays = [(*_arrays(moment), rewards) for moment, rewards in (one, other)]
    return all(np.array_equal(a[~was_done], b[~was_done]) for a, b in zip(*arrays, strict=True))


def _arrays(moment: Moment) -> tuple[np.ndarray, ...]:
    """All that a moment says of each episode."""
    told = (moment.heard, moment.active, moment.speaking, moment.acting, moment.right)
    known = (np.zeros(len(moment.done)) if each is None else each for each in told)
    return (*moment.observations, *known, moment.done, moment.meanings)


def _compared(one: list[tuple[Moment, Floats]], other: list[tuple[Moment, Floats]]) -> int | None:
    """The first step at which two batches of episodes differ; None: they do not."""
    was_done = np.zeros(len(one[0][0].done), bool)
    for step, (first, second) in enumerate(zip(one, other, strict=False)):
        if not _equal(first, second, was_done):
            return step
        was_done = first[0].done
    return None if len(one) == len(other) else min(len(one), len(other))


def it_repeats(make: Make) -> None:
    """The same seed, episodes and actions give the same observations, rewards and ends."""
    step = _compared(_episode(make(), range(BATCH)), _episode(make(), range(BATCH)))
    require(step is None, f"two times the same episodes: they differ at step {step}")


def it_forgets(make: Make) -> None:
    """Episodes do not depend on those that were played before."""
    environment = make()
    first = _episode(environment, range(BATCH))
    _episode(environment, range(BATCH, 2 * BATCH))
    step = _compared(first, _episode(environment, range(BATCH)))
    require(step is None, f"the same episodes again, after others: they differ at step {step}")


def episodes_stand_alone(make: Make) -> None:
    """An episode does not depend on those beside it."""
    both, alone = _episode(make(), range(BATCH)), _episode(make(), [BATCH - 1])
    was_done = False
    for step, ((moment, rewards), (own, own_rewards)) in enumerate(zip(both, alone, strict=False)):
        pairs = [*zip(_arrays(moment), _arrays(own), strict=True), (rewards, own_rewards)]
        same = all(np.allclose(one[-1:], other, atol=1e-9) for one, other in pairs)
        require(
            was_done or same, f"episode {BATCH - 1} alone is another one than beside others, at step {step}"
        )
        was_done = was_done or bool(own.done[0])


def episodes_differ(make: Make) -> None:
    """Episodes of other numbers, and of other seeds, are other ones."""
    environment, numbers = make(), range(4 * BATCH)
    first = _episode(environment, numbers)
    others = (
        _episode(environment, numbers, seed=4),
        _episode(environment, [each + 1000 for each in numbers]),
    )
    for what, other in zip(("seeds 3 and 4 give", "episodes from 0 and from 1000 are"), others, strict=True):
        require(_compared(first, other) is not None, f"{what} the same episodes")


def episodes_end(make: Make) -> None:
    """Every episode is over after `max_steps`, and rewards are finite."""
    environment = make()
    played = _episode(environment, range(BATCH))
    require(bool(played[-1][0].done.all()), f"episodes are not over after max_steps, {environment.max_steps}")
    for step, (_, rewards) in enumerate(played):
        require(bool(np.isfinite(rewards).all()), f"step {step}: a reward is not finite")


def hearers_hear_speakers(make: Make) -> None:
    """Agents hear agents that speak, and as many as they say."""
    environment = make()
    specs = environment.agents
    may_speak = np.array([*(spec.speaks for spec in specs), True])
    for step, (moment, _) in enumerate(_episode(environment, range(BATCH))):
        for agent, spec in enumerate(specs):
            heard = moment.heard[:, agent, : spec.num_heard]
            require(
                bool(((heard >= -1) & (heard < len(specs))).all()),
                f"step {step}: {spec.name} hears agents that are not there",
            )
            require(
                bool(may_speak[heard].all()), f"step {step}: {spec.name} hears an agent that does not speak"
            )


ALL = (it_repeats, it_forgets, episodes_stand_alone, episodes_differ, episodes_end, hearers_hear_speakers)
