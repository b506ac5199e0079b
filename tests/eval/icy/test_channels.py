"""Channels of ICY: losses against explicit formulas, and training over each channel."""

import math

import pytest
import torch
from torch import nn

from ecsuite.eval.icy.acquisition import TrainingRun, learn
from ecsuite.eval.icy.agents import is_autoregressive, make_agent, parse_model
from ecsuite.eval.icy.channels import (
    TEMPERATURE,
    Noise,
    SupervisedChannel,
    advantages,
    draw,
    one_hot,
    parse_channel,
    score_function_loss,
    straight_through,
    supervised_loss,
)
from ecsuite.eval.icy.protocol import Protocol
from ecsuite.grammars.geometry import Geometry
from ecsuite.runtime.errors import ConfigError

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


@pytest.mark.parametrize("text", ["soft", "gumbel", "gumbel,form=program", "reinforce"])
def test_channels_can_be_parsed_from_their_text(text):
    assert str(parse_channel(text)) == text
    assert str(parse_channel(text.upper())) == text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("gumble", "unknown channel 'gumble'; did you mean 'gumbel'"),
        ("soft,form=program", "channel soft has no options; leave out ',form=program'"),
        ("gumbel,program", "expected key=value after the comma, got 'program'"),
        ("gumbel,kind=program", "unknown option of channel gumbel 'kind'"),
        ("gumbel,form=paper", "unknown value of form 'paper'"),
        ("soft," + "x" * 5000, "channel soft has no options; leave out ',xxx"),
        ("gumbel," + "x" * 5000, "expected key=value after the comma, got 'xxx"),
    ],
)
def test_invalid_channels(text, message):
    with pytest.raises(ConfigError, match=message) as error:
        parse_channel(text)
    assert len(str(error.value)) < 200


def test_noise_is_a_function_of_seed_purpose_and_update():
    draws = [
        Noise(seed, purpose).at(update).draw((3, 2), torch.device("cpu"))
        for seed, purpose, update in [(1, "a", 0), (1, "a", 0), (2, "a", 0), (1, "b", 0), (1, "a", 1)]
    ]
    assert torch.equal(draws[0], draws[1])
    assert not any(torch.equal(draws[0], other) for other in draws[2:])


def test_noise_is_gumbel():
    drawn = Noise(3, "test").at(7).draw((200_000,), torch.device("cpu"))
    assert drawn.mean().item() == pytest.approx(0.5772, abs=0.01)
    assert drawn.var().item() == pytest.approx(math.pi**2 / 6, abs=0.02)


def test_draws_follow_the_softmax():
    logits = torch.tensor([0.5, 0.25, 0.25]).log().expand(100_000, -1)
    shares = draw(logits, noise_for(logits)).bincount(minlength=3) / len(logits)
    torch.testing.assert_close(shares, torch.tensor([0.5, 0.25, 0.25]), atol=0.01, rtol=0)


def test_straight_through_is_one_hot_with_the_gradient_of_the_softmax(logits):
    noise = noise_for(logits)
    samples = straight_through(logits, noise)
    torch.testing.assert_close(samples, one_hot(draw(logits, noise), samples))
    weight = torch.randn(logits.shape, generator=torch.Generator().manual_seed(3))
    (found,) = torch.autograd.grad((samples * weight).sum(), logits)
    relaxed = ((logits + noise) / TEMPERATURE).softmax(-1)
    (expected,) = torch.autograd.grad((relaxed * weight).sum(), logits)
    torch.testing.assert_close(found, expected)


def test_rewards_with_a_small_deviation_are_not_scaled():
    torch.testing.assert_close(advantages(torch.tensor([1.0, 1.1])), torch.tensor([-0.05, 0.05]))
    assert advantages(torch.tensor([4.0])).tolist() == [0.0]


def test_the_score_function_loss_of_an_example():
    logits = torch.tensor([[[math.log(0.25), math.log(0.75)]]])
    entropy = -(0.25 * math.log(0.25) + 0.75 * math.log(0.75))
    loss = score_function_loss(logits, torch.tensor([[1]]), torch.tensor([[2.0]]))
    assert loss.item() == pytest.approx(-2 * math.log(0.75) - 0.01 * entropy)


def test_soft_is_cross_entropy_and_a_receivers_is_summed_over_attributes(logits, targets):
    expected = nn.functional.cross_entropy(logits.transpose(1, 2), targets)
    torch.testing.assert_close(
        supervised_loss(SupervisedChannel(), logits, targets, None, is_receiver=False), expected
    )
    torch.testing.assert_close(
        supervised_loss(SupervisedChannel(), logits, targets, None, is_receiver=True), 4 * expected
    )


def test_over_gumbel_a_sender_minimises_the_share_of_wrong_samples(logits, targets):
    noise = noise_for(logits)
    num_wrong = (draw(logits, noise) != targets).sum().item()
    loss = supervised_loss(SupervisedChannel(channel="gumbel"), logits, targets, noise, is_receiver=False)
    assert loss.item() == pytest.approx(2 * num_wrong / logits.numel())


def test_over_gumbel_a_receiver_minimises_the_cross_entropy_of_relaxed_samples(logits, targets):
    noise = noise_for(logits)
    relaxed = ((logits + noise) / 1.2).softmax(-1)
    expected = -relaxed.gather(-1, targets[..., None]).log().mean() * targets.shape[1]
    found = supervised_loss(SupervisedChannel(channel="gumbel"), logits, targets, noise, is_receiver=True)
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


def test_reinforce_rewards_all_parts_of_an_example_alike(logits, targets):
    noise = noise_for(logits)
    drawn = draw(logits, noise)
    reward = (drawn == targets).float().sum(1)
    advantage = (reward - reward.mean()) / reward.std()
    log_probabilities = logits.log_softmax(-1)
    chosen = log_probabilities.gather(-1, drawn[..., None])[..., 0].sum(1)
    entropy = -(log_probabilities.exp() * log_probabilities).sum()
    expected = -(advantage * chosen).sum() - 0.01 * entropy
    found = supervised_loss(SupervisedChannel(channel="reinforce"), logits, targets, noise, is_receiver=False)
    torch.testing.assert_close(found, expected)


@pytest.mark.parametrize(("model", "expected"), [("gru", True), ("gru-z", False), ("fc1l", False)])
def test_which_senders_are_autoregressive(model, expected):
    assert is_autoregressive(make_agent(parse_model("sender", model), "sender", GEOMETRY, 8)) is expected


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
