"""Every sender and every receiver plays: a training step over each kind of channel, and then it speaks and reads."""

import pytest
import torch

from ecsuite.agents.registry import CELLS
from ecsuite.agents.spec import families
from ecsuite.config import ConfigError
from ecsuite.games.corpus_generation import record_corpus
from ecsuite.games.experiment import override
from ecsuite.games.game import Game, make_world


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
ALL_RECEIVERS = names(
    "receiver", "sru-2l", "hier:gru,stop=first,reset=on", "cnn,blocks=1", "fc2l,form=sum", "cnn,hidden=20"
)

INERT = ("sender.upper.input_map.weight", "sender.lower.input_map.weight", "sender.cells.0.input_map.weight")
"""What meets only zeros does not learn: inputs of an upper cell, and all inputs of senders that do not hear."""


def play(small, sender, receiver, channel):
    """One training step; the game, with which parameters moved, and what it is like afterwards."""
    experiment = override(
        small(), [f"sender={sender}", f"receiver={receiver}", f"channel={CHANNELS[channel]}"]
    )
    torch.manual_seed(0)
    world = make_world(experiment)
    game = Game(experiment, world)
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
    corpus = record_corpus(game, experiment)
    assert len(corpus.messages) == 16 and min(corpus.messages[0]) >= 0
    assert (corpus.eos is not None) == is_variable
    return still


@pytest.mark.parametrize("sender", ALL_SENDERS)
@pytest.mark.parametrize("channel", CHANNELS)
def test_every_sender_plays(small, sender, channel):
    still = play(small, sender, "gru", channel)
    hears = not (sender.endswith("-z") or sender.startswith("husendz"))
    assert still <= set(INERT if not hears else INERT[:1] if sender.startswith("husenda") else ())


@pytest.mark.parametrize("receiver", ALL_RECEIVERS)
@pytest.mark.parametrize("channel", CHANNELS)
def test_every_receiver_plays(small, receiver, channel):
    assert not play(small, "gru", receiver, channel)


@pytest.mark.parametrize("task", ["discrimination", "reconstruction"])
def test_a_new_pair_trains_from_beginning_to_end(tmp_path, small, run, task):
    experiment = small(
        "sender.kind=husendz:dgsend", "receiver.kind=hier:gru", f"task.kind={task}",
        "training.num_epochs=1",
    )  # fmt: skip
    result = run(experiment, tmp_path / "run")
    assert result.stopped == "epochs"
    again = run(experiment, tmp_path / "run", resume=True)
    assert again.step == result.step and again.measures == result.measures


def test_a_name_that_is_not_known_stops_before_anything_is_made(small):
    with pytest.raises(
        ConfigError, match=r"unknown receiver with a cell 'heir'; did you mean 'hier'\? choices: hier"
    ):
        small("receiver.kind=heir:gru")
