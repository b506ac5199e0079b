"""Senders and receivers of torch's layers play over every channel, in every precision and mode."""

import pytest
import torch

from ecsuite.agents.autocast import call_receiver, call_sender
from ecsuite.agents.message import embed_symbols
from ecsuite.agents.receivers import Receiver
from ecsuite.agents.senders import build_message
from ecsuite.games.config.experiment import load_experiment
from ecsuite.games.config.registry import CHANNELS
from ecsuite.games.players.pair import make_pair
from ecsuite.games.plays.evaluation import record_corpus
from ecsuite.games.plays.population import make_population
from ecsuite.games.worlds.world import make_world
from ecsuite.runtime.errors import ConfigError
from plain_modules import HIDDEN, PlainReceiver, PlainSender, SenderOfOneCall

WORDS_OF_VALUES = ("quantized", "continuous", "dru")
CASES = [
    (kind, length)
    for kind in CHANNELS.parts
    if kind not in ("variational", "vqvib")  # whose senders give twice as many numbers as a word has
    for length in ("fixed", "variable")
    if length == "fixed" or kind not in WORDS_OF_VALUES
]
PRECISIONS = [torch.float32, torch.bfloat16]
NUM_FEATURES, MAX_LEN = 8, 3


def make(kind="gumbel", length="variable", dtype=torch.float32, *, plain=("sender", "receiver"), **settings):
    """A game whose sender and receiver, or one of them, is plain."""
    experiment = load_experiment(
        "disc_tiny",
        [
            *("sender.hidden_size=16", "receiver.hidden_size=16", "training.batch_size=16"),
            *(f"channel.kind={kind}", "channel.word_size=6" if kind in WORDS_OF_VALUES else f"channel.length={length}"),
            *(f"{key}={value}" for key, value in settings.items()),
        ],
    )
    world = make_world(experiment)
    torch.manual_seed(0)
    game = make_pair(experiment, world, dtype)
    if "sender" in plain:
        game.speaker.network = PlainSender(NUM_FEATURES, game.channel.symbol_size)
    if "receiver" in plain:
        game.listener.network = PlainReceiver(game.channel.symbol_size)
    return game, world, experiment


def noise(seed=1):
    return torch.Generator().manual_seed(seed)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", PRECISIONS)
@pytest.mark.parametrize(("kind", "length"), CASES)
def test_plain_agents_learn_and_speak(kind, length, dtype):
    game, world, experiment = make(kind, length, dtype)
    before = {name: parameter.detach().clone() for name, parameter in game.named_parameters()}
    optimizer = torch.optim.Adam(game.parameters(), lr=0.01)
    for step in range(3):
        played = game.play(world.batch("train", step), "train", noise(step))
        assert played.objective.isfinite() and played.message.length.dtype == torch.float32
        optimizer.zero_grad()
        played.objective.backward()
        for name, parameter in game.named_parameters():
            assert parameter.grad.isfinite().all() and parameter.grad.abs().max() > 0, name
        optimizer.step()
    assert all(not torch.equal(parameter, before[name]) for name, parameter in game.named_parameters())
    game.eval()
    with torch.no_grad():
        for mode in ("train", "sample", "greedy"):
            played = game.play(world.batch("valid", 0), mode, noise())
            assert played.objective.isfinite()
            assert played.message.length.max() <= MAX_LEN + (length == "variable") + 1e-5
    players = make_population(experiment, world, dtype)
    players.agents[0].speaker = game.speaker
    assert len(record_corpus(players, experiment).messages) == 16


@pytest.mark.parametrize("dtype", PRECISIONS)
@pytest.mark.parametrize("plain", ["sender", "receiver"])
@pytest.mark.parametrize("kind", ["gumbel", "reinforce", "quantized"])
def test_one_plain_agent_plays_with_one_of_ours(kind, plain, dtype):
    length = "fixed" if kind == "quantized" else "variable"
    game, world, _ = make(kind, length, dtype, plain=[plain])
    game.play(world.batch("train", 0), "train", noise()).objective.backward()
    assert all(parameter.grad.abs().max() > 0 for parameter in game.parameters())
    assert game.play(world.batch("valid", 0), "greedy", None).objective.isfinite()


def test_they_compute_in_the_precision_of_the_game_and_the_channel_in_fp32():
    """In bf16 logits and states are rounded; the expected length and the ends are not."""
    low, world, _ = make(dtype=torch.bfloat16)
    full, _, _ = make()
    full.load_state_dict(low.state_dict())
    batch = world.batch("train", 0)
    low_message, full_message = (game.play(batch, "train", noise()).message for game in (low, full))
    assert low_message.symbols.dtype == torch.bfloat16 and full_message.symbols.dtype == torch.float32
    torch.testing.assert_close(low_message.symbols.float(), full_message.symbols, atol=0.05, rtol=0.05)
    steps = torch.arange(1.0, MAX_LEN + 2)
    torch.testing.assert_close(low_message.length, steps @ low_message.ends, rtol=0, atol=0)
    states, ends = call_receiver(low.listener.network, low_message, torch.bfloat16)
    assert states.dtype == torch.bfloat16 and ends.dtype == torch.float32


@pytest.mark.parametrize("kind", ["gumbel", "reinforce"])
@pytest.mark.parametrize("dtype", PRECISIONS)
def test_a_sender_may_compute_all_symbols_at_once_and_ours_ignore_autocast(kind, dtype):
    game, world, _ = make(kind, dtype=dtype)
    game.speaker.network = SenderOfOneCall(NUM_FEATURES, game.channel.symbol_size, MAX_LEN)
    game.play(world.batch("train", 0), "train", noise()).objective.backward()
    assert all(parameter.grad.abs().max() > 0 for parameter in game.speaker.network.parameters())
    assert game.play(world.batch("valid", 0), "greedy", None).objective.isfinite()
    game, world, _ = make(kind, plain=())
    for mode in ("train", "greedy"):
        expected = game.play(world.batch("train", 0), mode, noise()).message.symbols
        with torch.autocast("cpu", torch.bfloat16):
            assert torch.equal(game.play(world.batch("train", 0), mode, noise()).message.symbols, expected)


def test_what_agents_have_to_return():
    class Silent(PlainSender):
        def forward(self, meanings, builder):
            super().forward(meanings, builder)

    class Outputs(PlainReceiver):
        def forward(self, message):
            return self.encode(embed_symbols(self.embed, message.symbols))

    game, world, _ = make("gumbel", "variable")
    meanings = torch.zeros(4, NUM_FEATURES)
    builder = game.channel.start_message("greedy", meanings, None)
    with pytest.raises(ConfigError, match=r"sender Silent: expected builder.message\(\) .* got NoneType"):
        call_sender(Silent(NUM_FEATURES, 6), meanings, builder)
    message = game.speaker.generate_message(world.batch("valid", 0), "greedy", None)
    with pytest.raises(ConfigError, match=r"receiver Outputs: expected states .* message.at_ends\(states\)"):
        call_receiver(Outputs(6), message, torch.float32)
    builder = make()[0].channel.start_message("train", torch.zeros(2, 1), noise())
    with pytest.raises(ValueError, match="expected logits for all steps of a message, got 2 steps"):
        build_message(builder, torch.zeros(2, 2, 6))

    class Narrow(PlainReceiver):
        def __init__(self):
            Receiver.__init__(self, state_size=0)

    assert PlainReceiver(6).state_size == HIDDEN
    with pytest.raises(ConfigError, match=r"receiver Narrow: expected the width of its states .* got 0"):
        Narrow()


@pytest.mark.sample(4)
@pytest.mark.parametrize("plain", [("sender", "receiver"), ()])
@pytest.mark.parametrize("mode", ["train", "sample", "greedy"])
@pytest.mark.parametrize(("kind", "length"), CASES)
def test_no_result_is_waited_for(kind, length, mode, plain):
    """Tensors on the meta device have no values to wait for: whatever asks for one fails."""
    game, world, _ = make(kind, length, plain=plain)
    played = game.to("meta").play(world.batch("train", 0), mode, None)
    assert played.objective.is_meta
    assert played.message.symbols.shape[:2] == (MAX_LEN + (length == "variable"), 16)
