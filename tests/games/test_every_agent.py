"""Every sender and every receiver plays: a training step over each kind of channel, and then it speaks and reads."""

import itertools

import numpy as np
import pytest
import torch

from ecsuite.agents import RECEIVERS, SENDERS
from ecsuite.agents.cells import CELLS
from ecsuite.config import ConfigError
from ecsuite.games.corpus_generation import record_corpus
from ecsuite.games.factory import make_world
from ecsuite.games.game import Game


def names(registry, *more):
    """Each name of a registry, with every cell where it stands for all."""
    return [
        name.replace("CELL", cell) for name in registry for cell in (CELLS if "CELL" in name else [""])
    ] + [*more]


CHANNELS = [
    *itertools.product(["gumbel", "reinforce"], ["fixed", "variable"]),
    ("quantized", "fixed"),
    ("continuous", "fixed"),
]
ALL_SENDERS = names(SENDERS, "gru-2l", "lstm-z", "sru-2l-z", "transformer-2l,init=copied", "lstm,hidden=20")
ALL_RECEIVERS = names(RECEIVERS, "sru-2l", "hier:gru,stop=first,reset=on", "cnn,blocks=1", "fc2l,form=sum")

INERT = ("sender.upper.input_map.weight", "sender.lower.input_map.weight", "sender.cells.0.input_map.weight")
"""What meets only zeros does not learn: inputs of an upper cell, and all inputs of senders that do not hear."""


def play(small, sender, receiver, kind, length):
    """One training step; the game, with which parameters moved, and what it is like afterwards."""
    experiment = small(
        f"sender.architecture='{sender}'", f"receiver.architecture='{receiver}'", f"channel.kind={kind}",
        f"channel.length={length}",
    )  # fmt: skip
    torch.manual_seed(0)
    game, world = Game(experiment), make_world(experiment)
    before = {name: parameter.detach().clone() for name, parameter in game.named_parameters()}
    optimizer = torch.optim.Adam(game.parameters(), lr=0.01)
    examples = world.examples("train", np.arange(16))
    game.play(examples, "train", torch.Generator().manual_seed(1)).objective.backward()
    optimizer.step()
    still = {name for name, parameter in game.named_parameters() if torch.equal(parameter, before[name])}
    for mode in ("greedy", "sample"):
        played = game.play(examples, mode, torch.Generator().manual_seed(2))
        assert played.objective.isfinite()
        assert played.message.length.max() <= experiment.channel.max_len + (length == "variable")
    corpus = record_corpus(game, world, experiment)
    assert len(corpus.messages) == 16 and min(corpus.messages[0]) >= 0
    assert (corpus.eos is None) == (length == "fixed")
    return still


@pytest.mark.parametrize("sender", ALL_SENDERS)
@pytest.mark.parametrize(("kind", "length"), CHANNELS)
def test_every_sender_plays(small, sender, kind, length):
    still = play(small, sender, "gru", kind, length)
    hears = not (sender.endswith("-z") or sender.startswith("husendz"))
    assert still <= set(INERT if not hears else INERT[:1] if sender.startswith("husenda") else ())


@pytest.mark.parametrize("receiver", ALL_RECEIVERS)
@pytest.mark.parametrize(("kind", "length"), CHANNELS)
def test_every_receiver_plays(small, receiver, kind, length):
    assert not play(small, "gru", receiver, kind, length)


@pytest.mark.parametrize("task", ["discrimination", "reconstruction"])
def test_a_new_pair_trains_from_beginning_to_end(tmp_path, small, run, task):
    experiment = small(
        "sender.architecture=husendz:dgsend", "receiver.architecture=hier:gru", f"game.task={task}",
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
        Game(small("receiver.architecture=heir:gru"))
