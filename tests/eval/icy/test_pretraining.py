"""Pretraining: which agents are trained on which languages, and their caps."""

import pytest

from ecsuite.eval.icy.channels import SupervisedChannel
from ecsuite.eval.icy.pretraining import SenderReceiverPair, pretrain
from ecsuite.eval.icy.protocol import Protocol
from ecsuite.grammars.geometry import Geometry
from ecsuite.jobs.runner import JobRunner

GEOMETRY = Geometry(num_attributes=2, num_values=3, word_length=2)


def pair(sender="fc2l", receiver="fc2l"):
    return SenderReceiverPair(
        sender=sender,
        receiver=receiver,
        link=SupervisedChannel(channel="reinforce"),
        pretraining_channel=SupervisedChannel(),
    )


def run_pretraining(pairs, grammars=("concat", "rot"), seeds=(1,), max_steps=200, cap_ratio=2.0):
    requests = []
    with JobRunner(num_workers=1, folder=None, progress=lambda *_: None) as runner:
        run = runner.run
        runner.run = lambda jobs: requests.extend(jobs) or run(jobs)
        protocol = Protocol(target=0.9, hidden_size=16, lr=0.01, cap_ratio=cap_ratio)
        found = pretrain(
            pairs,
            grammars,
            seeds,
            geometry=GEOMETRY,
            protocol=protocol,
            max_steps=max_steps,
            device="cpu",
            runner=runner,
        )
    return found, requests


def test_the_slower_agent_of_a_pair_determines_the_cap():
    found, _ = run_pretraining([pair()])
    concat, rot = found[pair(), "concat", 1], found[pair(), "rot", 1]
    steps = {role: outcome["steps"] for role, outcome in concat.outcomes.items()}
    assert concat.reason is None and concat.cap == 200
    assert rot.cap == 2 * max(steps.values()) and steps["sender"] != steps["receiver"]


def test_an_agent_of_two_pairs_is_trained_once():
    _, requests = run_pretraining([pair(), pair(receiver="gru")], grammars=["concat"])
    assert len(requests) == 3


def test_concat_is_trained_even_if_not_requested():
    found, requests = run_pretraining([pair()], grammars=["rot"], cap_ratio=1.0)
    assert len(requests) == 4 and list(found) == [(pair(), "rot", 1)]
    assert "accuracy 0." in found[pair(), "rot", 1].reason


def test_a_pair_that_does_not_learn_concat_is_not_trained_further():
    found, requests = run_pretraining([pair()], max_steps=6)
    assert len(requests) == 2
    assert found[pair(), "rot", 1].reason == "concat did not reach accuracy 0.9 within 6 updates"
    assert found[pair(), "rot", 1].to_json() == {}


def test_json_of_outcomes_has_no_weights():
    found, _ = run_pretraining([pair()], grammars=["concat"])
    found_json = found[pair(), "concat", 1].to_json()
    assert found_json.keys() == {"sender", "receiver"}
    assert found_json["sender"].keys() == {"steps", "reached", "accuracy"}
    assert found_json["sender"]["accuracy"] == pytest.approx(0.95, abs=0.06)
