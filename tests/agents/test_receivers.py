"""Recurrent receivers against torch's layers."""

import pytest
import torch

from ecsuite.agents.factory import make_receiver
from ecsuite.agents.receivers import RecurrentReceiver


@pytest.mark.parametrize("cell", ["rnn", "gru", "lstm"])
@pytest.mark.parametrize("num_layers", [1, 2, 3])
def test_layers_equal_torch(torch_layers, discrete_message, cell, num_layers):
    torch.manual_seed(0)
    receiver = RecurrentReceiver(
        RecurrentReceiver.Options(hidden_size=6, embedding_size=5, cell=cell, num_layers=num_layers),
        vocab_size=4,
    )
    ids = torch.randint(0, 5, (7, 3))
    outputs, _ = torch_layers(cell, receiver.cells)(receiver.embed(ids))
    states, _ = receiver(discrete_message(ids), torch.float32)
    torch.testing.assert_close(states, outputs[-1:])


def test_state_of_sru_is_its_memory(discrete_message):
    """SRU's output is mostly the last symbol, and would not distinguish messages with the same last symbol."""
    torch.manual_seed(0)
    receiver = make_receiver("sru", vocab_size=4, max_len=3, hidden_size=6, embedding_size=2)
    assert receiver.embed.out_features == 6, "SRU's input has the width of its state"
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
