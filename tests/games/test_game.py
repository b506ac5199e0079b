"""The whole game: measures of a batch, and gradients of every parameter."""

import numpy as np
import pytest
import torch
from torch.nn.functional import one_hot

from ecsuite.agents.message import EOS, Message
from ecsuite.games.config.experiment import load_experiment
from ecsuite.games.players.pair import make_pair
from ecsuite.games.tasks.tasks import Truth
from ecsuite.games.worlds.world import make_world
from ecsuite.runtime.errors import ConfigError


def make(*overrides):
    experiment = load_experiment("disc_tiny", overrides)
    world = make_world(experiment)
    torch.manual_seed(0)
    return make_pair(experiment, world), first_rounds(world, 32)


def first_rounds(world, number):
    """The first training examples in their own order, as one batch."""
    return world.batch_of(*world.candidates("train", 0, np.arange(number)))


def noise():
    return torch.Generator().manual_seed(1)


@pytest.mark.parametrize("task", ["discrimination", "reconstruction"])
def test_measures_are_expectations_over_the_end(task):
    game, examples = make(f"task.kind={task}", "loss.length_cost=0.1")
    played = game.play(examples, "train", noise())
    states, ends = game.listener.network(played.message, torch.float32)
    labels, values = (
        torch.from_numpy(examples.labels),
        torch.from_numpy(examples.values[examples.shown[:, 0]]),
    )
    answer = states
    if task == "discrimination":
        answer = game.listener.scores(states, game.round_parts(examples)[0], None)
    output = game.task(answer, Truth(labels=labels, values=values))
    losses = torch.stack([ends[end] * output.loss[end] for end in range(4)]).sum(0)
    torch.testing.assert_close(played.measures["loss"], losses.mean())
    torch.testing.assert_close(played.objective, (losses + 0.1 * played.message.length).mean())
    for name, values in output.measures.items():
        torch.testing.assert_close(played.measures[name], (ends * values).sum(0).mean())
    assert set(played.measures) == {"loss", "length", *game.task.chance()}
    assert not any(value.requires_grad for value in played.measures.values())


@pytest.mark.parametrize("mode", ["sample", "greedy"])
def test_ids_and_weights_of_one_message_give_equal_states(mode):
    """A message of ids, and the same one as one-hot weights with a certain end."""
    game, examples = make()
    sent = game.play(examples, mode, noise()).message
    ids = sent.symbols.clamp(min=EOS)
    ends = torch.zeros(len(ids), 32).scatter_(0, sent.length.long()[None] - 1, 1.0)
    weights = Message(symbols=one_hot(ids, 6).float(), ends=ends, length=sent.length)
    states, probabilities = game.listener.network(weights, torch.float32)
    read, certain = game.listener.network(sent, torch.float32)
    torch.testing.assert_close((states * probabilities[..., None]).sum(0), (read * certain[..., None]).sum(0))


@pytest.mark.parametrize(
    "fixed", [["channel.length=fixed"], ["channel.kind=quantized"], ["channel.kind=continuous"]]
)
def test_a_cost_of_length_that_changes_nothing_is_refused(fixed):
    with pytest.raises(
        ConfigError, match=r"^loss.length_cost: messages of channel \w+ have a fixed length, expected 0"
    ):
        make(*fixed, "loss.length_cost=0.1")


@pytest.mark.parametrize("kind", ["quantized", "continuous"])
def test_samples_of_messages_that_are_not_sampled_are_refused(kind):
    with pytest.raises(
        ConfigError, match=rf"^evaluation.mode: messages of channel {kind} are not sampled: expected gr"
    ):
        make(f"channel.kind={kind}", "evaluation.mode=sample")


def test_symbols_after_the_end_are_ignored():
    """Two batches whose messages are equal up to EOS give equal states."""
    game, _ = make()
    short = torch.tensor([[2, 3], [0, 1], [-1, 0], [-1, -1]])
    length = torch.tensor([2.0, 3.0])
    garbage = short.clone()
    garbage[2:, 0], garbage[3, 1] = torch.tensor([4, 5]), 3
    one, other = (
        game.listener.network(Message(symbols=ids, ends=None, length=length), torch.float32)[0]
        for ids in (short, garbage)
    )
    torch.testing.assert_close(one, other)
