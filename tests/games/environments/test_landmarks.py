"""Worlds of particles: the same numbers as mpe2's, of the same positions, goals and actions."""

import importlib
import json
import sys
from pathlib import Path

import numpy as np
import pytest

from ecsuite.games.config.registry import ENVIRONMENTS

RECORDED = Path(__file__).parent / "mpe2.json"
"""What mpe2 1.1.1 gave: `python tests/games/environments/test_landmarks.py` records it, where mpe2 is installed."""
NAMES = {"speaker_listener": "simple_speaker_listener_v4", "reference": "simple_reference_v3"}


def of_mpe2(name, num_steps=6, seed=5):
    """An episode of mpe2 with random actions: how it began, and what it gave at each step."""
    world = importlib.import_module(f"mpe2.{NAMES[name]}").parallel_env(max_cycles=num_steps)
    seen, _ = world.reset(seed=seed)
    inner = world.unwrapped.world
    goals = [
        inner.landmarks.index(agent.goal_b) for agent in inner.agents if getattr(agent, "_goal_b", None) is not None
    ]  # fmt: skip
    begin = {
        "positions": [each.state.p_pos.tolist() for each in inner.agents if each.movable],
        "landmarks": [each.state.p_pos.tolist() for each in inner.landmarks],
        "goals": goals,
    }
    rng, steps = np.random.default_rng(seed), []
    observations = [{agent: values.tolist() for agent, values in seen.items()}]
    while world.agents:
        moves, symbols = rng.integers(5, size=2), rng.integers(10 if name == "reference" else 3, size=2)
        if name == "reference":
            chosen = moves + 5 * symbols
        else:
            chosen, moves = np.array([symbols[0], moves[1]]), np.array([0, moves[1]])
        seen, rewards, *_ = world.step(dict(zip(world.possible_agents, chosen.tolist(), strict=True)))
        observations.append({agent: values.tolist() for agent, values in seen.items()})
        rewarded = list(rewards.values())
        steps.append({"moves": moves.tolist(), "symbols": symbols.tolist(), "rewards": rewarded})
    return {"begin": begin, "observations": observations, "steps": steps}


@pytest.mark.parametrize("name", NAMES)
def test_the_recorded_numbers_are_those_of_mpe2(name):
    pytest.importorskip("mpe2")
    assert of_mpe2(name) == json.loads(RECORDED.read_text())[name]


@pytest.mark.parametrize("name", NAMES)
def test_our_worlds_give_the_recorded_numbers(name):
    """Observations are float32 there; what was said is a part of them there, and at their end."""
    world, recorded = ENVIRONMENTS.load(name), json.loads(RECORDED.read_text())[name]
    world = world(world.Options(num_steps=6))
    moment = world.begin(*(np.array([recorded["begin"][key]]) for key in ("positions", "landmarks", "goals")))
    for number, step in enumerate([*recorded["steps"], None]):
        there = recorded["observations"][number].values()
        for agent, (ours, theirs) in enumerate(zip(moment.observations, there, strict=True)):
            assert ours[0].astype(np.float32).tolist() == theirs[: len(ours[0])]
            said, heard = theirs[len(ours[0]) :], moment.heard[0, agent, 0]
            if said and number > 0:
                assert np.argmax(said) == recorded["steps"][number - 1]["symbols"][heard]
        assert moment.done.tolist() == [step is None]
        if step is not None:
            moment, rewards = world.step(moment, np.array([step["moves"]]))
            np.testing.assert_allclose(rewards[0], step["rewards"], rtol=1e-12)


if __name__ == "__main__":
    RECORDED.write_text(json.dumps({name: of_mpe2(name) for name in NAMES}, separators=(",", ":")) + "\n")
    sys.exit()
