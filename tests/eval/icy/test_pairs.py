"""End-to-end training of pairs on tiny languages."""

import pytest
import torch

from ecsuite.eval.icy.agents import make_agent, parse_model
from ecsuite.eval.icy.end_to_end import train_end_to_end
from ecsuite.eval.icy.protocol import Protocol
from ecsuite.grammars.geometry import Geometry
from ecsuite.runtime.errors import DivergedError

GEOMETRY = Geometry(num_attributes=2, num_values=3, word_length=2)
PROTOCOL = Protocol(hidden_size=16, lr=0.01)


def agents(sender="gru", receiver="gru", seed=0):
    torch.manual_seed(seed)
    return [
        make_agent(parse_model(role, model), role, GEOMETRY, 16)
        for role, model in (("sender", sender), ("receiver", receiver))
    ]


def train(sender, receiver, max_steps=20, channel="soft", seed=1, protocol=PROTOCOL, **changes):
    weights = {
        role: dict(agent.named_parameters())
        for role, agent in zip(("sender", "receiver"), agents(sender, receiver), strict=True)
    }
    given = {"geometry": GEOMETRY, "grammar": "concat", "feeds_back_samples": False, "device": "cpu"}
    given |= {"seed": seed, "channel": channel, "protocol": protocol, "max_steps": max_steps}
    return train_end_to_end(weights, sender=sender, receiver=receiver, **{**given, **changes})


@pytest.mark.slow
@pytest.mark.parametrize("channel", ["soft", "gumbel", "reinforce"])
def test_end_to_end_accuracy_increases(channel):
    found = train("fc2l", "fc2l", max_steps=150, channel=channel)
    assert found["end_to_end"] > 0.8 and found["greedy"] > 0.8


def test_held_out_meanings_are_measured():
    found = train("fc2l", "fc2l", 3, protocol=Protocol(hidden_size=16, held_out=0.25))
    assert 0 <= found["held_out"] <= 1


def test_a_loss_that_is_not_finite_is_an_error():
    with pytest.raises(DivergedError, match="gru and gru on concat, seed 1: the loss is nan in updates "):
        train("gru", "gru", 200, protocol=Protocol(hidden_size=16, lr=1e38))
