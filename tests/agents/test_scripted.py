"""The sender of a fixed language: what it says, in every mode of a channel, and what it refuses."""

import pytest
import torch

from ecsuite.games.config.experiment import load_experiment
from ecsuite.games.players.pair import make_pair
from ecsuite.games.worlds.world import make_world
from ecsuite.runtime.errors import ConfigError

SMALL = ("world.num_values=5", "channel.vocab_size=5", "receiver.hidden_size=8", "training.batch_size=4")


def play(mode, *overrides):
    """Values of the targets, (4, 2), the symbols, (4, 2), and what was played."""
    experiment = load_experiment("fixed_language", [*SMALL, *overrides])
    world = make_world(experiment)
    game = make_pair(experiment, world)
    batch = world.batch("train", 0)
    played = game.play(batch, mode, torch.Generator().manual_seed(0))
    symbols = played.message.symbols
    ids = symbols.argmax(-1) if symbols.dim() == 3 else symbols
    return batch.values[batch.shown[:, 0]], ids.t().numpy(), played


@pytest.mark.parametrize("channel", ["reinforce", "gumbel"])
@pytest.mark.parametrize("mode", ["train", "sample", "greedy"])
def test_a_symbol_is_a_value_or_a_sum_of_both(channel, mode):
    values, said, played = play(mode, f"channel.kind={channel}")
    assert (said == values + 1).all() and played.objective.isfinite()
    values, said, _ = play(mode, f"channel.kind={channel}", "sender.language=sums")
    first, second = values.T
    assert (said[:, 0] == (first + second) % 5 + 1).all() and (said[:, 1] == (first - second) % 5 + 1).all()


@pytest.mark.parametrize("receiver", ["lstm", "transformer", "fc2l", "hier:gru"])
def test_its_certain_symbols_are_heard_in_the_precision_of_the_game(receiver):
    """They are said in fp32, whatever the receiver computes in."""
    experiment = load_experiment("fixed_language", [*SMALL, "channel.kind=gumbel", f"receiver={receiver}"])
    world = make_world(experiment)
    game = make_pair(experiment, world, torch.bfloat16)
    played = game.play(world.batch("train", 0), "train", torch.Generator().manual_seed(0))
    played.objective.backward()
    assert played.objective.isfinite()


def test_sums_may_be_asked_of_the_receiver():
    experiment = load_experiment("fixed_language", [*SMALL, "task.asked=sums"])
    world = make_world(experiment)
    game = make_pair(experiment, world)
    batch = world.batch("train", 0)
    first, second = batch.values[batch.shown[:, 0]].T
    right = game.round_parts(batch)[1].values.numpy()
    assert (right[:, 0] == (first + second) % 5).all() and (right[:, 1] == (first - second) % 5).all()


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["channel.max_len=3"], "expected channel.max_len to be world.num_attributes"),
        (["channel.vocab_size=4"], "at least world.num_values symbols, got 2 of 4 symbols for 10 features"),
        (["sender.perception=mlp"], "sender.perception: expected identity"),
        (["world.num_values=4", "sender.language=sums"], "sender.language: with 4 values two pairs may have"),
        (["world.num_values=4", "task.asked=sums"], "task.asked: with 4 values two pairs may have the same"),
        (["task.asked=sums", "task.num_known=1"], "num_known: expected 0 with asked=sums"),
        (["world.num_attributes=3", "channel.max_len=3", "task.asked=sums"], "task.asked: sums need 2 attr"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused(overrides, message):
    with pytest.raises(ConfigError, match=message):
        play("greedy", *overrides)
