"""Pairs that play at one step get the rounds that each would get alone."""

import pytest
import torch

from ecsuite.games.experiment import load_experiment
from ecsuite.games.players.players import make_players, of_each
from ecsuite.games.world_making import make_world


@pytest.mark.parametrize(
    "changes",
    [
        ["task.sender_input=targets_and_distractors"],
        ["world.held_out=0.25"],
        ["training.batch_size=100"],  # the last batch of an epoch is smaller
        ["task.kind=in_batch"],
    ],
)
def test_rounds_that_are_drawn_at_once_are_those_of_each_pair(changes):
    experiment = load_experiment("disc_tiny", ["society.senders=3", "society.receivers=3", *changes])
    players = make_players(experiment, make_world(experiment))
    pairs = [players.pair(number, number) for number in range(3)]
    for number in (0, 63, 81):
        drawn = of_each(players._rounds(pairs, number), pairs)
        for place, (pair, rounds) in enumerate(zip(pairs, drawn, strict=True)):
            alone = pair.rounds(players.batch(number, place))
            assert rounds.form == alone.form
            assert all(map(torch.equal, rounds.tensors().values(), alone.tensors().values()))
