"""Votes of the receivers of a society: by probabilities, of whatever task they answer."""

from types import SimpleNamespace

import pytest
import torch

from ecsuite.games.players.agent import Listener
from ecsuite.games.players.pair import Pair
from ecsuite.games.plays.interactions import record_interactions
from ecsuite.games.plays.population import Population, votes
from ecsuite.games.tasks.tasks import InBatch, Truth
from ecsuite.games.worlds.world import make_world
from ecsuite.runtime.errors import ConfigError


def players(experiment):
    """The agents of an experiment."""
    torch.manual_seed(1)
    return Population.from_experiment(experiment, make_world(experiment))


def test_a_vote_is_by_the_mean_probability():
    """Two receivers that lean to the first of three candidates, and one that is nearly sure of the second."""

    def accuracy(rows, winner):
        task = SimpleNamespace(choices=lambda answer: answer[-1])
        labels = torch.arange(3)[None] == winner
        return float(votes(task, rows.log()[:, None, None], Truth(labels=labels, values=None)))

    given = torch.tensor([[0.5, 0.45, 0.05], [0.5, 0.45, 0.05], [0.001, 0.6, 0.399]])
    assert [accuracy(given, winner) for winner in (0, 1)] == [0.0, 1.0]
    lean = torch.tensor([[0.98, 0.01, 0.01], [0.3, 0.35, 0.35], [0.0001, 0.50, 0.4999]])
    assert accuracy(lean, 0) == 1.0


@pytest.mark.parametrize("settings", [("world=thing", "task=concept"), ("task=in_batch",), ("world=thing",)])
def test_receivers_that_are_right_have_a_vote_that_is_right(small, settings, monkeypatch):
    """And receivers that disagree are counted as they would answer: `in_batch` divides its scores by a temperature."""
    found = players(small("society.receivers=3", "society.voting=true", *settings))
    real, labels = Listener.response, []

    def response(listener, message, candidates, generator):
        scores, ends = real(listener, message, candidates, generator)
        return scores * 0 + 20.0 * labels[-1] - 10.0, ends

    rounds = Pair.rounds

    def seen(pair, batch):
        made = rounds(pair, batch)
        labels.append(made.truth.labels.float())
        return made

    monkeypatch.setattr(Pair, "rounds", seen)
    monkeypatch.setattr(Listener, "response", response)
    measures = found.eval().play(found.world.batch("valid", 0), "greedy", None).measures
    assert measures["accuracy"].tolist() == [1.0] * 3
    assert measures["voting_accuracy"].tolist() == [1.0]


def test_a_vote_has_the_temperature_of_the_answers():
    """Cosines of three receivers, of which one is sure: at temperature 1 the other two would win."""
    cosines = torch.tensor([[0.50, 0.45, -1.0], [0.50, 0.45, -1.0], [-0.9, 0.9, 0.2]])
    task = InBatch(InBatch.Options(), world=None, state_size=1)
    truth = Truth(labels=torch.tensor([[False, True, False]]), values=None)
    assert float(votes(task, cosines[:, None, None], truth)) == 1.0


def test_votes_and_kept_answers_are_those_at_the_end_of_messages_with_erasures(small):
    """Erased symbols are weights, which have an answer at each end; messages end at different ones."""
    settings = (
        "channel.noise=erasure,probability=0.5",
        "evaluation.noise=true",
        "evaluation.keep=[interactions]",
    )
    experiment = small("society.receivers=2", "society.voting=true", "channel.max_len=3", *settings)
    found = players(experiment).eval()
    with torch.no_grad():
        for weight in found.parameters():  # larger, for messages of all lengths
            weight.mul_(3)
        found.senders[0].network.scores.bias[0] += 0.5
    rounds = found.first_pair.rounds(found.world.batch("valid", 0))
    message = found.senders[0].message(rounds.shown, 1, "greedy", None)
    assert 1 < len(message.length.unique())
    labels = rounds.truth.labels.int().argmax(-1)
    played = found.pair(0, 1).understand(
        message, rounds.candidates, rounds.truth, mode="greedy", generator=torch.Generator().manual_seed(1)
    )
    assert torch.equal((played.answer[-1].argmax(-1) == labels).float(), played.measures["accuracy"])
    table = record_interactions(found, {"valid": (found.world, "valid")}, experiment)
    assert table["correct"].to_pylist() == [value == 1 for value in table["accuracy"].to_pylist()]


def test_voting_is_at_least_as_good_as_chance_and_counts_all(small):
    found = players(small("society.receivers=3", "society.voting=true"))
    measures = found.eval().play(found.world.batch("valid", 0), "greedy", None).measures
    assert measures["accuracy"].shape == (3,) and measures["voting_accuracy"].shape == (1,)
    with pytest.raises(ConfigError, match="no choices to vote on"):
        players(small("society.receivers=3", "society.voting=true", "task=reconstruction"))
