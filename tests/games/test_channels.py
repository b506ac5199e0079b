"""Channels: hand computations, brute-force expectations and exact policy gradients on enumerable cases."""

import itertools
import math

import pytest
import torch
from torch.nn.functional import one_hot

from built_messages import OF_SYMBOLS, build_message, make, objective
from ecsuite.agents.message import EOS, PAD
from ecsuite.games.channels.channels import gumbel_noise
from ecsuite.games.channels.message_builders import (
    DiscreteMessageBuilder,
    RelaxedMessageBuilder,
    SymbolOptions,
    without_eos,
)
from ecsuite.games.channels.noise import ShareOptions
from ecsuite.parts.registry import Part


def train_message(channel, logits, seed=0):
    """A message of training from the logits of each step."""
    builder = channel.start_message("train", logits[0], torch.Generator().manual_seed(seed))
    return build_message(builder, logits)


def test_ends_equal_a_hand_computation():
    stops = torch.tensor([0.5, 0.1, 0.8])
    logits = torch.stack([stops, 0.6 * (1 - stops), 0.4 * (1 - stops)], -1).log()[:, None]  # (3, 1, 3)
    message = build_message(RelaxedMessageBuilder(SymbolOptions(vocab_size=2, max_len=3), None, 1.0), logits)
    expected = [0.5, 0.5 * 0.1, 0.5 * 0.9 * 0.8, 0.5 * 0.9 * 0.2]
    assert message.ends[:, 0].tolist() == pytest.approx(expected)
    assert message.length.item() == pytest.approx(sum(t * p for t, p in enumerate(expected, start=1)))
    assert message.symbols[:3, 0].tolist() == [pytest.approx(row) for row in logits.exp()[:, 0].tolist()]


def test_expected_loss_equals_a_brute_force_expectation():
    """Enumerate all decisions to stop or continue: probability times the loss at the end with its length cost."""
    torch.manual_seed(0)
    channel = make("gumbel")
    message = train_message(channel, torch.randn(3, 4, 3), 1)
    losses = torch.rand(4, 4)  # (num_ends, batch)
    ours = objective(channel, losses, message, length_cost=0.3)

    stops = message.symbols[:, :, EOS]
    expected = torch.zeros(4)
    for choices in itertools.product([True, False], repeat=4):  # does it stop at each step?
        each = [p if choice else 1 - p for choice, p in zip(choices, stops, strict=True)]
        probability = torch.stack(each).prod(0)
        end = choices.index(True) if True in choices else 3
        expected += probability * (losses[end] + 0.3 * (end + 1))
    torch.testing.assert_close(ours, expected.mean())


def test_the_length_is_trained():
    """The gradient flows through the probabilities of the ends: a loss at the second end raises the first EOS."""
    logits = torch.zeros(3, 1, 3, requires_grad=True)
    message = build_message(RelaxedMessageBuilder(SymbolOptions(vocab_size=2, max_len=3), None, 1.0), logits)
    (gradient,) = torch.autograd.grad(message.ends[1].sum(), logits)
    assert gradient[0, 0, EOS] < 0 < gradient[1, 0, EOS]
    assert (gradient[2] == 0).all()


@pytest.mark.parametrize("kind", ["gumbel", "soft"])
def test_straight_through_is_one_hot_forward_with_the_soft_gradient(kind):
    torch.manual_seed(0)
    logits, weights = torch.randn(3, 5, 3, requires_grad=True), torch.randn(4, 5, 3)
    channels = (make(kind, straight_through=is_hard, temperature=0.7) for is_hard in (False, True))
    soft, hard = messages = [train_message(each, logits, 3) for each in channels]
    assert hard.symbols.sort(-1).values[..., -1].sub(1).abs().max() < 1e-6
    assert hard.symbols.argmax(-1).equal(soft.symbols.argmax(-1))
    torch.testing.assert_close(hard.symbols.sum(-1), torch.ones(4, 5))
    gradients = [torch.autograd.grad((message.symbols * weights).sum(), logits)[0] for message in messages]
    torch.testing.assert_close(*gradients)


def test_temperature_decays_an_epoch_at_a_time_down_to_a_minimum():
    channel = make("gumbel", temperature=2.0, temperature_decay=0.9, temperature_min=1.5)
    temperatures = [channel.options.temperature_in(epoch) for epoch in range(4)]
    assert temperatures == pytest.approx([2.0, 1.8, 1.62, 1.5])
    logits = torch.randn(3, 4, 3)
    soft = make("soft", temperature=2.0, temperature_decay=0.5)
    symbols = build_message(soft.start_message("train", torch.zeros(4, 1), None, epoch=1), logits).symbols[:3]
    torch.testing.assert_close(symbols, logits.softmax(-1))


@pytest.mark.parametrize("kind", OF_SYMBOLS)
def test_samples_follow_the_softmax(kind):
    logits = torch.tensor([0.0, 1.0, -1.0]).expand(1, 40_000, 3)
    noise = torch.Generator().manual_seed(0)
    builder = make(kind, max_len=1).start_message("sample", torch.zeros(40_000, 1), noise)
    sampled = build_message(builder, logits).symbols[0].bincount(minlength=3) / 40_000
    torch.testing.assert_close(sampled, logits[0, 0].softmax(-1), rtol=0, atol=0.01)


@pytest.mark.parametrize("kind", OF_SYMBOLS)
def test_greedy_messages_are_the_most_likely_symbols(kind):
    logits = torch.randn(3, 50, 3)
    builder = make(kind, length="fixed").start_message("greedy", logits[0], torch.Generator())
    assert build_message(builder, logits).symbols.equal(1 + logits[..., 1:].argmax(-1))


def test_each_step_of_a_relaxed_message_has_gumbel_noise_of_its_own():
    noise = gumbel_noise(make("gumbel").options, torch.zeros(50_000, 1), torch.Generator().manual_seed(4))
    message = train_message(make("gumbel"), torch.zeros(3, 50_000, 3), 4)
    torch.testing.assert_close(message.symbols[:3], noise.softmax(-1))
    assert noise.mean().item() == pytest.approx(0.57722, abs=0.01)  # Euler's constant
    assert noise.var().item() == pytest.approx(math.pi**2 / 6, rel=0.02)


def test_eos_impossible_leaves_entropy_and_gradients_finite():
    logits = torch.randn(3, 4, 3, requires_grad=True)
    message = train_message(make("reinforce", length="fixed"), logits)
    expected = torch.stack([torch.distributions.Categorical(logits=step[:, 1:]).entropy() for step in logits])
    torch.testing.assert_close(message.entropy, expected.mean(0))
    (gradient,) = torch.autograd.grad((message.entropy + message.log_probability).sum(), logits)
    assert gradient.isfinite().all() and (gradient[..., EOS] == 0).all()
    assert without_eos(torch.zeros(2, 3))[:, EOS].tolist() == [-math.inf, -math.inf]


def test_one_symbol_of_fixed_length_has_finite_gradients():
    logits = torch.randn(3, 4, 2, requires_grad=True)
    for kind in OF_SYMBOLS:
        channel = make(kind, vocab_size=1, length="fixed")
        message = train_message(channel, logits)
        total = objective(channel, message.symbols.float().sum((0, *range(2, message.symbols.ndim))), message)
        if total.requires_grad:
            (gradient,) = torch.autograd.grad(total, logits)
            assert gradient.isfinite().all()


def test_reinforce_log_probability_and_entropy_of_the_symbols():
    logits = torch.randn(3, 50, 3)
    message = train_message(make("reinforce"), logits)
    log_probabilities = logits.log_softmax(-1)
    entropies = -(log_probabilities.exp() * log_probabilities).sum(-1)
    for row, symbols in enumerate(message.symbols.t().tolist()):
        chosen = [symbol for symbol in symbols[:3] if symbol >= 0]  # an appended EOS is not chosen
        expected = sum(log_probabilities[step, row, symbol].item() for step, symbol in enumerate(chosen))
        assert message.log_probability[row].item() == pytest.approx(expected, rel=1e-5)
        entropy = sum(entropies[step, row].item() for step in range(len(chosen)))
        assert message.entropy[row].item() == pytest.approx(entropy / message.length[row].item(), rel=1e-5)


@pytest.mark.parametrize("length_cost", [0.0, 0.2])
def test_reinforce_follows_the_exact_policy_gradient(length_cost):
    """Two steps of three symbols can be enumerated: the mean surrogate gradient is the gradient of the mean loss."""
    torch.manual_seed(0)
    logits = torch.randn(2, 1, 3, requires_grad=True)
    table = torch.rand(4, 4)

    def loss_of(symbols):
        return table[symbols[0], symbols[1] if len(symbols) > 1 else 3]

    log_probabilities = logits[:, 0].log_softmax(-1)
    expected_loss = torch.zeros(())
    for first, second in itertools.product(range(3), range(3)):
        if first == EOS and second > 0:
            continue
        symbols = [first] if first == EOS else [first, second]
        probability = sum(log_probabilities[step, symbol] for step, symbol in enumerate(symbols)).exp()
        num_steps = len(symbols) + (symbols[-1] != EOS)
        expected_loss = expected_loss + probability * (loss_of(symbols) + length_cost * num_steps)
    (exact,) = torch.autograd.grad(expected_loss, logits)

    batch = 200_000
    channel = make("reinforce", max_len=2, entropy_coefficient=0.0)
    channel.baselines = torch.tensor([0.5, 0.0])  # the mean gradient does not depend on the baseline
    message = train_message(channel, logits.expand(-1, batch, -1))
    ids = message.symbols.t()
    losses = table[ids[:, 0], torch.where(ids[:, 1] >= 0, ids[:, 1], 3)]
    (estimate,) = torch.autograd.grad(objective(channel, losses, message, length_cost), logits)
    torch.testing.assert_close(estimate, exact, rtol=0, atol=0.01)


def test_reinforce_gives_the_receiver_the_gradient_of_the_mean_loss_alone():
    channel, losses = make("reinforce"), torch.rand(8, requires_grad=True)
    total = objective(channel, losses, train_message(channel, torch.randn(3, 8, 3)), length_cost=0.5)
    (gradient,) = torch.autograd.grad(total, losses)
    torch.testing.assert_close(gradient, torch.full((8,), 1 / 8))


def test_reinforce_baselines_are_means_over_steps_so_far():
    channel = make("reinforce")
    lengths, means = [], []
    for step in range(3):
        message = train_message(channel, torch.randn(3, 8, 3), step)
        losses = torch.rand(8)
        before = channel.baselines.clone()
        total = objective(channel, losses, message, length_cost=0.5)
        advantage = losses - before[0] + 0.5 * message.length - before[1]
        expected = (advantage * message.log_probability).mean() - 0.1 * message.entropy.mean() + losses.mean()
        torch.testing.assert_close(total, expected)
        means.append(losses.mean().item())
        lengths.append(0.5 * message.length.mean().item())
        expected = [sum(means) / (step + 1), sum(lengths) / (step + 1)]
        assert channel.baselines.tolist() == pytest.approx(expected)
    assert set(channel.state_dict()) == {"baselines", "num_steps"}


def test_reinforce_evaluation_has_no_surrogate_and_leaves_the_baselines():
    channel = make("reinforce")
    message = build_message(channel.start_message("greedy", torch.zeros(8, 1), None), torch.randn(3, 8, 3))
    losses = torch.rand(8)
    evaluated = objective(channel, losses, message, length_cost=0.5)
    torch.testing.assert_close(evaluated, (losses + 0.5 * message.length).mean())
    assert channel.baselines.tolist() == [0, 0] and channel.num_steps == 0


def test_a_discrete_builder_is_done_once_all_messages_have_ended():
    """In training after two steps, so that all weights of a sender get a gradient."""
    options = SymbolOptions(vocab_size=2, max_len=5)
    stop = torch.tensor([[9.0, 0.0, 0.0]])
    for track, num_steps in ((False, 1), (True, 2)):
        builder = DiscreteMessageBuilder(options, None, track=track)
        message = build_message(builder, stop.expand(5, 4, 3))
        assert len(builder.ids) == num_steps
        assert (message.length == 1).all()


@pytest.mark.parametrize("noise", [None, torch.zeros(6, 4, 3)])
def test_a_message_is_the_same_whether_its_builder_stops_early_or_not(noise):
    """On a CPU building stops when all messages have ended; other devices make all steps."""
    config = SymbolOptions(vocab_size=2, max_len=6)
    logits = torch.randn(6, 4, 3, generator=torch.Generator().manual_seed(0))
    logits[2, :, EOS] = 10
    early = build_message(DiscreteMessageBuilder(config, noise, track=False), logits)
    builder = DiscreteMessageBuilder(config, noise, track=False)
    for step in logits:
        builder.step(step)
    late = builder.message()
    assert (len(early.symbols), len(late.symbols)) == (4, 7)
    assert torch.equal(early.symbols, late.symbols[:4]) and (late.symbols[4:] == PAD).all()
    assert torch.equal(early.length, late.length)


def test_other_devices_than_a_cpu_are_not_waited_for():
    """Asking for a value on the meta device, which has none, is an error."""
    builder = DiscreteMessageBuilder(SymbolOptions(vocab_size=2, max_len=3), None, track=False)
    steps = 0
    while not builder.done:
        builder.step(torch.zeros(4, 3, device="meta"))
        steps += 1
    assert steps == 3


@pytest.mark.parametrize("kind", OF_SYMBOLS)
@pytest.mark.parametrize("length", ["variable", "fixed"])
def test_a_share_of_the_symbols_is_dropped_and_nothing_else(kind, length):
    noise = Part("erasure", ShareOptions(probability=0.3))
    channel, plain = make(kind, noise=noise, length=length), make(kind, length=length)
    logits = torch.randn(3, 4000, 3, generator=torch.Generator().manual_seed(1))
    said = train_message(channel, logits)
    assert plain.received(said, None) is said
    got = channel.received(said, torch.Generator().manual_seed(2))
    weights = said.symbols
    if not weights.is_floating_point():  # ids; after the end there is nothing
        weights = one_hot(weights.clamp(min=EOS), 3) * (weights != PAD)[..., None].float()
    is_kept = (got.symbols == weights).all(-1)
    assert (got.symbols[~is_kept] == 0).all()
    there = weights.sum(-1) > 0
    assert (~is_kept[there]).float().mean().item() == pytest.approx(0.3, abs=0.02)
    assert (got.ends is None) == (length == "fixed")
    assert got.length is said.length and got.log_probability is said.log_probability
    if length == "variable" and said.ends is None:
        assert (got.ends.argmax(0) + 1 == said.length).all()


@pytest.mark.parametrize("kind", ["soft", "gumbel"])
def test_a_learnt_temperature_has_a_gradient_near_its_minimum(kind):
    """It is pushed down as far as it goes, and then up again."""
    channel = make(kind, temperature=0.11, trainable_temperature=True)
    optimizer = torch.optim.SGD(channel.parameters(), lr=1.0)

    def temperature_now():
        return channel.start_message("train", torch.zeros(1), torch.Generator()).temperature

    assert temperature_now().item() == pytest.approx(0.11, rel=1e-5)
    for step in range(200):
        temperature = temperature_now()
        optimizer.zero_grad()
        (temperature if step < 3 else -temperature).backward()
        optimizer.step()
        assert temperature.item() >= 0.1
    assert temperature_now().item() > 0.2


@pytest.mark.parametrize("length", ["fixed", "variable"])
def test_a_learnt_temperature_has_a_finite_gradient(length):
    """Also where EOS can't be said: its logit of -inf says nothing of the temperature."""
    channel = make("gumbel", length=length, trainable_temperature=True)
    train_message(channel, torch.randn(3, 4, 3)).symbols[..., 1].sum().backward()
    assert channel.raw_temperature.grad.isfinite() and channel.raw_temperature.grad != 0
