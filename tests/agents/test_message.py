"""Conventions for symbols, for every channel, length and mode: ids, EOS, max_len, PAD, lengths."""

import itertools

import pytest
import torch

from ecsuite.agents.message import EOS, PAD, Message
from ecsuite.games.channels.channels import SymbolChannel
from ecsuite.games.config.experiment import load_experiment
from ecsuite.games.config.registry import CHANNELS
from ecsuite.games.plays.evaluation import record_corpus
from ecsuite.games.plays.population import Population
from ecsuite.games.worlds.world import make_world

MODES = ("train", "sample", "greedy")
OF_SYMBOLS = [kind for kind in CHANNELS.parts if issubclass(CHANNELS.load(kind), SymbolChannel)]
WORDS_OF_VALUES = [kind for kind in CHANNELS.parts if kind not in OF_SYMBOLS]
CASES = list(itertools.product(OF_SYMBOLS, ("variable", "fixed"), MODES))
CHANNELS_AND_LENGTHS = list(itertools.product(OF_SYMBOLS, ("variable", "fixed")))


def make(kind="gumbel", **settings):
    """Population and their world; a channel of symbols has 5 of them, and variable length, unless told otherwise."""
    symbols = {"vocab_size": 5, "length": "variable"} if kind in OF_SYMBOLS else {}
    settings = {"kind": kind, "max_len": 3, **symbols, **settings}
    sampled = ["evaluation.mode=sample"] if kind in OF_SYMBOLS else []
    experiment = load_experiment(
        "disc_tiny", [*(f"channel.{key}={value}" for key, value in settings.items()), *sampled]
    )
    torch.manual_seed(0)
    world = make_world(experiment)
    return experiment, Population.from_experiment(experiment, world), world


def generate_message(mode, batch=16, **settings):
    experiment, players, world = make(**settings)
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
    _, message = generate_message(
        mode, batch, kind=kind, length=length, vocab_size=vocab_size, max_len=max_len
    )
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
    experiment, players, _ = make(kind, length=length, vocab_size=2, max_len=6)
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
    assert length == "fixed" or len(lengths) > 1, (
        "an untrained sender should end its messages at various lengths"
    )
    assert corpus.eos == (None if length == "fixed" else EOS)


def test_states_at_the_ends():
    """Ids: state after the last symbol. Weights of fixed length: the last. Variable: all, with probabilities."""
    states = [torch.full((2, 1), float(step)) for step in range(3)]
    ids = Message(
        symbols=torch.tensor([[1, 0], [2, PAD], [0, PAD]]), ends=None, length=torch.tensor([3.0, 1.0])
    )
    picked, probabilities = ids.at_ends(states)
    assert picked.flatten().tolist() == [2, 0] and probabilities.tolist() == [[1, 1]]
    weights = torch.full((3, 2, 4), 0.25)
    fixed = Message(symbols=weights, ends=None, length=torch.full((2,), 3.0))
    picked, probabilities = fixed.at_ends(states)
    assert picked.flatten().tolist() == [2, 2] and probabilities.tolist() == [[1, 1]]
    ends = torch.tensor([[0.5, 0.2], [0.25, 0.3], [0.25, 0.5]])
    picked, probabilities = Message(symbols=weights, ends=ends, length=torch.ones(2)).at_ends(states)
    assert picked.shape == (3, 2, 1) and probabilities is ends
