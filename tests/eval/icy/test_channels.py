"""Channels of ICY: losses against explicit formulas, and training over each channel."""

import pytest
import torch

from ecsuite.eval.icy.acquisition import TrainingRun, learn
from ecsuite.eval.icy.channels import (
    TEMPERATURE,
    Noise,
    SupervisedChannel,
    draw,
    one_hot,
    parse_channel,
    straight_through,
    supervised_loss,
)
from ecsuite.eval.icy.protocol import Protocol
from ecsuite.grammars.geometry import Geometry

GEOMETRY = Geometry(num_attributes=2, num_values=3, word_length=2)
PROTOCOL = Protocol(target=0.9, hidden_size=16, lr=0.01)


def noise_for(logits, seed=0):
    return Noise(seed, "test").at(0).draw(logits.shape, logits.device)


@pytest.fixture
def logits():
    return torch.randn(6, 4, 5, generator=torch.Generator().manual_seed(1), requires_grad=True)


@pytest.fixture
def targets():
    return torch.randint(5, (6, 4), generator=torch.Generator().manual_seed(2))


def test_straight_through_is_one_hot_with_the_gradient_of_the_softmax(logits):
    noise = noise_for(logits)
    samples = straight_through(logits, noise)
    torch.testing.assert_close(samples, one_hot(draw(logits, noise), samples))
    weight = torch.randn(logits.shape, generator=torch.Generator().manual_seed(3))
    (found,) = torch.autograd.grad((samples * weight).sum(), logits)
    relaxed = ((logits + noise) / TEMPERATURE).softmax(-1)
    (expected,) = torch.autograd.grad((relaxed * weight).sum(), logits)
    torch.testing.assert_close(found, expected)


def test_the_published_receiver_uses_raw_logits(logits, targets):
    link = parse_channel("gumbel,form=program")
    expected = (logits - one_hot(targets, logits)).square().mean()
    torch.testing.assert_close(
        supervised_loss(link, logits, targets, noise_for(logits), is_receiver=True), expected
    )
    sound = supervised_loss(
        SupervisedChannel(channel="gumbel"), logits, targets, noise_for(logits), is_receiver=False
    )
    assert torch.equal(supervised_loss(link, logits, targets, noise_for(logits), is_receiver=False), sound)


def learnt(model, channel, cap, role="sender", seed=1):
    run = TrainingRun(grammar="concat", seed=seed, cap=cap)
    ((_, outcome),) = learn(model, role, GEOMETRY, [run], PROTOCOL, channel=channel)
    return outcome


@pytest.mark.sample(2)
@pytest.mark.parametrize("channel", ["gumbel", "gumbel,form=program", "reinforce"])
@pytest.mark.parametrize(("role", "model"), [("sender", "fc2l"), ("receiver", "gru")])
def test_agents_learn_over_channels(role, model, channel):
    assert learnt(model, channel, 250, role).reached


def test_equal_seeds_learn_equally_over_a_noisy_channel():
    first, again, other = (learnt("gru", "gumbel", 15, seed=seed) for seed in (1, 1, 2))
    assert first.accuracy == again.accuracy
    assert all(torch.equal(first.weights[name], again.weights[name]) for name in first.weights)
    assert any(not torch.equal(first.weights[name], other.weights[name]) for name in first.weights)
