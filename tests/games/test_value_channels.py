"""Words of values: levels, gradients, noise, the normal distributions they are drawn from, and codebooks, by hand."""

import math

import pytest
import torch

from built_messages import build_message, make
from ecsuite.games.channels.value_channels import VqvibChannel

WORDS_OF_VALUES = ["quantized", "continuous"]


def build_value_message(kind, logits, mode="train", **settings):
    """A message of words of values, from logits (max_len, batch, word_size)."""
    num_words, _, word_size = logits.shape
    settings = {"max_len": num_words, "word_size": word_size, **settings}
    builder = make(kind, **settings).start_message(mode, logits[0], torch.Generator().manual_seed(0))
    return build_message(builder, logits)


def as_values(logits, normalize):
    if normalize == "sigmoid":
        return 1 / (1 + torch.exp(-logits))
    low, high = logits.min(-1, keepdim=True).values, logits.max(-1, keepdim=True).values
    return (logits - low) / (high - low)


@pytest.mark.parametrize("kind", WORDS_OF_VALUES)
@pytest.mark.parametrize("normalize", ["sigmoid", "minmax"])
def test_gradients_are_those_of_values_and_words_do_not_depend_on_their_batch(kind, normalize):
    torch.manual_seed(0)
    logits, weights = torch.randn(3, 5, 6, requires_grad=True), torch.randn(3, 5, 6)
    words = build_value_message(kind, logits, num_levels=3, normalize=normalize).symbols
    both = (words, as_values(logits, normalize))
    ours, expected = (torch.autograd.grad((each * weights).sum(), logits)[0] for each in both)
    torch.testing.assert_close(ours, expected)
    assert ours.abs().max() > 0.01
    for rows in ([0], [3, 3], [4, 1, 2]):
        part = build_value_message(kind, logits[:, rows], num_levels=3, normalize=normalize).symbols
        torch.testing.assert_close(part, words[:, rows], rtol=0, atol=1e-6)


@pytest.mark.parametrize("normalize", ["sigmoid", "minmax"])
@pytest.mark.parametrize("num_levels", [2, 3, 100])
def test_quantized_words_are_the_nearest_levels(num_levels, normalize):
    logits = 3 * torch.randn(4, 50, 7, generator=torch.Generator().manual_seed(0))
    symbols = build_value_message("quantized", logits, num_levels=num_levels, normalize=normalize).symbols
    levels = torch.arange(num_levels) / (num_levels - 1)
    assert torch.isin(symbols, levels).all()  # exactly
    distance = (as_values(logits, normalize)[..., None] - levels).abs()
    assert (symbols == levels[distance.argmin(-1)]).all() and len(symbols.unique()) > num_levels // 2


@pytest.mark.parametrize(("num_levels", "half"), [(2, 0), (4, 2 / 3), (6, 0.4), (8, 4 / 7), (3, 0.5)])
def test_halves_are_rounded_to_the_even_level(num_levels, half):
    symbols = build_value_message("quantized", torch.zeros(1, 1, 2), num_levels=num_levels).symbols
    assert symbols.flatten().tolist() == pytest.approx([half, half])  # sigmoids of 0.5


LIKE = torch.zeros(2000, 1)


def said(channel, mode, logits):
    builder = channel.start_message(mode, LIKE, torch.Generator().manual_seed(0))
    while not builder.done:
        builder.step(logits.expand(len(LIKE), -1))
    return builder.message()


def test_noise_is_added_in_training_and_in_sampled_messages_only():
    logits, plain = torch.tensor([-1.0, 0.0, 2.0]), make("continuous", max_len=2, word_size=3)
    noisy = make("continuous", max_len=2, word_size=3, value_noise=0.3)
    for mode in ("train", "sample"):
        extra = said(noisy, mode, logits).symbols - logits.sigmoid()
        assert extra.std() == pytest.approx(0.3, abs=0.01) and abs(extra.mean()) < 0.01
    assert said(noisy, "greedy", logits).symbols.equal(logits.sigmoid().expand(2, 2000, 3))
    assert noisy.has_samples and not plain.has_samples
    assert plain.shares(torch.tensor([-0.5, 0.3, 1.5])).tolist() == pytest.approx([0, 0.3, 1])


def test_variational_words_have_the_senders_distributions_and_cost_their_divergence():
    channel = make("variational", max_len=2, word_size=2, kl_coefficient=0.5)
    logits = torch.tensor([1.0, -2.0, math.log(0.25), 0.0])  # means, then log-variances
    message = said(channel, "train", logits)
    assert message.symbols.mean((0, 1)).tolist() == pytest.approx([1, -2], abs=0.05)
    assert message.symbols.std((0, 1)).tolist() == pytest.approx([0.5, 1], abs=0.03)
    assert said(channel, "greedy", logits).symbols[0, 0].tolist() == [1, -2]
    own = torch.distributions.Normal(torch.tensor([1.0, -2.0]), torch.tensor([0.5, 1.0]))
    expected = 2 * float(torch.distributions.kl_divergence(own, torch.distributions.Normal(0.0, 1.0)).sum())
    assert message.divergence[0] == pytest.approx(expected, rel=1e-5)
    found = channel.objective(torch.ones(2000), torch.zeros(2000), message)
    assert found == pytest.approx(1 + 0.5 * expected, rel=1e-5)
    shares = channel.shares(torch.randn(20000, generator=torch.Generator().manual_seed(0)))
    assert torch.histc(shares, 4, 0, 1).tolist() == pytest.approx([5000] * 4, abs=250)


def codebook(**options):
    made = VqvibChannel(VqvibChannel.Options(vocab_size=2, word_size=2, **options))
    with torch.no_grad():
        made.codebook.copy_(torch.tensor([[1.0, 0.0], [-1.0, 0.0]]))
    return made


def test_a_word_of_a_codebook_is_the_nearest_vector():
    message = said(codebook(), "greedy", torch.tensor([0.4, 3.0, 0.0, 0.0]))
    assert message.symbols[0, 0].tolist() == pytest.approx([1, 0], abs=1e-6)
    messages, names = codebook().as_symbols(message.symbols.transpose(0, 1))
    assert set(messages.values.tolist()) == {1} and names is None
    drawn = said(codebook(), "train", torch.zeros(4)).symbols
    assert (drawn[0, :, 0] > 0).float().mean() == pytest.approx(0.5, abs=0.1)


def test_the_objective_of_a_codebook_has_the_weights():
    """Complexity is a divergence from the standard normal distribution, 0.4^2 / 2, distortion a mean over values."""
    made = codebook(utility=2.0, complexity=0.5, commitment=0.25)
    message = said(made, "greedy", torch.tensor([0.4, 0.0, 0.0, 0.0]))
    found = made.objective(torch.full((2000,), 3.0), torch.ones(2000), message)
    assert found.item() == pytest.approx(2 * 3 + 1 + 0.5 * 0.08 + (0.4 - 1) ** 2 / 2 * 1.25, rel=1e-5)


def test_gradients_go_through_the_word_and_to_the_codebook():
    logits = torch.tensor([0.4, 0.0, 0.0, 0.0], requires_grad=True)
    made = codebook(complexity=0.0)
    message = said(made, "greedy", logits)
    made.objective(message.symbols[0].sum(-1), torch.zeros(2000), message).backward()
    assert logits.grad[1] == pytest.approx(1.0) and logits.grad.isfinite().all()  # straight through the word
    assert made.codebook.grad[0, 0] > 0 and not made.codebook.grad[1].any()
