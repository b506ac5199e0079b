"""Schooling: who is taught what, and for how long."""

import pytest

from ecsuite.eval.icy.channels import Link
from ecsuite.eval.icy.pretraining import Couple, school
from ecsuite.eval.icy.protocol import Protocol
from ecsuite.grammars.geometry import Geometry
from ecsuite.jobs.runner import Workshop

GEOMETRY = Geometry(num_attributes=2, num_values=3, word_length=2)


def couple(sender="fc2l", receiver="fc2l"):
    return Couple(sender=sender, receiver=receiver, link=Link(channel="reinforce"), taught_over=Link())


def teach(couples, grammars=("concat", "rot"), seeds=(1,), max_steps=200, cap_ratio=2.0):
    asked = []
    with Workshop(num_workers=1, folder=None, progress=lambda *_: None) as workshop:
        run = workshop.run
        workshop.run = lambda jobs: asked.extend(jobs) or run(jobs)
        protocol = Protocol(target=0.9, hidden_size=16, lr=0.01, cap_ratio=cap_ratio)
        found = school(
            couples,
            grammars,
            seeds,
            geometry=GEOMETRY,
            protocol=protocol,
            max_steps=max_steps,
            device="cpu",
            workshop=workshop,
        )
    return found, asked


def test_the_slower_of_a_couple_sets_the_cap():
    found, _ = teach([couple()])
    concat, rot = found[couple(), "concat", 1], found[couple(), "rot", 1]
    steps = {role: outcome["steps"] for role, outcome in concat.outcomes.items()}
    assert concat.reason is None and concat.cap == 200
    assert rot.cap == 2 * max(steps.values()) and steps["sender"] != steps["receiver"]


def test_an_agent_of_two_couples_is_taught_once():
    _, asked = teach([couple(), couple(receiver="gru")], grammars=["concat"])
    assert len(asked) == 3


def test_concat_is_taught_though_nobody_asks():
    found, asked = teach([couple()], grammars=["rot"], cap_ratio=1.0)
    assert len(asked) == 4 and list(found) == [(couple(), "rot", 1)]
    assert "came to" in found[couple(), "rot", 1].reason


def test_who_does_not_learn_concat_learns_nothing_else():
    found, asked = teach([couple()], max_steps=6)
    assert len(asked) == 2
    assert found[couple(), "rot", 1].reason == "concat was not learnt to 0.9 within 6 updates"
    assert found[couple(), "rot", 1].to_json() == {}


def test_what_is_said_of_outcomes_leaves_the_weights_out():
    found, _ = teach([couple()], grammars=["concat"])
    said = found[couple(), "concat", 1].to_json()
    assert said.keys() == {"sender", "receiver"}
    assert said["sender"].keys() == {"steps", "reached", "accuracy"}
    assert said["sender"]["accuracy"] == pytest.approx(0.95, abs=0.06)
