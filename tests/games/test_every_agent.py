"""Every sender and every receiver plays: a training step over each kind of channel, and then it speaks and reads."""

import pytest
import torch

from ecsuite.agents.registry import CELLS
from ecsuite.agents.spec import families
from ecsuite.games.config.experiment import override
from ecsuite.games.plays.evaluation import record_corpus
from ecsuite.games.plays.population import Population
from ecsuite.games.worlds.world import make_world
from ecsuite.runtime.errors import ConfigError


def names(role, *more):
    """Each name of an agent that plays games, with every cell where it stands for all."""
    return [
        name.replace("CELL", cell)
        for name in families(role)
        for cell in (CELLS.parts if "CELL" in name else [""])
        if name != "hashtable"
    ] + [*more]


CHANNELS = {
    f"{kind} {length}": f"{kind},length={length}"
    for kind in ("gumbel", "reinforce")
    for length in ("fixed", "variable")
} | {"quantized": "quantized", "continuous": "continuous"}
ALL_SENDERS = names(
    "sender", "gru-2l", "lstm-z", "sru-2l-z", "transformer-2l,init=copied", "lstm,hidden_size=20"
)
TRAINED_SENDERS = [name for name in ALL_SENDERS if name not in ("scripted", "phrasebook")]
ALL_RECEIVERS = names(
    "receiver", "sru-2l", "hier:gru,stop=first,reset=on", "cnn,blocks=1", "fc2l,form=sum", "cnn,hidden=20"
)
TRAINED_RECEIVERS = [name for name in ALL_RECEIVERS if name not in ("lexicon", "phrasebook")]

INERT = tuple(f"speaker.network.{name}.input_map.weight" for name in ("upper", "lower", "cells.0"))
"""What meets only zeros does not learn: inputs of an upper cell, and all inputs of senders that do not hear."""


def play(small, sender, receiver, channel):
    """One training step; the game, with which parameters moved, and what it is like afterwards."""
    experiment = override(
        small(), [f"sender={sender}", f"receiver={receiver}", f"channel={CHANNELS[channel]}"]
    )
    torch.manual_seed(0)
    world = make_world(experiment)
    players = Population.from_experiment(experiment, world)
    game = players.first_pair
    is_variable = "variable" in channel
    before = {name: parameter.detach().clone() for name, parameter in game.named_parameters()}
    optimizer = torch.optim.Adam(game.parameters(), lr=0.01)
    batch = world.draw("train", 0, 16)
    game.play(batch, "train", torch.Generator().manual_seed(1)).objective.backward()
    optimizer.step()
    still = {name for name, parameter in game.named_parameters() if torch.equal(parameter, before[name])}
    for mode in ("greedy", "sample"):
        played = game.play(batch, mode, torch.Generator().manual_seed(2))
        assert played.objective.isfinite()
        assert played.message.length.max() <= experiment.channel.options.max_len + is_variable
    corpus = record_corpus(players, experiment)
    assert len(corpus.messages) == 16 and min(corpus.messages[0]) >= 0
    assert (corpus.eos is not None) == is_variable
    return still


def with_channels(agents):
    """Every agent with every channel, of which the ordinary run has two, others for each agent."""
    return [
        pytest.param(agent, channel, marks=() if (number - place) % 3 == 0 else pytest.mark.slow)
        for place, agent in enumerate(agents)
        for number, channel in enumerate(CHANNELS)
    ]


@pytest.mark.sample(8)
@pytest.mark.parametrize(("sender", "channel"), with_channels(TRAINED_SENDERS))
def test_every_sender_plays(small, sender, channel):
    still = play(small, sender, "gru", channel)
    hears = not (sender.endswith("-z") or sender.startswith("husendz"))
    assert still <= set(INERT if not hears else INERT[:1] if sender.startswith("husenda") else ())


@pytest.mark.sample(8)
@pytest.mark.parametrize(("receiver", "channel"), with_channels(TRAINED_RECEIVERS))
def test_every_receiver_plays(small, receiver, channel):
    assert not play(small, "gru", receiver, channel)


def test_a_name_that_is_not_known_stops_before_anything_is_made(small):
    message = r"unknown receiver 'heir:gru'; did you mean 'hier:CELL'\? choices: bidirectional, "
    with pytest.raises(ConfigError, match=message):
        small("receiver.kind=heir:gru")
