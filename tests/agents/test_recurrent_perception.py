"""The perception that reads piece by piece is torch's recurrent network on the pieces before the zeros."""

import pytest
import torch
from torch import nn

from ecsuite.agents.perception import RecurrentPerception

LAYERS = {"rnn": nn.RNN, "gru": nn.GRU, "lstm": nn.LSTM}


@pytest.mark.parametrize("cell", LAYERS)
def test_the_vector_is_the_last_state_of_the_pieces_that_are_read(cell):
    torch.manual_seed(0)
    perception = RecurrentPerception(
        RecurrentPerception.Options(cell=cell, size=5, width=3), object_shape=(12,)
    )
    theirs = LAYERS[cell](3, 5, batch_first=True)
    ours = perception.cell
    for name, layer in (("ih", ours.input_map), ("hh", ours.hidden_map)):
        theirs.load_state_dict(
            {**theirs.state_dict(), f"weight_{name}_l0": layer.weight, f"bias_{name}_l0": layer.bias}
        )
    objects = torch.randn(4, 4, 3)
    lengths = [4, 2, 1, 3]
    for row, length in enumerate(lengths):
        objects[row, length:] = 0
    expected = torch.stack(
        [theirs(objects[row : row + 1, :length])[0][0, -1] for row, length in enumerate(lengths)]
    )
    torch.testing.assert_close(perception(objects.flatten(1)), expected)
    assert perception.out_features == 5
