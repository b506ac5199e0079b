"""Channel vqvib: words are vectors of a codebook, complexity is a divergence, and gradients reach both agents."""

import math

import numpy as np
import pytest
import torch

from ecsuite.games.channels.value_channels import VqvibChannel

LIKE = torch.zeros(500, 1)


def channel(**options):
    made = VqvibChannel(VqvibChannel.Options(vocab_size=2, word_size=2, **options))
    with torch.no_grad():
        made.codebook.copy_(torch.tensor([[1.0, 0.0], [-1.0, 0.0]]))
    return made


def said(made, mode, logits):
    builder = made.start_message(mode, LIKE, torch.Generator().manual_seed(0))
    while not builder.done:
        builder.step(logits.expand(len(LIKE), -1))
    return builder.message()


def test_a_word_is_the_nearest_vector():
    logits = torch.tensor([0.4, 3.0, 0.0, 0.0])
    message = said(channel(), "greedy", logits)
    assert message.symbols[0, 0].tolist() == pytest.approx([1, 0], abs=1e-6)
    messages, names = channel().as_symbols(message.symbols.transpose(0, 1))
    assert set(messages.values.tolist()) == {1} and names is None
    drawn = said(channel(), "train", torch.tensor([0.0, 0.0, 0.0, 0.0])).symbols
    share = (drawn[0, :, 0] > 0).float().mean()
    assert share == pytest.approx(0.5, abs=0.1)


def test_complexity_is_the_divergence_from_the_standard_normal_distribution():
    message = said(channel(max_len=2), "train", torch.tensor([1.0, -2.0, math.log(0.25), 0.0]))
    own = torch.distributions.Normal(torch.tensor([1.0, -2.0]), torch.tensor([0.5, 1.0]))
    expected = 2 * torch.distributions.kl_divergence(own, torch.distributions.Normal(0.0, 1.0)).sum()
    assert message.divergence[0] == pytest.approx(float(expected), rel=1e-5)


def test_the_objective_has_the_weights():
    logits = torch.tensor([0.4, 0.0, 0.0, 0.0])
    made = channel(utility=2.0, complexity=0.5, commitment=0.25)
    message = said(made, "greedy", logits)
    far = ((0.4 - 1) ** 2) / 2 * 1.25
    expected = 2 * 3 + 1 + 0.5 * 0.08 + far
    found = made.objective(torch.full((500,), 3.0), torch.ones(500), message)
    assert found.item() == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("max_len", [1, 2])
def test_distances_from_the_codebook_are_means_over_values_and_sums_over_words(max_len):
    """Of a word of three values; the sum over values, as in equation 3 of van den Oord et al., is three times that."""
    made = VqvibChannel(
        VqvibChannel.Options(vocab_size=2, word_size=3, max_len=max_len, complexity=0, commitment=0.5)
    )
    with torch.no_grad():
        made.codebook.copy_(torch.tensor([[1.0, 0.0, 2.0], [-5.0, 0.0, 0.0]]))
    message = said(made, "greedy", torch.tensor([0.5, 1.0, 0.0, 0.0, 0.0, 0.0]))
    squared = (0.25 + 1.0 + 4.0) / 3
    assert message.distortion[0].item() == pytest.approx(max_len * 1.5 * squared, rel=1e-6)
    found = made.objective(torch.zeros(500), torch.zeros(500), message)
    assert found.item() == pytest.approx(max_len * 1.5 * squared, rel=1e-6)


def test_gradients_go_through_the_word_and_to_the_codebook():
    logits = torch.tensor([0.4, 0.0, 0.0, 0.0], requires_grad=True)
    made = channel(complexity=0.0)
    message = said(made, "greedy", logits)
    made.objective(message.symbols[0].sum(-1), torch.zeros(500), message).backward()
    assert logits.grad[1] == pytest.approx(1.0)  # straight through the word
    assert made.codebook.grad[0, 0] > 0 and not made.codebook.grad[1].any()
    assert np.isfinite(logits.grad.numpy()).all()
