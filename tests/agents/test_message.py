"""Conventions for symbols, for every channel, length and mode; agents without recurrence, at the ends of messages."""

import itertools

import pytest
import torch
from torch import nn
from torch.nn.functional import one_hot

from ecsuite.agents.autocast import call_receiver
from ecsuite.agents.factory import make_receiver, make_sender
from ecsuite.agents.message import EOS, PAD, Message
from ecsuite.agents.receivers import BidirectionalReceiver
from ecsuite.agents.transformer import TransformerReceiver
from ecsuite.games.channels.channels import SymbolChannel
from ecsuite.games.config.experiment import load_experiment
from ecsuite.games.config.registry import CHANNELS
from ecsuite.games.plays.evaluation import record_corpus
from ecsuite.games.plays.population import Population
from ecsuite.games.worlds.world import make_world
from ecsuite.runtime.errors import ConfigError

MODES = ("train", "sample", "greedy")
OF_SYMBOLS = [kind for kind in CHANNELS.parts if issubclass(CHANNELS.load(kind), SymbolChannel)]
WORDS_OF_VALUES = [kind for kind in CHANNELS.parts if kind not in OF_SYMBOLS]
CASES = list(itertools.product(OF_SYMBOLS, ("variable", "fixed"), MODES))
CHANNELS_AND_LENGTHS = list(itertools.product(OF_SYMBOLS, ("variable", "fixed")))


def make_players(kind="gumbel", **settings):
    """Population and their world; a channel of symbols has 5 of them, and variable length, unless told otherwise."""
    symbols = {"vocab_size": 5, "length": "variable"} if kind in OF_SYMBOLS else {}
    settings = {"kind": kind, "max_len": 3, **symbols, **settings}
    sampled = ["evaluation.mode=sample"] if kind in OF_SYMBOLS else []
    channel = [f"channel.{key}={value}" for key, value in settings.items()]
    experiment = load_experiment("disc_tiny", [*channel, *sampled])
    torch.manual_seed(0)
    world = make_world(experiment)
    return experiment, Population.from_experiment(experiment, world), world


def generate_message(mode, batch=16, **settings):
    experiment, players, world = make_players(**settings)
    rounds = world.draw("train", 0, batch)
    return experiment, players.senders[0].generate_message(rounds, mode, torch.Generator().manual_seed(1))


def check_discrete(message, *, vocab_size, max_len, fixed):
    """Check all conventions for messages of ids."""
    num_steps, batch = message.symbols.shape
    assert message.ends is None and num_steps <= max_len + (not fixed)
    for symbols, length in zip(message.symbols.t().tolist(), message.length.tolist(), strict=True):
        assert length == int(length)
        head, tail = symbols[: int(length)], symbols[int(length) :]
        assert set(tail) <= {PAD} and all(1 <= symbol <= vocab_size for symbol in head[:-1])
        if fixed:
            assert len(head) == max_len and 1 <= head[-1] <= vocab_size
        else:
            assert head[-1] == EOS and len(head) <= max_len + 1
    assert message.length.shape == (batch,)


@pytest.mark.sample(24)
@pytest.mark.parametrize(("kind", "length", "mode"), CASES)
@pytest.mark.parametrize(("vocab_size", "max_len", "batch"), [(5, 4, 16), (5, 1, 1), (1, 3, 16), (1, 1, 1)])
def test_conventions_for_symbols(kind, length, mode, vocab_size, max_len, batch):
    sizes = {"length": length, "vocab_size": vocab_size, "max_len": max_len}
    _, message = generate_message(mode, batch, kind=kind, **sizes)
    fixed = length == "fixed"
    if message.symbols.is_floating_point():
        assert mode == "train" and kind != "reinforce"
        num_steps = max_len + (not fixed)
        assert message.symbols.shape == (num_steps, batch, vocab_size + 1)
        torch.testing.assert_close(message.symbols.sum(-1), torch.ones(num_steps, batch))
        if fixed:
            assert message.ends is None and (message.length == max_len).all()
            assert (message.symbols[..., EOS] == 0).all()
        else:
            torch.testing.assert_close(message.ends.sum(0), torch.ones(batch))
            assert (message.symbols[-1, :, EOS] == 1).all()
            assert (message.length >= 1).all() and (message.length <= max_len + 1 + 1e-5).all()
    else:
        check_discrete(message, vocab_size=vocab_size, max_len=max_len, fixed=fixed)
        tracked = mode == "train"
        assert (message.log_probability is not None) == (message.entropy is not None) == tracked
        if tracked:
            assert message.log_probability.isfinite().all() and (message.log_probability <= 0).all()
            assert message.entropy.isfinite().all() and (message.entropy >= 0).all()


@pytest.mark.sample(20)
@pytest.mark.parametrize(("kind", "mode"), list(itertools.product(WORDS_OF_VALUES, MODES)))
@pytest.mark.parametrize(("word_size", "max_len", "batch"), [(4, 3, 16), (4, 1, 1), (1, 3, 16), (1, 1, 1)])
def test_conventions_for_words_of_values(kind, mode, word_size, max_len, batch):
    """Always `max_len` words of `word_size` values without EOS; from 0 to 1, unless drawn or of a codebook."""
    _, message = generate_message(mode, batch, kind=kind, word_size=word_size, max_len=max_len)
    assert message.symbols.shape == (max_len, batch, word_size)
    if kind not in ("variational", "vqvib"):
        assert message.symbols.min() >= 0 and message.symbols.max() <= 1
    assert (message.length == max_len).all() and message.length.shape == (batch,)
    assert message.ends is message.log_probability is message.entropy is None


@pytest.mark.parametrize(("kind", "length"), CHANNELS_AND_LENGTHS)
def test_nothing_after_eos_is_ever_exported(kind, length):
    experiment, players, _ = make_players(kind, length=length, vocab_size=2, max_len=6)
    corpus = record_corpus(players, experiment)
    assert len(corpus.messages) == 16
    lengths = set()
    for message in (corpus.messages[index].tolist() for index in range(16)):
        lengths.add(len(message))
        assert PAD not in message and max(message) <= 2
        if length == "fixed":
            assert EOS not in message and len(message) == 6
        else:
            assert message.index(EOS) == len(message) - 1 <= 6
    assert length == "fixed" or len(lengths) > 1, "an untrained sender ends at various lengths"
    assert corpus.eos == (None if length == "fixed" else EOS)


def test_states_at_the_ends():
    """Ids: state after the last symbol. Weights of fixed length: the last. Variable: all, with probabilities."""
    states = [torch.full((2, 1), float(step)) for step in range(3)]
    symbols = torch.tensor([[1, 0], [2, PAD], [0, PAD]])
    ids = Message(symbols=symbols, ends=None, length=torch.tensor([3.0, 1.0]))
    picked, probabilities = ids.at_ends(states)
    assert picked.flatten().tolist() == [2, 0] and probabilities.tolist() == [[1, 1]]
    weights = torch.full((3, 2, 4), 0.25)
    fixed = Message(symbols=weights, ends=None, length=torch.full((2,), 3.0))
    picked, probabilities = fixed.at_ends(states)
    assert picked.flatten().tolist() == [2, 2] and probabilities.tolist() == [[1, 1]]
    ends = torch.tensor([[0.5, 0.2], [0.25, 0.3], [0.25, 0.5]])
    picked, probabilities = Message(symbols=weights, ends=ends, length=torch.ones(2)).at_ends(states)
    assert picked.shape == (3, 2, 1) and probabilities is ends


SIZES = {"vocab_size": 4, "max_len": 6, "hidden_size": 8}


def make(name, style="egg"):
    torch.manual_seed(0)
    return make_receiver(name, **SIZES, style=style)


ATTENDING = {
    "transformer": lambda: TransformerReceiver(
        TransformerReceiver.Options(hidden_size=8, num_heads=2, num_layers=2), vocab_size=4, max_len=6
    ),
    "bidirectional": lambda: BidirectionalReceiver(
        BidirectionalReceiver.Options(hidden_size=4, embedding_size=3, num_layers=2), vocab_size=4, max_len=6
    ),
}
NAMES = ["cnn", "cnn,blocks=1", "fc1l", "fc2l", "fc2l,form=sum", "fc3l", "mean_embeddings", *ATTENDING]


def receiver_of(name):
    torch.manual_seed(0)
    return ATTENDING[name]() if name in ATTENDING else make(name)


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


def test_receivers_without_recurrence_are_their_formulas(discrete_message):
    """fc2l is flat as in the paper, or a sum as in the program."""
    ids = torch.randint(1, 5, (6, 5))
    flat, total = make("fc2l", "icy"), make("fc2l,form=sum", "icy")
    deep, mean = make("fc3l"), make("mean_embeddings", "icy")
    tables = total.embed.weight.t().view(6, 5, 8)
    embedded = deep.embed(ids).tanh().transpose(0, 1).flatten(1)
    of_mean, short = mean.embed(ids).mean(0).tanh(), discrete_message(ids[:3], torch.full((5,), 2.0))
    for receiver, message, expected in (
        (flat, discrete_message(ids), flat.embed(ids).tanh().transpose(0, 1).flatten(1)),
        (total, discrete_message(ids), sum(tables[place, ids[place]] for place in range(6)).tanh()),
        (deep, discrete_message(ids), nn.functional.linear(embedded, deep.combine.weight, deep.combine.bias).tanh()),
        (mean, discrete_message(ids), of_mean),
        (mean, discrete_message(ids[[3, 0, 5, 1, 4, 2]]), of_mean),
        (mean, short, mean.embed(ids[:2]).mean(0).tanh()),
    ):
        torch.testing.assert_close(receiver(message, torch.float32)[0][0], expected)


def test_cnn_is_torchs_convolution_pooling_and_relu_in_as_many_blocks_as_the_paper_has(discrete_message):
    receiver = make("cnn,blocks=2")
    blocks = [nn.Sequential(layer, nn.MaxPool1d(2), nn.ReLU()) for layer in receiver.convolutions]
    ids = torch.randint(1, 5, (6, 5))
    expected = nn.Sequential(*blocks, nn.Flatten())(receiver.embed(ids).permute(1, 2, 0))
    assert expected.shape == (5, 8)
    torch.testing.assert_close(receiver(discrete_message(ids), torch.float32)[0][0], expected)
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
    receiver = receiver_of(name)
    weights, ends = torch.rand(7, 5, 5).softmax(-1), torch.rand(7, 5).softmax(0)
    message = Message(symbols=weights, ends=ends, length=torch.ones(5))
    states, probabilities = call_receiver(receiver, message, torch.float32)
    assert states.shape == (7, 5, receiver.state_size) and torch.equal(probabilities, ends)
    for end in range(7 if name in ATTENDING else 6):
        prefix = Message(symbols=weights[: end + 1], ends=None, length=torch.full((5,), end + 1.0))
        torch.testing.assert_close(call_receiver(receiver, prefix, torch.float32)[0][0], states[end])
    if name not in ATTENDING:
        torch.testing.assert_close(states[6], states[5])  # the appended EOS is left out


@pytest.mark.parametrize("name", NAMES)
def test_ids_and_weights_give_equal_states_and_symbols_after_the_end_are_ignored(discrete_message, name):
    receiver, length = receiver_of(name), torch.tensor([2.0, 3.0, 4.0])
    ids = torch.tensor([[2, 3, 1], [0, 1, 4], [-1, 0, 2], [-1, -1, 0]])
    states, _ = call_receiver(receiver, discrete_message(ids, length), torch.float32)
    changed = ids.clone()
    changed[2:, 0], changed[3, 1] = torch.tensor([4, 3]), 1
    alike, _ = call_receiver(receiver, discrete_message(changed, length), torch.float32)
    torch.testing.assert_close(alike, states)
    weights, ends = one_hot(ids.clamp(min=0), 5).float(), torch.zeros(4, 3)
    ends.scatter_(0, length.long()[None] - 1, 1.0)
    message = Message(symbols=weights, ends=ends, length=length)
    relaxed, probabilities = call_receiver(receiver, message, torch.float32)
    torch.testing.assert_close((relaxed * probabilities[..., None]).sum(0), states[0])


@pytest.mark.parametrize("name", ATTENDING)
def test_the_order_of_symbols_matters_and_bf16_is_close_to_fp32(discrete_message, name):
    receiver, message = receiver_of(name), discrete_message(torch.tensor([[1, 2], [2, 1], [0, 0]]))
    exact, _ = call_receiver(receiver, message, torch.float32)
    assert not torch.allclose(*exact[0], atol=1e-3)
    rounded, _ = call_receiver(receiver, message, torch.bfloat16)
    assert rounded.dtype == torch.bfloat16 and torch.allclose(exact, rounded.float(), atol=0.05)
    with pytest.raises(ConfigError, match=r"^num_heads: expected a divisor of hidden_size, 6, got 4$"):
        TransformerReceiver.Options(hidden_size=6)


SIZE = 8


def torch_layer(ours):
    layer = nn.TransformerDecoderLayer(SIZE, nhead=1, dim_feedforward=4 * SIZE, dropout=0.0, batch_first=True)
    pairs = [
        (layer.self_attn.in_proj_weight, ours.to_said.inward.weight),
        (layer.self_attn.in_proj_bias, ours.to_said.inward.bias),
        (layer.self_attn.out_proj.weight, ours.to_said.outward.weight),
        (layer.self_attn.out_proj.bias, ours.to_said.outward.bias),
        (layer.multihead_attn.in_proj_weight, ours.to_meaning.inward.weight),
        (layer.multihead_attn.in_proj_bias, ours.to_meaning.inward.bias),
        (layer.multihead_attn.out_proj.weight, ours.to_meaning.outward.weight),
        (layer.multihead_attn.out_proj.bias, ours.to_meaning.outward.bias),
        (layer.linear1.weight, ours.widen.weight), (layer.linear1.bias, ours.widen.bias),
        (layer.linear2.weight, ours.narrow.weight), (layer.linear2.bias, ours.narrow.bias),
        *((getattr(layer, f"norm{i + 1}").weight, norm.weight) for i, norm in enumerate(ours.norms)),
        *((getattr(layer, f"norm{i + 1}").bias, norm.bias) for i, norm in enumerate(ours.norms)),
    ]  # fmt: skip
    assert len(pairs) == len(list(layer.parameters())) == len(list(ours.parameters()))
    with torch.no_grad():
        for theirs, our_parameter in pairs:
            theirs.copy_(our_parameter)
    return layer


@pytest.mark.parametrize("name", ["transformer", "transformer-2l", "transformer-3l,init=copied"])
def test_the_cache_equals_the_whole_prefix(soft_message_builder, name):
    torch.manual_seed(0)
    sender = make_sender(name, num_features=6, vocab_size=3, max_len=5, hidden_size=SIZE, style="icy")
    with torch.no_grad():
        for parameter in sender.layers.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.3)
    layers = [torch_layer(layer) for layer in sender.layers]
    meanings = torch.randn(4, 6)
    memory = sender.perceive(meanings)[:, None]
    prefix = sender.embed(torch.full((4, 1), EOS))
    expected = []
    for step in range(5):
        hidden = prefix + sender.positions[: step + 1]
        mask = nn.Transformer.generate_square_subsequent_mask(step + 1)
        for layer in layers:
            hidden = layer(hidden, memory, tgt_mask=mask)
        expected.append(sender.scores(hidden[:, -1]))
        prefix = torch.cat([prefix, sender.embed(expected[-1].softmax(-1))[:, None]], 1)
    logits = sender(meanings, soft_message_builder(5))
    torch.testing.assert_close(logits, torch.stack(expected))

    expected_grads = torch.autograd.grad(torch.stack(expected).square().sum(), [sender.perceive.weight])
    gradients = torch.autograd.grad(logits.square().sum(), [sender.perceive.weight])
    torch.testing.assert_close(gradients, expected_grads, rtol=1e-4, atol=1e-4)


def test_layers_have_different_initial_weights_unless_copied():
    sizes = {"num_features": 6, "vocab_size": 3, "max_len": 5, "hidden_size": SIZE}
    for name, is_copied in (("transformer-2l", False), ("transformer-2l,init=copied", True)):
        first, second = make_sender(name, **sizes).layers
        assert torch.equal(first.widen.weight, second.widen.weight) == is_copied
        assert first.widen.weight is not second.widen.weight
