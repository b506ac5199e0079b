"""What senders say, with which probability: all messages where they are few, else as many as are drawn."""

import numpy as np
import pytest
import torch

from ecsuite.eval.metrics import agent_answers as message_probabilities
from ecsuite.eval.metrics.agent_answers import said_by
from ecsuite.games.config.experiment import load_experiment
from ecsuite.games.plays.population import make_population
from ecsuite.games.worlds.world import make_world

SMALL = ("world.num_values=2", "channel.vocab_size=2", "channel.max_len=2", "evaluation.corpus_size=4")


def said(*assignments):
    torch.manual_seed(0)
    experiment = load_experiment("disc_tiny", [*SMALL, *assignments])
    players = make_population(experiment, make_world(experiment)).eval()
    with torch.no_grad():
        for sender in players.senders:  # untrained agents say all alike
            for weights in sender.network.parameters():
                weights.mul_(4)
    return said_by(players, experiment)


def shares(found):
    """Of each message about each meaning, of all speakers."""
    meanings = np.unique(found.meanings, axis=0, return_inverse=True)[1].ravel()
    table = np.zeros((meanings.max() + 1, found.words.max() + 1))
    np.add.at(table, (meanings, found.words), found.weights)
    return table


def spread(table):
    """The shares of each meaning from the highest, as words are numbered in the order in which they come."""
    return -np.sort(-table / table.sum(1, keepdims=True), axis=1)[:, :7]


@pytest.mark.parametrize("length", ["variable", "fixed"])
def test_all_messages_have_probability_1_and_drawn_ones_come_as_often(length, monkeypatch):
    exact = said(f"channel.length={length}")
    table = shares(exact)
    assert exact.num_drawn is None and table.sum(1) == pytest.approx(1, abs=1e-6)
    assert table.shape == (4, 7 if length == "variable" else 4)  # of 0, 1 and 2 symbols, or of 2
    monkeypatch.setattr(message_probabilities, "MOST_MESSAGES", 1)
    monkeypatch.setattr(message_probabilities, "NUM_DRAWN_OF_MANY", 2000)
    drawn = said(f"channel.length={length}")
    assert drawn.num_drawn == 2000 and len(drawn.words) == 8000
    there, here = spread(table), spread(shares(drawn))
    assert here == pytest.approx(there[:, : here.shape[1]], abs=0.05)


def test_rounds_computed_in_parts_are_the_same(monkeypatch):
    whole = shares(said())
    monkeypatch.setattr(message_probabilities, "MOST_ROWS", 8)
    assert shares(said()) == pytest.approx(whole, abs=1e-6)


def test_each_speaker_of_a_society_and_words_of_a_codebook():
    society = said("society.senders=3", "society.receivers=3")
    assert set(society.speakers) == {0, 1, 2}
    assert shares(society).sum(1) == pytest.approx(3, abs=1e-6)
    codebook = said("channel={kind: vqvib, vocab_size: 8, max_len: 1}")
    assert codebook.num_drawn == 1000 and codebook.words.max() < 8
    one = said("channel={kind: quantized, word_size: 2, max_len: 1}")
    assert one.num_drawn is None and one.weights.tolist() == [1] * 4
