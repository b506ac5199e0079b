"""Words of values with noise: added to them, or of the normal distributions from which they are drawn."""

import math

import pytest
import torch

from ecsuite.games.channels.value_channels import ContinuousChannel, VariationalChannel
from ecsuite.games.config.experiment import load_experiment
from ecsuite.games.players.pair import make_pair
from ecsuite.games.plays.evaluation import record_corpus
from ecsuite.games.plays.population import Population
from ecsuite.games.worlds.world import make_world
from ecsuite.runtime.errors import ConfigError

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


def test_words_are_drawn_from_the_distributions_that_the_sender_gives():
    logits = torch.tensor([1.0, -2.0, math.log(0.25), 0.0])  # means, then log-variances
    words = said(variational(), "train", logits).symbols
    assert words.shape == (2, 2000, 2)
    assert words.mean((0, 1)).tolist() == pytest.approx([1, -2], abs=0.05)
    assert words.std((0, 1)).tolist() == pytest.approx([0.5, 1], abs=0.03)
    assert said(variational(), "greedy", logits).symbols[0, 0].tolist() == [1, -2]


def test_any_words_are_drawn_from_the_prior_and_finite_at_its_ends():
    words = variational().any_words(torch.tensor([0.0, 0.5, 0.975, 1.0]))
    assert words[1:3].tolist() == pytest.approx([0, 1.96], abs=0.001)
    assert -6 < words[0] < -4 and 4 < words[3] < 6


def test_the_cost_is_the_divergence_from_the_standard_normal_distribution():
    logits = torch.tensor([1.0, -2.0, math.log(0.25), 0.0])
    channel = variational(kl_coefficient=0.5)
    message = said(channel, "train", logits)
    own = torch.distributions.Normal(torch.tensor([1.0, -2.0]), torch.tensor([0.5, 1.0]))
    expected = 2 * torch.distributions.kl_divergence(own, torch.distributions.Normal(0.0, 1.0)).sum()
    assert message.divergence[0] == pytest.approx(float(expected), rel=1e-5)
    found = channel.objective(torch.ones(2000), torch.zeros(2000), message)
    assert found == pytest.approx(1 + 0.5 * float(expected), rel=1e-5)


@pytest.mark.parametrize("sender", ["gru", "transformer"])
def test_both_agents_learn_through_drawn_words_and_the_corpus_has_levels(sender):
    settings = [f"sender.kind={sender}", "channel=variational,max_len=2,word_size=2,num_levels=4"]
    experiment = load_experiment("disc_tiny", [*settings, "training.precision=fp32"])
    world = make_world(experiment)
    torch.manual_seed(0)
    players = Population.from_experiment(experiment, world)
    game = players.first_pair
    game.play(world.batch("train", 0), "train", torch.Generator().manual_seed(0)).objective.backward()
    for network in (game.speaker.network, game.listener.network):
        grads = [parameter.grad for parameter in network.parameters()]
        assert sum(grad is not None and bool(grad.abs().sum() > 0) for grad in grads) >= len(grads) - 1
    corpus = record_corpus(players, experiment)
    assert corpus.messages.lengths.tolist() == [2] * 16 and 1 <= corpus.messages.values.min()
    assert corpus.messages.values.max() <= 16 and "rounded to 4 levels" in corpus.metadata["symbols"]


def test_levels_are_equally_likely_and_noisy_values_have_one():
    drawn = torch.randn(20000, generator=torch.Generator().manual_seed(0))
    shares = variational().shares(drawn)
    assert torch.histc(shares, 4, 0, 1).tolist() == pytest.approx([5000] * 4, abs=250)
    assert continuous().shares(torch.tensor([-0.5, 0.3, 1.5])).tolist() == pytest.approx([0, 0.3, 1])


def test_words_are_not_sampled_where_there_is_no_noise():
    experiment = load_experiment("disc_tiny", ["channel=continuous", "evaluation.mode=sample"])
    with pytest.raises(ConfigError, match="messages of channel continuous are not sampled"):
        make_pair(experiment, make_world(experiment))
