"""What breaks the rules of a message of ids."""

import pytest
import torch

from ecsuite.agents.message import Message
from ecsuite.games.plays.checks import fault_of_ids
from ecsuite.testing.trial import same


@pytest.mark.parametrize(
    ("rows", "lengths", "problem"),
    [
        ([[1, 0, -1], [1, 2, 0]], [2, 3], None),
        ([[1, 0, 2]], [3], "there are symbols after the first EOS"),
        ([[1, -1, 0]], [2], "there is PAD before the message has ended"),
        ([[1, 0, -1]], [3], "the length is not the number of symbols with EOS"),
    ],
)
def test_ill_formed_messages(rows, lengths, problem):
    message = Message(symbols=torch.tensor(rows).t(), ends=None, length=torch.tensor(lengths).float())
    assert fault_of_ids(message) == problem


def test_equal_to_the_last_bit():
    one = torch.ones(2)
    assert same({"a": one}, {"a": one.clone()}) and not same({"a": one}, {"b": one})
    assert same(one.numpy(), one.clone().numpy()) and not same(one, one + 1) and same("a", "a")


def test_a_metric_of_runs_is_refused_in_one_line(ecsuite):
    code, out, err = ecsuite("check", "rsa", "--kind", "metric")
    assert code == 2 and out == "" and "asks the agents of a run" in err and err.count("\n") == 1
