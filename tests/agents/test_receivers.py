"""Recurrent receivers against torch's layers."""

import pytest
import torch
from torch import nn

from ecsuite.agents import make_receiver
from ecsuite.agents.message import Message
from ecsuite.agents.receivers import RecurrentReceiver

LAYERS = {"rnn": nn.RNN, "gru": nn.GRU, "lstm": nn.LSTM}


def discrete_message(ids):
    return Message(symbols=ids, ends=None, length=torch.full((ids.shape[1],), float(len(ids))))


@pytest.mark.parametrize("cell", LAYERS)
@pytest.mark.parametrize("num_layers", [1, 2, 3])
def test_layers_equal_torch(cell, num_layers):
    torch.manual_seed(0)
    receiver = RecurrentReceiver(
        RecurrentReceiver.Options(hidden_size=6, embedding_size=5, cell=cell, num_layers=num_layers),
        vocab_size=4,
    )
    layers = LAYERS[cell](5, 6, num_layers)
    with torch.no_grad():
        for index, ours in enumerate(receiver.cells):
            getattr(layers, f"weight_ih_l{index}").copy_(ours.input_map.weight)
            getattr(layers, f"weight_hh_l{index}").copy_(ours.hidden_map.weight)
            getattr(layers, f"bias_ih_l{index}").copy_(ours.input_map.bias)
            getattr(layers, f"bias_hh_l{index}").copy_(ours.hidden_map.bias)
    ids = torch.randint(0, 5, (7, 3))
    outputs, _ = layers(receiver.embed(ids))
    states, _ = receiver(discrete_message(ids), torch.float32)
    torch.testing.assert_close(states, outputs[-1:])


def test_state_of_sru_is_its_memory():
    """SRU's output is mostly the last symbol, and would not distinguish messages with the same last symbol."""
    torch.manual_seed(0)
    receiver = make_receiver("sru", vocab_size=4, max_len=3, hidden_size=6, embedding_size=2)
    assert (
        receiver.embed.out_features == 6
    )  # SRU's input has the width of its state; the embedding size is not used
    step, state = receiver.cells[0].unroll(torch.float32), None
    ids = torch.tensor([[1], [2], [3]])
    for symbols in ids:
        state = step(receiver.embed(symbols), state)
    states, _ = receiver(discrete_message(ids), torch.float32)
    torch.testing.assert_close(states[0], state[1])


def test_style_icy_embeds_without_a_bias_from_the_standard_normal():
    torch.manual_seed(0)
    receiver = make_receiver("gru", vocab_size=49, max_len=3, hidden_size=128, style="icy")
    assert receiver.embed.bias is None
    assert receiver.embed.weight.std().item() == pytest.approx(1, abs=0.05)
    ids = torch.randint(0, 50, (3, 2))
    torch.testing.assert_close(receiver.embed(ids), receiver.embed.weight.t()[ids])
