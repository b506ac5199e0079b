"""Words of values: their levels, gradients and precision, which need neither noise nor an end."""

import pytest
import torch
from built_messages import build_message, make

WORDS_OF_VALUES = ["quantized", "continuous"]


def build_value_message(kind, logits, mode="train", **settings):
    """A message of words of values, from logits (max_len, batch, word_size)."""
    num_words, _, word_size = logits.shape
    settings = {"max_len": num_words, "word_size": word_size, **settings}
    builder = make(kind, **settings).start_message(mode, logits[0], torch.Generator().manual_seed(0))
    return build_message(builder, logits)


@pytest.mark.parametrize("kind", WORDS_OF_VALUES)
@pytest.mark.parametrize("normalize", ["sigmoid", "minmax"])
def test_the_gradient_of_words_is_that_of_their_values(kind, normalize):
    torch.manual_seed(0)
    logits, weights = torch.randn(3, 5, 6, requires_grad=True), torch.randn(3, 5, 6)
    message = build_value_message(kind, logits, num_levels=3, normalize=normalize)
    (ours,) = torch.autograd.grad((message.symbols * weights).sum(), logits)
    if normalize == "sigmoid":
        values = 1 / (1 + torch.exp(-logits))
    else:
        low, high = logits.min(-1, keepdim=True).values, logits.max(-1, keepdim=True).values
        values = (logits - low) / (high - low)
    (expected,) = torch.autograd.grad((values * weights).sum(), logits)
    torch.testing.assert_close(ours, expected)
    assert ours.abs().max() > 0.01
