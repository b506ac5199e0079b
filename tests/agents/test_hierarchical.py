"""HU-RNN against the paper's equations, written out with torch's cells."""

import pytest
import torch

from ecsuite.agents.hierarchical import HierarchicalReceiver, HUSendA, HUSendZ
from ecsuite.agents.message import EOS

CELLS = ["rnn", "gru", "lstm"]
SIZES = {"hidden_size": 6, "embedding_size": 5}


def make_sender(zero_input, **options):
    kind = HUSendZ if zero_input else HUSendA
    return kind(kind.Options(**SIZES, **options), num_features=7, vocab_size=3)


def make_receiver(**options):
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
    sender = enlarge_weights(make_sender(zero_input, cell=cell, style=style))
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
    torch.testing.assert_close(
        sender(meanings, soft_message_builder(5)), torch.stack(expected), rtol=1e-4, atol=1e-5
    )


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("stop", ["each", "first"])
@pytest.mark.parametrize("reset", [False, True])
def test_the_receiver_follows_appendix_c_5(torch_cell, discrete_message, cell, stop, reset):
    torch.manual_seed(0)
    receiver = enlarge_weights(make_receiver(cell=cell, stop=stop, reset=reset, style="icy"))
    ids = torch.randint(1, 4, (6, 3))
    upper_step, lower_step = (
        stepper(torch_cell(cell, ours), cell) for ours in (receiver.upper, receiver.lower)
    )
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
