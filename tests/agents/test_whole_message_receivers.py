"""Receivers that attend to a whole message: the state at an end is that of a message that ends there."""

import pytest
import torch

from ecsuite.agents.autocast import call_receiver
from ecsuite.agents.message import PAD, Message
from ecsuite.agents.receivers import BidirectionalReceiver
from ecsuite.agents.transformer import TransformerReceiver
from ecsuite.runtime.errors import ConfigError

MAKE = {
    "transformer": lambda: TransformerReceiver(
        TransformerReceiver.Options(hidden_size=8, num_heads=2, num_layers=2), vocab_size=4, max_len=3
    ),
    "bidirectional": lambda: BidirectionalReceiver(
        BidirectionalReceiver.Options(hidden_size=4, embedding_size=3, num_layers=2), vocab_size=4, max_len=3
    ),
}


@pytest.fixture(params=MAKE)
def receiver(request):
    torch.manual_seed(0)
    return MAKE[request.param]()


def of_ids(ids):
    symbols = torch.tensor(ids).t()
    return Message(symbols=symbols, ends=None, length=(symbols != PAD).sum(0).float())


def test_what_stands_after_the_end_changes_nothing(receiver):
    short, _ = receiver(of_ids([[2, 0]]))
    padded, _ = receiver(of_ids([[2, 0, PAD, PAD], [1, 2, 3, 0]]))
    assert torch.allclose(short[0, 0], padded[0, 0], atol=1e-6)


def test_each_end_of_a_relaxed_message_has_the_state_of_the_message_that_ends_there(receiver):
    ids = torch.tensor([[1, 3, 2, 0], [4, 4, 1, 0]]).t()  # (4, 2)
    weights = torch.nn.functional.one_hot(ids, 5).float()
    ends = torch.full((4, 2), 0.25)
    relaxed = Message(symbols=weights, ends=ends, length=torch.full((2,), 2.5))
    states, found = receiver(relaxed)
    assert states.shape == (4, 2, receiver.state_size) and torch.equal(found, ends)
    for end in range(4):
        alone, _ = receiver(
            Message(symbols=weights[: end + 1], ends=None, length=torch.full((2,), end + 1.0))
        )
        assert torch.allclose(states[end], alone[0], atol=1e-6)


def test_the_order_of_symbols_matters(receiver):
    first, second = receiver(of_ids([[1, 2, 0], [2, 1, 0]]))[0][0]
    assert not torch.allclose(first, second, atol=1e-3)


def test_bf16_is_close_to_fp32(receiver):
    message = of_ids([[1, 2, 0], [2, 1, 0]])
    exact, _ = call_receiver(receiver, message, torch.float32)
    rounded, _ = call_receiver(receiver, message, torch.bfloat16)
    assert rounded.dtype == torch.bfloat16 and torch.allclose(exact, rounded.float(), atol=0.05)


def test_heads_divide_the_width():
    with pytest.raises(ConfigError, match=r"^num_heads: expected a divisor of hidden_size, 6, got 4$"):
        TransformerReceiver.Options(hidden_size=6)
