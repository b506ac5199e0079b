"""Channel vqvib: words are vectors of a codebook, complexity is a divergence, and gradients reach both agents."""

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


def test_gradients_go_through_the_word_and_to_the_codebook():
    logits = torch.tensor([0.4, 0.0, 0.0, 0.0], requires_grad=True)
    made = channel(complexity=0.0)
    message = said(made, "greedy", logits)
    made.objective(message.symbols[0].sum(-1), torch.zeros(500), message).backward()
    assert logits.grad[1] == pytest.approx(1.0)  # straight through the word
    assert made.codebook.grad[0, 0] > 0 and not made.codebook.grad[1].any()
    assert np.isfinite(logits.grad.numpy()).all()
