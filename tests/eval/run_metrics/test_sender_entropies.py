"""Entropies of messages by the sender's probabilities: languages with known answers, and drawn against exact ones."""

import numpy as np
import pytest

from ecsuite.eval.metrics.score import Options
from ecsuite.eval.run_metrics.sender_entropies import (
    EntropyOptions,
    entropies_of,
    message_entropy,
)
from ecsuite.games.channels import channels as possible_messages
from ecsuite.games.runs.run import load_run
from ecsuite.testing.trial import Trial


def certain(messages, num_symbols):
    """The entropies of a language of fixed length in which each meaning has one message."""
    said, place = np.unique(np.array(messages), axis=0, return_inverse=True)
    is_said = said[:, None] == np.array(messages)[None]  # (num_messages, num_meanings, max_len)
    weights = (place.ravel()[None] == np.arange(len(said))[:, None]) / len(messages)
    logs = np.where(is_said, 0.0, -700.0)
    return entropies_of(logs, weights, np.ones(said.shape, bool), num_symbols)


def test_a_compositional_language_has_no_redundancy():
    found = certain([(a, b, c) for a in (1, 2) for b in (1, 2) for c in (1, 2)], 2)
    assert found.message_entropy == pytest.approx(3) and found.conditional_entropy == pytest.approx(0)
    assert found.redundancy == pytest.approx(0) and found.effective_length == pytest.approx(3)


def test_of_a_symbol_that_is_said_twice_the_second_is_redundant():
    found = certain([(a, a) for a in (1, 2, 3, 4)], 4)
    assert found.redundancies == pytest.approx([0, 1]) and found.redundancy == pytest.approx(0.5)
    assert found.effective_length == pytest.approx(1) and found.information == pytest.approx([2, 0])


def test_synonyms_are_entropy_that_the_meaning_leaves_open():
    """Either of two messages, whatever is meant: nothing is told, and no length is useful."""
    logs = np.full((2, 4, 1), np.log(0.5))
    found = entropies_of(logs, np.full((2, 4), 1 / 8), np.ones((2, 1), bool), 2)
    assert found.message_entropy == pytest.approx(1) and found.conditional_entropy == pytest.approx(1)
    assert found.effective_length is None


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run") / "small"
    Trial.of("channel", "gumbel", ("society.senders=2", "channel.vocab_size=3")).train(folder)
    return load_run(folder)


def scores(run, **own):
    return {score.name: score for score in message_entropy(run, Options(), EntropyOptions(**own))}


def test_messages_that_are_drawn_have_the_entropies_of_all(run, monkeypatch):
    exact = scores(run)
    assert exact["message_entropy"].value >= exact["conditional_entropy"].value > 0
    monkeypatch.setattr(possible_messages, "MOST_MESSAGES", 1)
    drawn = scores(run, draws=40)
    for name in ("message_entropy", "conditional_entropy", "redundancy"):
        assert drawn[name].value == pytest.approx(exact[name].value, abs=0.1)
        assert "seed" in drawn[name].signature and "seed" not in exact[name].signature
