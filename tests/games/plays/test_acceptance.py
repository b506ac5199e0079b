"""Naming by acceptance: signs are samples of the exact posterior given what both agents see, and nothing else."""

from itertools import product

import numpy as np
import pytest
import torch

from ecsuite.games.config.experiment import load_experiment
from ecsuite.games.plays.acceptance import SHAPE
from ecsuite.games.plays.play import make_play

THREE = (
    "world.kind=attributes", "world.num_attributes=1", "world.num_values=3", "training.batch_size=3", "play.signs=2",
    "play.noise=0.7", "play.seen=1",
)  # fmt: skip


def play_of(*settings):
    return make_play(load_experiment("naming_acceptance", settings), torch.device("cpu"))


def normal(seen, mean, precision):
    """The density by its formula."""
    return np.sqrt(precision / (2 * np.pi)) * np.exp(-precision * (seen - mean) ** 2 / 2)


def exact(play, agents):
    """Posterior of each assignment of two signs to three objects given what agents see, by enumeration."""
    found = {}
    for signs in product(range(2), repeat=3):
        found[signs] = np.prod(
            [
                normal(play.seen[agent, thing], play.sign_means[agent, sign], play.sign_precisions[agent, sign]).prod()
                for agent in agents
                for thing, sign in enumerate(signs)
            ]
        )  # fmt: skip
    total = sum(found.values())
    return {signs: weight / total for signs, weight in found.items()}


def test_gaussians_are_drawn_from_the_conjugate_posterior_by_hand():
    """Sign 0: mean (x1 + x2) / (1 + 2), E precision (SHAPE + 1) / (SHAPE + (x1² + x2² - 3 m²) / 2)."""
    play = play_of(*THREE, "play.components=1")
    play.seen[0] = [[1.0], [2.0], [5.0]]
    play.signs[0] = [0, 0, 1]
    rng = np.random.default_rng(1)
    drawn = [play.drawn_gaussians(0, rng) for _ in range(20000)]
    means, precisions = (np.mean([each[n] for each in drawn], axis=0).ravel() for n in (0, 1))
    assert means == pytest.approx([1.0, 2.5], abs=0.03)
    expected = [(SHAPE + 1) / (SHAPE + (1 + 4 - 3) / 2), (SHAPE + 0.5) / (SHAPE + (25 - 2 * 2.5**2) / 2)]
    assert precisions == pytest.approx(expected, rel=0.03)


def test_agents_share_signs_that_say_more_of_digits_than_what_one_agent_sees():
    figures = {}
    for accepts in ("metropolis", "never"):
        play = play_of(f"play.accepts={accepts}", "training.batch_size=1797", "play.seen=0.25")
        for step in range(150):
            play.train_step(step)
        figures[accepts] = play.evaluate()
    assert figures["metropolis"]["kappa"] > 0.7 and abs(figures["never"]["kappa"]) < 0.3
    assert figures["metropolis"]["ari"] > figures["never"]["ari"] > 0.15
