"""States that rows share are those of rows that are computed one by one, and there are no more than different ones."""

import pytest
import torch
from torch import nn

from ecsuite.agents import shared_states
from ecsuite.agents.autocast import call_receiver, call_sender
from ecsuite.agents.factory import make_receiver, make_sender
from ecsuite.agents.message import EOS, PAD, Message
from ecsuite.agents.recurrence import GRUGates
from ecsuite.agents.shared_states import beginnings, distinct_rows
from ecsuite.agents.spec import parse_agent
from ecsuite.agents.transformer import TransformerReceiver
from ecsuite.games.channels.channels import ReinforceChannel
from ecsuite.games.players.learning import GivenMessages

VOCAB_SIZE, MAX_LEN, WIDTH = 3, 4, 8
RECEIVERS = [
    "gru", "lstm-2l", "sru", "hier:gru,reset=on", "hier:gru,stop=first", "transformer", "bidirectional", "cnn",
]  # fmt: skip
SENDERS = ["gru", "lstm-2l", "sru-z", "husenda:dgsend", "husendz:gru", "transformer", "fc2l"]
MESSAGES = {
    "of all lengths": ["1 2", "", "1 2 3 1", "1 2", "2", "1 3", "3 3 3 3", "1"],
    "ended at once": ["", "", ""], "all the same": ["1 2", "1 2", "1 2", "1 2"],
    "at full length": ["1 1 1 1", "2 1 1 1", "3 1 2 1"], "one": ["2 3"],
}  # fmt: skip


@pytest.fixture
def counted(monkeypatch):
    """The number of rows of each step of a GRU from now on."""
    numbers, forward = [], GRUGates.forward

    def counting(gates, inputs, *rest):
        numbers.append(len(inputs))
        return forward(gates, inputs, *rest)

    monkeypatch.setattr(GRUGates, "forward", counting)
    return numbers


@pytest.fixture
def share(monkeypatch):
    """Says whether rows share states, in however small a batch."""
    return lambda is_on: monkeypatch.setattr(shared_states, "FEWEST_VALUES", 0 if is_on else 2**62)


def of_texts(texts):
    ids = torch.full((MAX_LEN + 1, len(texts)), PAD)
    for row, text in enumerate(texts):
        said = [int(symbol) for symbol in text.split()] + [EOS]
        ids[: len(said), row] = torch.tensor(said)
    return Message(symbols=ids, ends=None, length=(ids != PAD).sum(0).float())


def agent(make, role, text):
    torch.manual_seed(0)
    sizes = {"vocab_size": VOCAB_SIZE, "max_len": MAX_LEN, "hidden_size": WIDTH, "style": "egg"}
    return make(parse_agent(role, text), **sizes | ({"num_features": 5} if role == "sender" else {}))


def gradients(module, objective):
    module.zero_grad()
    objective.backward()
    return [parameter.grad for parameter in module.parameters()]


def test_each_beginning_is_there_once(share):
    share(True)
    found = beginnings(of_texts(["1 2", "", "1 2", "1 3", "2"]), width=1)
    # EOS, 1, 2; 1 2, 1 3, 2 EOS; 1 2 EOS, 1 3 EOS
    assert (found.sizes, found.symbols.tolist()) == ([3, 3, 2], [0, 1, 2, 2, 3, 0, 0, 0])
    followed = [None if places is None else places.tolist() for places in found.followed]
    assert followed == [None, [1, 1, 2], [0, 1]]
    assert found.ends is not None and found.ends.tolist() == [[6, 0, 6, 7, 5]]
    # Asking for a value on the meta device, which has none, is an error.
    share(True)
    symbols = torch.zeros(3, 2, dtype=torch.long, device="meta")
    message = Message(symbols=symbols, ends=None, length=torch.ones(2, device="meta"))
    assert beginnings(message, width=WIDTH).sizes is None
    one = torch.ones(3, 2)
    one[1, 1] = one[1, 1].nextafter(torch.tensor(2.0))
    firsts, places = distinct_rows(one)
    assert (firsts.tolist(), places.tolist()) == ([0, 1], [0, 1, 0])


@pytest.mark.sample(30)
@pytest.mark.parametrize("texts", MESSAGES.values(), ids=MESSAGES)
@pytest.mark.parametrize("name", RECEIVERS)
@pytest.mark.parametrize("asks_all", [False, True])
def test_receivers(share, name, texts, asks_all):
    """Also where a state after each symbol is asked for, of which those after the end count for nothing."""
    receiver, message = agent(make_receiver, "receiver", name), of_texts(texts)
    message = message.with_all_ends() if asks_all else message
    results = []
    for is_on in (False, True):
        share(is_on)
        states, ends = call_receiver(receiver, message, torch.float32)
        states = states * (ends.cumsum(0) - ends < 1)[..., None]
        weight = torch.linspace(-1, 1, states.numel()).view_as(states)
        results.append([states.detach(), ends, *gradients(receiver, (states * weight).sum())])
    for alone, shared in zip(*results, strict=True):
        torch.testing.assert_close(shared, alone)


@pytest.mark.parametrize("mode", ["train", "greedy"])
@pytest.mark.parametrize("name", SENDERS)
def test_senders(share, name, mode):
    """The same messages from the same noise, with the same probabilities, entropies and gradients."""
    sender = agent(make_sender, "sender", name)
    meanings = torch.randn(6, 5, generator=torch.Generator().manual_seed(1))[[0, 1, 0, 2, 0, 3, 4, 1, 5]]
    channel = ReinforceChannel(ReinforceChannel.Options(vocab_size=VOCAB_SIZE, max_len=MAX_LEN))
    results = []
    for is_on in (False, True):
        share(is_on)
        noise = torch.Generator().manual_seed(2)
        message = call_sender(sender, meanings, channel.start_message(mode, meanings, noise))
        results.append([message.symbols, message.length])
        if mode == "train":
            weight = torch.linspace(-1, 1, len(meanings))
            objective = (message.log_probability + message.entropy) @ weight
            results[-1] += [message.log_probability.detach(), message.entropy.detach()]
            results[-1] += gradients(sender, objective)
    for alone, shared in zip(*results, strict=True):
        torch.testing.assert_close(shared, alone)


@pytest.mark.parametrize(("has_gradient", "num_rows"), [(False, [2, 1, 1]), (True, [4, 2, 2])])
def test_equal_meanings_are_said_once_unless_they_learn_to_differ(share, counted, has_gradient, num_rows):
    share(True)
    sender = agent(make_sender, "sender", "gru")
    meanings = torch.tensor([[0.0] * 5, [1.0] * 5, [0.0] * 5, [1.0] * 5], requires_grad=has_gradient)
    told = torch.tensor([[1, 0, 1, 0], [2, PAD, 2, PAD], [3, PAD, 3, PAD], [0, PAD, 0, PAD]])
    builder = GivenMessages(ReinforceChannel.Options(vocab_size=VOCAB_SIZE, max_len=3), told)
    assert torch.equal(call_sender(sender, meanings, builder).symbols[:4], told) and counted == num_rows


def test_no_row_is_computed_after_its_end_or_again(share, counted):
    """Of messages that all differ, a receiver computes as many states as there are symbols."""
    share(True)
    receiver = agent(make_receiver, "receiver", "gru")
    for texts, number in (("of all lengths", [4, 5, 4, 2, 2]), ("at full length", [3, 3, 3, 3, 3])):
        counted.clear()
        call_receiver(receiver, of_texts(MESSAGES[texts]), torch.float32)
        assert counted == number


class Normalised(TransformerReceiver):
    """A receiver of user code, whose states depend on all messages of a batch."""

    def __init__(self, options, **sizes):
        super().__init__(options, **sizes)
        self.norm = nn.BatchNorm1d(self.state_size)

    def forward(self, message):
        states, ends = super().forward(message)
        return self.norm(states.flatten(0, 1)).view_as(states), ends


def test_a_receiver_with_further_layers_reads_every_message(share):
    options = Normalised.Options(hidden_size=WIDTH, num_heads=2)
    receiver = Normalised(options, vocab_size=VOCAB_SIZE, max_len=MAX_LEN)
    found = []
    for is_on in (False, True):
        share(is_on)
        states, _ = call_receiver(receiver, of_texts(["1 2", "1 2", "1 2", "3"]), torch.float32)
        found.append(states)
    assert torch.equal(*found)
