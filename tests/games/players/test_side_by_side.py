"""Pairs that play at one step get the rounds that each would get alone."""

import pytest
import torch

from ecsuite.games.experiment import load_experiment
from ecsuite.games.players.players import make_players, of_each
from ecsuite.games.world_making import make_world

OWN_WORLD = """
from ecsuite.games.worlds.attributes import AttributeWorld


class Own(AttributeWorld):
    def draw(self, split, number, size):
        return super().draw(split, number + 7, size)
"""


@pytest.mark.parametrize(
    "changes",
    [
        ["task.sender_input=targets_and_distractors"],
        ["world.held_out=0.25"],
        ["training.batch_size=100"],  # the last batch of an epoch is smaller
        ["task.kind=in_batch"],
        ["task.fewest_distractors=1"],
        ["world.shared_values=1"],
        ["world.kind=unequal_attributes", "world.num_values=[3, 2, 4]", "task.num_distractors=2"],
        ["world.kind=./own.py:Own"],
    ],
)
def test_rounds_that_are_drawn_at_once_are_those_of_each_pair(tmp_path, monkeypatch, changes):
    (tmp_path / "own.py").write_text(OWN_WORLD)
    monkeypatch.chdir(tmp_path)
    experiment = load_experiment("disc_tiny", ["society.senders=3", "society.receivers=3", *changes])
    players = make_players(experiment, make_world(experiment))
    pairs = [players.pair(number, number) for number in range(3)]
    for number in (0, 63, 81):
        drawn = of_each(players._rounds(pairs, number), pairs)
        for place, (pair, rounds) in enumerate(zip(pairs, drawn, strict=True)):
            alone = pair.rounds(players.batch(number, place))
            assert rounds.form == alone.form
            assert all(map(torch.equal, rounds.tensors().values(), alone.tensors().values()))
