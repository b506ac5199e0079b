"""End-to-end training of pairs on tiny languages."""

import pytest
import torch

from ecsuite.eval.icy.agents import make_agent, parse_model
from ecsuite.eval.icy.channels import Noise, parse_channel
from ecsuite.eval.icy.end_to_end import EndToEndAgents, train_end_to_end
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


def test_a_curve_has_50_points_or_one_an_update():
    assert len(train("fc2l", "fc2l", max_steps=7)["curve"]["updates"]) == 7
    curve = train("fc2l", "fc2l", max_steps=101)["curve"]
    assert len(curve["updates"]) == 50 and curve["updates"][-1] == 101
    assert all(len(values) == 50 for values in curve.values())


@pytest.mark.slow
@pytest.mark.parametrize("channel", ["soft", "gumbel", "reinforce"])
def test_end_to_end_accuracy_increases(channel):
    found = train("fc2l", "fc2l", max_steps=150, channel=channel)
    assert found["end_to_end"] > 0.8 and found["greedy"] > 0.8


def test_a_pure_function_of_its_seed():
    first, again, other = (train("gru", "gru", 5, "gumbel", seed) for seed in (1, 1, 2))
    assert first == again != other


def test_feedback_of_samples_and_samples_of_samples_differ():
    feedback = train("gru", "gru", 5, "gumbel", feeds_back_samples=True)
    assert feedback != train("gru", "gru", 5, "gumbel")
    assert feedback != train("gru", "gru", 5, "gumbel,form=program", feeds_back_samples=True)
    unheard = train("gru-z", "gru", 5, "gumbel", feeds_back_samples=True)
    assert unheard == train("gru-z", "gru", 5, "gumbel")


def test_held_out_meanings_are_measured():
    found = train("fc2l", "fc2l", 3, protocol=Protocol(hidden_size=16, held_out=0.25))
    assert 0 <= found["held_out"] <= 1


def test_a_loss_that_is_not_finite_is_an_error():
    with pytest.raises(DivergedError, match="gru and gru on concat, seed 1: the loss is nan in updates "):
        train("gru", "gru", 200, protocol=Protocol(hidden_size=16, lr=1e38))


def test_the_soft_loss_is_the_cross_entropy_given_softmax_messages():
    pair = EndToEndAgents(*agents(), link=parse_channel("soft"), feeds_back_samples=False, geometry=GEOMETRY)
    meanings = torch.tensor([[0, 1], [2, 2], [1, 0]])
    answers = pair.attribute_logits(pair.message_logits(meanings, None).softmax(-1))
    expected = -answers.log_softmax(-1).gather(-1, meanings[..., None]).mean()
    torch.testing.assert_close(pair(meanings, Noise(1, "test").at(0))[0], expected)
