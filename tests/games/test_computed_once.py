"""Games whose agents compute each state once play as others do, on the same random numbers."""

import pytest
import torch

from ecsuite.agents import shared_states
from ecsuite.games.plays.population import make_population
from ecsuite.games.worlds.world import make_world

SETTINGS = {
    "pair": (),
    "greedy baseline": ("channel=reinforce,baseline=greedy",),
    "impatient": ("loss.impatient=true",),
    "noise": ("channel.noise=deletion", "evaluation.noise=true"),
    "society": ("society.senders=2", "society.receivers=2"),
    "imitation": ("society.senders=2", "society.receivers=2", "society.imitate_every=1"),
}


@pytest.fixture
def share(monkeypatch):
    """Says whether rows share states, in however small a batch."""
    return lambda is_on: monkeypatch.setattr(shared_states, "FEWEST_VALUES", 0 if is_on else 2**62)


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
def test_a_step_has_the_same_objective_and_gradients(share, small, settings):
    experiment, found = small("channel=reinforce", *settings), []
    for is_on in (False, True):
        share(is_on)
        players = make_population(experiment, make_world(experiment))
        played = players.train_on(1, 1, 0)
        played.objective.backward()
        found.append([played.objective.detach(), *played.measures.values()])
        found[-1] += [each.grad for each in players.parameters()]
    for alone, shared in zip(*found, strict=True):
        torch.testing.assert_close(shared, alone, rtol=1e-4, atol=1e-6)


def test_a_run_that_goes_on_ends_with_the_same_bytes(share, small, run, contents, tmp_path):
    share(True)
    settings = ("channel=reinforce", "training.num_epochs=2")
    run(small(*settings), tmp_path / "whole")
    run(small(*settings, "training.num_epochs=1"), tmp_path / "stopped")
    run(small(*settings), tmp_path / "stopped", resume=True)
    assert contents(tmp_path / "stopped") == contents(tmp_path / "whole")
