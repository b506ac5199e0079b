"""Agents without recurrence against their formulas, and their treatment of messages that end early."""

import pytest
import torch
from torch import nn
from torch.nn.functional import one_hot

from ecsuite.agents.factory import make_receiver, make_sender
from ecsuite.agents.message import Message
from ecsuite.runtime.errors import ConfigError

NAMES = ["cnn", "cnn,blocks=1", "fc1l", "fc2l", "fc2l,form=sum", "fc3l", "mean_embeddings"]
SIZES = {"vocab_size": 4, "max_len": 6, "hidden_size": 8}


def make(name, style="egg"):
    torch.manual_seed(0)
    return make_receiver(name, **SIZES, style=style)


def test_senders_are_one_and_two_linear_layers(soft_message_builder):
    torch.manual_seed(0)
    meanings = torch.randn(3, 7)
    sender = make_sender("fc1l", num_features=7, **SIZES)
    expected = nn.functional.linear(meanings, sender.scores.weight, sender.scores.bias).view(3, 6, 5)
    torch.testing.assert_close(sender(meanings, soft_message_builder(6)), expected.transpose(0, 1))
    torch.testing.assert_close(sender(meanings, soft_message_builder(2)), expected.transpose(0, 1)[:2])
    sender = make_sender("fc2l", num_features=7, **SIZES)
    expected = sender.scores(sender.perceive(meanings).tanh()).view(3, 6, 5)
    torch.testing.assert_close(sender(meanings, soft_message_builder(6)), expected.transpose(0, 1))


def test_fc2l_is_flat_as_in_the_paper_or_a_sum_as_in_the_program(discrete_message):
    ids = torch.randint(1, 5, (6, 5))
    flat, total = make("fc2l", "icy"), make("fc2l,form=sum", "icy")
    expected = flat.embed(ids).tanh().transpose(0, 1).flatten(1)
    torch.testing.assert_close(flat(discrete_message(ids), torch.float32)[0][0], expected)
    tables = total.embed.weight.t().view(6, 5, 8)
    expected = sum(tables[position, ids[position]] for position in range(6)).tanh()
    torch.testing.assert_close(total(discrete_message(ids), torch.float32)[0][0], expected)


def test_fc3l_and_mean_embeddings_are_their_formulas(discrete_message):
    ids = torch.randint(1, 5, (6, 5))
    deep, mean = make("fc3l"), make("mean_embeddings", "icy")
    embedded = deep.embed(ids).tanh().transpose(0, 1).flatten(1)
    expected = nn.functional.linear(embedded, deep.combine.weight, deep.combine.bias).tanh()
    torch.testing.assert_close(deep(discrete_message(ids), torch.float32)[0][0], expected)
    expected = mean.embed(ids).mean(0).tanh()
    state = mean(discrete_message(ids), torch.float32)[0][0]
    torch.testing.assert_close(state, expected)
    shuffled = mean(discrete_message(ids[[3, 0, 5, 1, 4, 2]]), torch.float32)[0][0]
    torch.testing.assert_close(shuffled, state)
    short = discrete_message(ids[:3], torch.full((5,), 2.0))
    torch.testing.assert_close(mean(short, torch.float32)[0][0], mean.embed(ids[:2]).mean(0).tanh())


def test_cnn_is_torchs_convolution_pooling_and_relu(discrete_message):
    receiver = make("cnn,blocks=2")
    blocks = [nn.Sequential(layer, nn.MaxPool1d(2), nn.ReLU()) for layer in receiver.convolutions]
    ids = torch.randint(1, 5, (6, 5))
    expected = nn.Sequential(*blocks, nn.Flatten())(receiver.embed(ids).permute(1, 2, 0))
    assert expected.shape == (5, 8)
    torch.testing.assert_close(receiver(discrete_message(ids), torch.float32)[0][0], expected)


def test_cnn_has_the_papers_four_blocks_for_twenty_symbols():
    sizes = {"vocab_size": 4, "max_len": 20, "hidden_size": 8}
    receiver = make_receiver("cnn", **sizes)
    assert (len(receiver.convolutions), receiver.state_size) == (4, 8)
    receiver = make_receiver("cnn,blocks=3", **sizes)
    assert (len(receiver.convolutions), receiver.state_size) == (3, 16)
    single = make_receiver("cnn", vocab_size=4, max_len=1, hidden_size=8, embedding_size=3)
    assert (len(single.convolutions), single.state_size) == (0, 3)
    with pytest.raises(ConfigError, match="cnn: expected at most blocks=4 for 20 symbols, got blocks=5"):
        make_receiver("cnn,blocks=5", **sizes)


@pytest.mark.parametrize("name", NAMES)
def test_state_at_each_end_is_that_of_the_prefix(name):
    receiver = make(name)
    weights = torch.rand(7, 5, 5).softmax(-1)
    ends = torch.rand(7, 5).softmax(0)
    message = Message(symbols=weights, ends=ends, length=torch.ones(5))
    states, probabilities = receiver(message, torch.float32)
    assert states.shape == (7, 5, receiver.state_size) and probabilities is ends
    for end in range(6):
        prefix = Message(symbols=weights[: end + 1], ends=None, length=torch.full((5,), end + 1.0))
        torch.testing.assert_close(receiver(prefix, torch.float32)[0][0], states[end])
    torch.testing.assert_close(states[6], states[5])  # the appended EOS is left out


@pytest.mark.parametrize("name", NAMES)
def test_ids_and_weights_give_equal_states_and_symbols_after_the_end_are_ignored(discrete_message, name):
    receiver = make(name)
    ids = torch.tensor([[2, 3, 1], [0, 1, 4], [-1, 0, 2], [-1, -1, 0]])
    length = torch.tensor([2.0, 3.0, 4.0])
    states, _ = receiver(discrete_message(ids, length), torch.float32)
    changed_after_end = ids.clone()
    changed_after_end[2:, 0], changed_after_end[3, 1] = torch.tensor([4, 3]), 1
    torch.testing.assert_close(
        receiver(discrete_message(changed_after_end, length), torch.float32)[0], states
    )
    weights = one_hot(ids.clamp(min=0), 5).float()
    ends = torch.zeros(4, 3).scatter_(0, length.long()[None] - 1, 1.0)
    relaxed, probabilities = receiver(Message(symbols=weights, ends=ends, length=length), torch.float32)
    torch.testing.assert_close((relaxed * probabilities[..., None]).sum(0), states[0])
