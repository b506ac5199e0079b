"""Words of values with noise: added to them, or of the normal distributions from which they are drawn."""

import pytest
import torch

from ecsuite.games.channels.value_channels import ContinuousChannel, VariationalChannel

LIKE = torch.zeros(2000, 1)


def said(channel, mode, logits, seed=0):
    builder = channel.start_message(mode, LIKE, torch.Generator().manual_seed(seed))
    while not builder.done:
        builder.step(logits.expand(len(LIKE), -1))
    return builder.message()


def continuous(**options):
    return ContinuousChannel(ContinuousChannel.Options(max_len=2, word_size=3, **options))


def variational(**options):
    return VariationalChannel(VariationalChannel.Options(max_len=2, word_size=2, **options))


def test_noise_is_added_in_training_and_in_sampled_messages_only():
    logits = torch.tensor([-1.0, 0.0, 2.0])
    noisy = continuous(value_noise=0.3)
    for mode in ("train", "sample"):
        extra = said(noisy, mode, logits).symbols - logits.sigmoid()
        assert extra.std() == pytest.approx(0.3, abs=0.01) and abs(extra.mean()) < 0.01
    assert said(noisy, "greedy", logits).symbols.equal(logits.sigmoid().expand(2, 2000, 3))
    assert noisy.has_samples and not continuous().has_samples


def test_levels_are_equally_likely_and_noisy_values_have_one():
    drawn = torch.randn(20000, generator=torch.Generator().manual_seed(0))
    shares = variational().shares(drawn)
    assert torch.histc(shares, 4, 0, 1).tolist() == pytest.approx([5000] * 4, abs=250)
    assert continuous().shares(torch.tensor([-0.5, 0.3, 1.5])).tolist() == pytest.approx([0, 0.3, 1])
