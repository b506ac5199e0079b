"""PettingZoo's interface, both ways, and what checks find in worlds with steps."""

from types import SimpleNamespace

import numpy as np
import pytest

from ecsuite.games.environments.guided_grid import GuidedGrid
from ecsuite.games.environments.pettingzoo import FromPettingZoo, to_pettingzoo
from ecsuite.games.environments.riddle import Riddle
from ecsuite.runtime.errors import ConfigError
from ecsuite.testing import bound, plays, run


class Coin:
    """Of two agents the first sees a coin, and the second guesses it; no PettingZoo is needed for such a world."""

    possible_agents = ("sees", "guesses")
    leaves = {"sees": True, "guesses": True}  # noqa: RUF012

    def observation_space(self, agent):
        return SimpleNamespace(shape=(2,))

    def action_space(self, agent):
        return SimpleNamespace(shape=(), n=2)

    def reset(self, seed=None):
        self.coin = np.random.default_rng(seed).integers(2)
        return self.seen(), {}

    def seen(self):
        return {"sees": np.eye(2)[self.coin], "guesses": np.zeros(2)}

    def step(self, actions):
        rewards = dict.fromkeys(self.possible_agents, float(actions["guesses"] == self.coin))
        return self.seen(), rewards, self.leaves, dict.fromkeys(self.leaves, False), {}


def adapted(make, speakers=("sees",)):
    return type("Adapted", (FromPettingZoo,), {"make": staticmethod(make), "speakers": speakers})


def problems(make):
    return {str(each.check): each.problem for each in map(run, bound(plays.ENVIRONMENT, lambda: make))}


def test_an_environment_of_pettingzoo_is_one_of_ours():
    world = adapted(Coin)
    assert set(problems(lambda: world(world.Options())).values()) == {None}
    environment = world(world.Options())
    moment = environment.reset(1, np.arange(20))
    coins = moment.observations[0].argmax(1)
    after, rewards = environment.step(moment, np.stack([coins, coins], 1))
    assert (rewards == 1).all() and after.done.all() and moment.heard[0].tolist() == [[-1], [0]]


def gone(self, actions):
    return self.seen(), *({"guesses": number} for number in (1.0, False, False)), {}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"step": property(lambda _: 1 / 0)}, "expected PettingZoo's parallel interface, but"),
        ({"leaves": {"sees": True, "guesses": False}}, "sees left at step 1 before others"),
        ({"step": gone}, "sees left at step 1 before others: expected agents that stay"),
        ({"action_space": lambda *_: SimpleNamespace(shape=(3,))}, "expected discrete actions of sees"),
        ({"observation_space": lambda *_: SimpleNamespace(shape=(), n=2)}, "expected vectors as observations of"),
    ],
    ids=["no step", "an agent leaves", "an agent is gone", "actions", "observations"],
)
def test_what_has_another_interface_is_refused(change, message):
    made = type("Made", (Coin,), change)
    if isinstance(change.get("step"), property):
        made = type("Made", (), {name: getattr(Coin, name) for name in ("reset", "possible_agents")})
    world = adapted(made)
    with pytest.raises(ConfigError, match=f"^environment Adapted: {message}"):
        environment = world(world.Options())
        environment.step(environment.reset(1, np.arange(2)), np.zeros((2, 2), int))


def test_worlds_are_environments_of_pettingzoo():
    tests = pytest.importorskip("pettingzoo.test")
    for environment in (GuidedGrid(GuidedGrid.Options()), Riddle(Riddle.Options())):
        env = to_pettingzoo(environment, num_symbols=5)
        tests.parallel_api_test(env, num_cycles=20)
    env = to_pettingzoo(GuidedGrid(GuidedGrid.Options()), num_symbols=5)
    env.reset(seed=2)
    seen, *_ = env.step({"guide": 3, "walker": 0})
    assert seen["walker"][4:].tolist() == [0, 0, 0, 1, 0]  # what the guide said
    with pytest.raises(ConfigError, match=r"^action 9 of walker: expected 0 to 4$"):
        env.step({"guide": 0, "walker": 9})


class Picky(Coin):
    """Says that there are two actions, and knows one."""

    leaves = dict.fromkeys(("sees", "guesses"), True)

    def step(self, actions):
        if max(actions.values()) > 0:
            raise AssertionError("no such action")
        return super().step(actions)


class Rewardless(GuidedGrid):
    """Gives no rewards."""

    def step(self, moment, actions):
        return super().step(moment, actions)[0]


def test_checks_say_which_actions_were_refused_and_what_is_missing():
    world = adapted(Picky)
    refused = set(problems(lambda: world(world.Options())).values())
    assert "step 0, with actions up to 1, 1 of each agent: no such action" in refused and None not in refused
    missing = set(problems(lambda: Rewardless(Rewardless.Options())).values())
    rewards = "ConfigError: environment Rewardless: expected a Moment and rewards of shape"
    assert missing == {f"{rewards} ({number}, 2) from step, got Moment" for number in (6, 24)}
