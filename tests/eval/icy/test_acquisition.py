"""Acquisition of a language of nine meanings: deterministic, and independent of other runs and of the learner."""

from dataclasses import replace

import pytest

from ecsuite.eval.icy import agents
from ecsuite.eval.icy.acquisition import TrainingRun, learn, most_runs
from ecsuite.eval.icy.protocol import Protocol
from ecsuite.grammars.geometry import Geometry

GEOMETRY = Geometry(num_attributes=2, num_values=3, word_length=2, vocab_size=4)
PROTOCOL = Protocol(hidden_size=16, batch_size=32, lr=1e-2, window=5)
CONCAT = TrainingRun(grammar="concat", seed=123, cap=400)


def learnt(model, *runs, role="sender", protocol=PROTOCOL, geometry=GEOMETRY, **options):
    """The outcomes in the order of the runs."""
    outcomes = dict(learn(model, role, geometry, runs, protocol, **options))
    return [outcomes[index] for index in range(len(runs))]


def test_a_hashtable_stores_nine_meanings_within_a_few_batches():
    """A batch of 32 misses (8/9)^32 = 2 % of nine meanings."""
    (outcome,) = learnt("hashtable", CONCAT, protocol=replace(PROTOCOL, window=1))
    assert outcome.reached and outcome.steps <= 2 and outcome.weights == {}


@pytest.mark.slow
@pytest.mark.parametrize("model", ["lstm-2l", "husendz:dgsend", "fc2l"])
def test_the_fused_learner_equals_the_generic_one(model, monkeypatch):
    (fast,) = learnt(model, CONCAT)
    monkeypatch.setattr(agents, "make_fused_sender", lambda sender: None)
    (slow,) = learnt(model, CONCAT)
    assert fast.steps == slow.steps
    assert fast.accuracy == pytest.approx(slow.accuracy, abs=1e-6)


def test_protocol_paper_measures_every_fifty_updates():
    (outcome,) = learnt("fc1l", CONCAT, protocol=replace(PROTOCOL, name="paper", lr=3e-3))
    assert outcome.reached
    assert outcome.steps in (50, 100, 150, 200)


def test_runs_that_fit_in_memory():
    assert [most_runs(100, free) for free in (0, 100, 250, 1250)] == [1, 1, 2, 10]
