"""Recurrent senders against torch's layers, and style icy."""

import pytest
import torch
from torch.nn.functional import one_hot

from ecsuite.agents.factory import make_sender
from ecsuite.agents.message import EOS
from ecsuite.agents.senders import RecurrentSender

CELLS = ["rnn", "gru", "lstm"]


def make_recurrent_sender(**options):
    options = RecurrentSender.Options(hidden_size=6, embedding_size=5, **options)
    return RecurrentSender(options, num_features=7, vocab_size=4)


def first_states(sender, cell, meanings):
    """Initial states: the meaning in the first layer, zeros in those above and in all memories of LSTM."""
    hidden = torch.zeros(len(sender.cells), len(meanings), 6)
    hidden[0] = sender.perceive(meanings)
    return (hidden, torch.zeros_like(hidden)) if cell == "lstm" else hidden


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("num_layers", [1, 2, 3])
def test_zero_input_equals_torch_layers_over_zeros(soft_message_builder, torch_layers, cell, num_layers):
    torch.manual_seed(0)
    sender = make_recurrent_sender(cell=cell, num_layers=num_layers, zero_input=True)
    assert sender.embed is None and sender.start is None
    meanings = torch.randn(3, 7)
    outputs, _ = torch_layers(cell, sender.cells)(torch.zeros(4, 3, 5), first_states(sender, cell, meanings))
    torch.testing.assert_close(sender(meanings, soft_message_builder(4)), sender.scores(outputs))


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("style", ["egg", "icy"])
def test_the_previous_symbol_is_the_input_of_the_first_layer(soft_message_builder, torch_layers, cell, style):
    torch.manual_seed(0)
    sender = make_recurrent_sender(cell=cell, num_layers=2, style=style)
    meanings = torch.randn(3, 7)
    layers, states = torch_layers(cell, sender.cells), first_states(sender, cell, meanings)
    inputs = sender.start.expand(3, -1) if style == "egg" else sender.embed(torch.full((3,), EOS))
    expected = []
    for _ in range(4):
        outputs, states = layers(inputs[None], states)
        expected.append(sender.scores(outputs[0]))
        inputs = sender.embed(expected[-1].softmax(-1))
    torch.testing.assert_close(sender(meanings, soft_message_builder(4)), torch.stack(expected))


def test_style_icy_is_a_sum_of_embeddings_drawn_from_the_standard_normal():
    torch.manual_seed(0)
    sender = make_sender("gru", num_features=50, vocab_size=4, max_len=5, hidden_size=128, style="icy")
    assert sender.perceive.bias is None and sender.start is None
    assert sender.perceive.weight.mean().item() == pytest.approx(0, abs=0.05)
    assert sender.perceive.weight.std().item() == pytest.approx(1, abs=0.05)
    values = torch.tensor([[3, 10, 24, 31, 49]])
    meaning = one_hot(values, 50).sum(1).float()
    torch.testing.assert_close(sender.perceive(meaning), sender.perceive.weight[:, values[0]].sum(1)[None])
    assert sender.embed.in_features == 5 and sender.embed.out_features == 128
