"""Meanings are said once and states computed once: figures, gradients and bytes are those of batch by batch."""

import pytest
import torch

from ecsuite.agents import shared_states
from ecsuite.games.config.experiment import load_experiment
from ecsuite.games.plays import evaluation
from ecsuite.games.plays.interactions import record_interactions
from ecsuite.games.plays.population import make_population
from ecsuite.games.plays.signalling import Signalling
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


SAID = {
    "one length": ("channel.length=fixed",),
    "sampled symbols": ("evaluation.mode=sample",),
    "reinforce": ("channel=reinforce,baseline=greedy",),
    "noise": ("channel.noise=deletion", "evaluation.noise=true"),
    "words of values": ("channel=quantized,word_size=3,max_len=2",),
    "a society": ("society.senders=2", "society.receivers=3", "society.voting=true"),
    "reasoning": ("reasoning=rsa",),
    "reconstruction": ("task=reconstruction",),
}


@pytest.mark.sample(5)
@pytest.mark.parametrize("settings", SAID.values(), ids=SAID)
def test_meanings_that_are_said_once_give_the_same_to_the_last_bit(settings, monkeypatch):
    """Figures, corpora and interactions; also where meanings are too many to be said at once."""
    pytest.importorskip("pyarrow")
    sizes, found = ("training.batch_size=32", "training.precision=fp32", "evaluation.num_valid=50"), []
    for says_alike, most in ((True, 2**62), (True, 1), (False, 2**62)):
        monkeypatch.setattr(evaluation, "MOST_VALUES", most)
        experiment = load_experiment("disc_tiny", [*sizes, *settings])
        play = Signalling(None, experiment=experiment, device=torch.device("cpu"))
        for speaker in play.players.senders:
            speaker.says_alike = says_alike and speaker.says_alike
        corpus = play.corpus(experiment.evaluation)
        rounds = record_interactions(play.players, {"valid": (play.world, "valid")}, experiment)
        messages = [each.tolist() for each in corpus.messages]
        found.append((play.evaluate(), messages, corpus.meanings.tolist(), rounds.to_pylist()))
    assert found[0] == found[1] == found[2]
