"""Channels of ICY: losses against explicit formulas, and training over each channel."""

import math

import pytest
import torch
from torch.nn.functional import cross_entropy

from ecsuite.eval.icy import channels
from ecsuite.eval.icy.acquisition import TrainingRun, learn
from ecsuite.eval.icy.protocol import Protocol
from ecsuite.grammars.geometry import Geometry

GEOMETRY = Geometry(num_attributes=2, num_values=3, word_length=2)
PROTOCOL = Protocol(target=0.9, hidden_size=16, lr=0.01)


def noise_for(logits, seed=0):
    return channels.Noise(seed, "test").at(0).draw(logits.shape, logits.device)


@pytest.fixture
def logits():
    return torch.randn(6, 4, 5, generator=torch.Generator().manual_seed(1), requires_grad=True)


@pytest.fixture
def targets():
    return torch.randint(5, (6, 4), generator=torch.Generator().manual_seed(2))


def test_straight_through_is_one_hot_with_the_gradient_of_the_softmax(logits):
    noise = noise_for(logits)
    samples = channels.straight_through(logits, noise)
    torch.testing.assert_close(samples, channels.one_hot(channels.draw(logits, noise), samples))
    weight = torch.randn(logits.shape, generator=torch.Generator().manual_seed(3))
    (found,) = torch.autograd.grad((samples * weight).sum(), logits)
    relaxed = ((logits + noise) / channels.TEMPERATURE).softmax(-1)
    (expected,) = torch.autograd.grad((relaxed * weight).sum(), logits)
    torch.testing.assert_close(found, expected)


def test_losses_over_soft_and_gumbel(logits, targets):
    expected = cross_entropy(logits.transpose(1, 2), targets)
    for is_receiver, factor in ((False, 1), (True, 4)):
        found = channels.supervised_loss(channels.SupervisedChannel(), logits, targets, None, is_receiver=is_receiver)
        torch.testing.assert_close(found, factor * expected)
    noise, link = noise_for(logits), channels.SupervisedChannel(channel="gumbel")
    num_wrong = (channels.draw(logits, noise) != targets).sum().item()
    found = channels.supervised_loss(link, logits, targets, noise, is_receiver=False)
    assert found.item() == pytest.approx(2 * num_wrong / logits.numel())
    relaxed = ((logits + noise) / 1.2).softmax(-1)
    expected = -relaxed.gather(-1, targets[..., None]).log().mean() * targets.shape[1]
    torch.testing.assert_close(channels.supervised_loss(link, logits, targets, noise, is_receiver=True), expected)
    link = channels.parse_channel("gumbel,form=program")
    noise, sound = noise_for(logits), channels.SupervisedChannel(channel="gumbel")
    expected = (logits - channels.one_hot(targets, logits)).square().mean()
    found = channels.supervised_loss(link, logits, targets, noise, is_receiver=True)
    torch.testing.assert_close(found, expected)
    found, other = (channels.supervised_loss(each, logits, targets, noise, is_receiver=False) for each in (link, sound))
    assert torch.equal(found, other)


def test_reinforce_rewards_all_parts_of_an_example_alike(logits, targets):
    noise = noise_for(logits)
    drawn = channels.draw(logits, noise)
    reward = (drawn == targets).float().sum(1)
    advantage = (reward - reward.mean()) / reward.std()
    log_probabilities = logits.log_softmax(-1)
    chosen = log_probabilities.gather(-1, drawn[..., None])[..., 0].sum(1)
    entropy = -(log_probabilities.exp() * log_probabilities).sum()
    expected = -(advantage * chosen).sum() - 0.01 * entropy
    found = channels.supervised_loss(
        channels.SupervisedChannel(channel="reinforce"), logits, targets, noise, is_receiver=False
    )
    torch.testing.assert_close(found, expected)


def test_noise_is_gumbel_rewards_with_a_small_deviation_are_not_scaled_and_the_score_function_by_hand():
    drawn = channels.Noise(3, "test").at(7).draw((200_000,), torch.device("cpu"))
    assert (drawn.mean().item(), drawn.var().item()) == pytest.approx((0.5772, math.pi**2 / 6), abs=0.02)
    torch.testing.assert_close(channels.advantages(torch.tensor([1.0, 1.1])), torch.tensor([-0.05, 0.05]))
    assert channels.advantages(torch.tensor([4.0])).tolist() == [0.0]
    logits = torch.tensor([[[math.log(0.25), math.log(0.75)]]])
    entropy = -(0.25 * math.log(0.25) + 0.75 * math.log(0.75))
    loss = channels.score_function_loss(logits, torch.tensor([[1]]), torch.tensor([[2.0]]))
    assert loss.item() == pytest.approx(-2 * math.log(0.75) - 0.01 * entropy)


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
