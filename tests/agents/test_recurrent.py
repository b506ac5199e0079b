"""Recurrent and hierarchical agents against torch's layers, their papers' equations, and style icy."""

import pytest
import torch
from torch.nn.functional import one_hot

from ecsuite.agents.factory import make_receiver, make_sender
from ecsuite.agents.hierarchical import HierarchicalReceiver, HUSendA, HUSendZ
from ecsuite.agents.message import EOS
from ecsuite.agents.receivers import RecurrentReceiver
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


def test_style_icy_embeds_without_a_bias_from_the_standard_normal():
    torch.manual_seed(0)
    sender = make_sender("gru", num_features=50, vocab_size=4, max_len=5, hidden_size=128, style="icy")
    assert sender.perceive.bias is None and sender.start is None
    assert sender.perceive.weight.mean().item() == pytest.approx(0, abs=0.05)
    assert sender.perceive.weight.std().item() == pytest.approx(1, abs=0.05)
    values = torch.tensor([[3, 10, 24, 31, 49]])
    meaning = one_hot(values, 50).sum(1).float()
    torch.testing.assert_close(sender.perceive(meaning), sender.perceive.weight[:, values[0]].sum(1)[None])
    assert sender.embed.in_features == 5 and sender.embed.out_features == 128
    torch.manual_seed(0)
    receiver = make_receiver("gru", vocab_size=49, max_len=3, hidden_size=128, style="icy")
    assert receiver.embed.bias is None and receiver.embed.weight.std().item() == pytest.approx(1, abs=0.05)
    ids = torch.randint(0, 50, (3, 2))
    torch.testing.assert_close(receiver.embed(ids), receiver.embed.weight.t()[ids])


@pytest.mark.parametrize("cell", ["rnn", "gru", "lstm"])
@pytest.mark.parametrize("num_layers", [1, 2, 3])
def test_layers_equal_torch(torch_layers, discrete_message, cell, num_layers):
    torch.manual_seed(0)
    receiver = RecurrentReceiver(
        RecurrentReceiver.Options(hidden_size=6, embedding_size=5, cell=cell, num_layers=num_layers), vocab_size=4
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


SIZES = {"hidden_size": 6, "embedding_size": 5}


def make_hierarchical_sender(zero_input, **options):
    kind = HUSendZ if zero_input else HUSendA
    return kind(kind.Options(**SIZES, **options), num_features=7, vocab_size=3)


def make_hierarchical_receiver(**options):
    return HierarchicalReceiver(HierarchicalReceiver.Options(**SIZES, **options), vocab_size=3)


def stepper(theirs, cell):
    """A function from input and state to state, all states as stacked tensors, so that LSTM is not a special case."""

    def step(inputs, state):
        return torch.stack(theirs(inputs, tuple(state))) if cell == "lstm" else theirs(inputs, state[0])[None]

    return step


def zeros(cell, batch):
    return torch.zeros(2 if cell == "lstm" else 1, batch, 6)


def enlarge_weights(agent):
    """Enlarge weights, so that stopness takes all values between 0 and 1."""
    with torch.no_grad():
        for parameter in agent.parameters():
            parameter.mul_(3)
    return agent


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("zero_input", [True, False])
@pytest.mark.parametrize("style", ["egg", "icy"])
def test_the_sender_follows_section_3_3_2(soft_message_builder, torch_cell, cell, zero_input, style):
    torch.manual_seed(0)
    sender = enlarge_weights(make_hierarchical_sender(zero_input, cell=cell, style=style))
    meanings = torch.randn(3, 7)
    upper_step, lower_step = (stepper(torch_cell(cell, ours), cell) for ours in (sender.upper, sender.lower))
    upper, lower, stopness = zeros(cell, 3), zeros(cell, 3), torch.ones(3, 1)
    upper[0] = sender.perceive(meanings)
    symbols, expected = None, []
    for _ in range(5):
        if zero_input:
            inputs = torch.zeros(3, 1)
        elif symbols is not None:
            inputs = sender.embed(symbols)
        else:
            inputs = sender.start.expand(3, -1) if style == "egg" else sender.embed(torch.full((3,), EOS))
        upper = stopness * upper_step(torch.zeros(3, 1), upper) + (1 - stopness) * upper
        lower = lower_step(inputs, stopness * upper + (1 - stopness) * lower)
        stopness = sender.stop(lower[0]).sigmoid()
        expected.append(sender.scores(lower[0]))
        symbols = expected[-1].softmax(-1)
    said = sender(meanings, soft_message_builder(5))
    torch.testing.assert_close(said, torch.stack(expected), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("stop", ["each", "first"])
@pytest.mark.parametrize("reset", [False, True])
def test_the_receiver_follows_appendix_c_5(torch_cell, discrete_message, cell, stop, reset):
    torch.manual_seed(0)
    receiver = enlarge_weights(make_hierarchical_receiver(cell=cell, stop=stop, reset=reset, style="icy"))
    ids = torch.randint(1, 4, (6, 3))
    cells = (receiver.upper, receiver.lower)
    upper_step, lower_step = (stepper(torch_cell(cell, ours), cell) for ours in cells)
    upper, lower, stopness = zeros(cell, 3), zeros(cell, 3), torch.ones(3, 1)
    for symbols in ids:
        lower = lower_step(receiver.embed(symbols), lower * (1 - stopness) if reset else lower)
        stopness = receiver.stop(lower[0]).sigmoid()
        if stop == "first":
            stopness = stopness[:1].expand(3, 1)
        upper = stopness * upper_step(lower[0], upper) + (1 - stopness) * upper
    states, ends = receiver(discrete_message(ids), torch.float32)
    torch.testing.assert_close(states, upper[:1], rtol=1e-4, atol=1e-5)
    assert torch.equal(ends, torch.ones(1, 3))
