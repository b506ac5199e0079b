"""Torch's layers and cells with the weights of ours, and messages that end with their last symbol."""

import pytest
import torch
from torch import nn

from ecsuite.agents.message import Message

LAYERS = {"rnn": nn.RNN, "gru": nn.GRU, "lstm": nn.LSTM}
CELLS = {"rnn": nn.RNNCell, "gru": nn.GRUCell, "lstm": nn.LSTMCell}


def copy_weights(theirs, ours, suffix):
    with torch.no_grad():
        for name, layer in (("ih", ours.input_map), ("hh", ours.hidden_map)):
            getattr(theirs, f"weight_{name}{suffix}").copy_(layer.weight)
            getattr(theirs, f"bias_{name}{suffix}").copy_(layer.bias)


@pytest.fixture(scope="session")
def torch_cell():
    """Torch's cell with the weights of ours."""

    def torch_cell(name, ours):
        theirs = CELLS[name](ours.input_map.in_features, ours.hidden_size)
        copy_weights(theirs, ours, "")
        return theirs

    return torch_cell


@pytest.fixture(scope="session")
def torch_layers():
    """Torch's recurrent layers with the weights of our cells."""

    def torch_layers(name, cells):
        layers = LAYERS[name](cells[0].input_map.in_features, cells[0].hidden_size, len(cells))
        for index, ours in enumerate(cells):
            copy_weights(layers, ours, f"_l{index}")
        return layers

    return torch_layers


@pytest.fixture(scope="session")
def discrete_message():
    """A message of ids (length, batch), all of which are symbols unless lengths (batch,) are given."""

    def discrete_message(ids, length=None):
        length = torch.full((ids.shape[1],), float(len(ids))) if length is None else length
        return Message(symbols=ids, ends=None, length=length)

    return discrete_message
