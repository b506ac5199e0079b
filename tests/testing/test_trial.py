import pytest
import torch

from ecsuite.agents.message import Message
from ecsuite.games.plays.checks import fault_of_ids


@pytest.mark.parametrize(
    ("rows", "lengths", "problem"),
    [
        ([[1, 0, -1], [1, 2, 0]], [2, 3], None),
        ([[1, 0, 2]], [3], "a message has symbols after the first EOS"),
        ([[1, -1, 0]], [2], "a message has PAD before its end"),
        ([[1, 0, -1]], [3], "the length of a message is not its number of symbols, including EOS"),
    ],
)
def test_ill_formed_messages(rows, lengths, problem):
    message = Message(symbols=torch.tensor(rows).t(), ends=None, length=torch.tensor(lengths).float())
    assert fault_of_ids(message) == problem
