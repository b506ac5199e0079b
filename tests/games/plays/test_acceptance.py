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
                normal(
                    play.seen[agent, thing], play.sign_means[agent, sign], play.sign_precisions[agent, sign]
                ).prod()
                for agent in agents
                for thing, sign in enumerate(signs)
            ]
        )
    total = sum(found.values())
    return {signs: weight / total for signs, weight in found.items()}


@pytest.mark.parametrize(("accepts", "agents"), [("metropolis", (0, 1)), ("always", (0,)), ("never", (1,))])
def test_signs_of_a_listener_are_samples_of_the_posterior_given_what_both_see(accepts, agents):
    """Of what the speaker sees, if it accepts everything, and of what it sees itself without communication."""
    play, things, visits = play_of(*THREE, f"play.accepts={accepts}"), np.arange(3), {}
    for step in range(12000):
        rng = play.rng("test", step)
        play.name(1, 0, things, rng)
        play.name(0, 1, things, rng)
        signs = tuple(play.signs[1].tolist())
        visits[signs] = visits.get(signs, 0) + 1
    expected, other = exact(play, agents), exact(play, (1 - agents[0],) if len(agents) == 1 else (0,))
    shares = {signs: visits.get(signs, 0) / 12000 for signs in expected}
    assert shares == pytest.approx(expected, abs=0.02)
    assert max(abs(shares[signs] - other[signs]) for signs in other) > 0.04  # and they can be told


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


def test_log_probabilities_are_those_of_a_normal_density():
    play = play_of(*THREE)
    found = play.log_probabilities(1, np.array([2, 0]))
    for row, thing in enumerate((2, 0)):
        by_formula = [
            np.log(normal(play.seen[1, thing], play.sign_means[1, sign], play.sign_precisions[1, sign])).sum()
            for sign in range(2)
        ]
        assert found[row, 0] - found[row, 1] == pytest.approx(by_formula[0] - by_formula[1])


def test_agents_share_signs_that_say_more_of_digits_than_what_one_agent_sees():
    figures = {}
    for accepts in ("metropolis", "never"):
        play = play_of(f"play.accepts={accepts}", "training.batch_size=1797", "play.seen=0.25")
        for step in range(150):
            play.train_step(step)
        figures[accepts] = play.evaluate()
    assert figures["metropolis"]["kappa"] > 0.7 and abs(figures["never"]["kappa"]) < 0.3
    assert figures["metropolis"]["ari"] > figures["never"]["ari"] > 0.15


def test_a_step_names_as_many_objects_as_are_left_and_only_those_of_the_pair():
    play = play_of(
        "play.agents=4", "play.meets=list,pairs=[[2,0]]", "training.batch_size=50", "training.num_examples=70"
    )
    before = play.signs.copy()
    for step in (0, 1):
        play.train_step(step)
    changed = (play.signs != before).sum(1)
    assert (changed[1:] == 0).all() and 0 < changed[0] <= 70
    assert play.figures == ("accuracy", "kappa", "ari") and set(play.evaluate()) == set(play.figures)


def test_objects_without_classes_have_no_adjusted_rand_index():
    play = play_of(*THREE, "play.noise=0")
    assert play.figures == ("accuracy", "kappa") and set(play.evaluate()) == {"accuracy", "kappa"}
