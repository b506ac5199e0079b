"""The noise of a channel: known rates, lengths and capacities, of ids and of relaxed symbols alike."""

import math

import numpy as np
import pytest
import torch
from torch.nn.functional import one_hot

from ecsuite.agents.message import EOS, PAD, Message
from ecsuite.games.channels.noise import without
from ecsuite.games.config.registry import CHANNELS, NOISES
from ecsuite.games.players.learning import filled
from ecsuite.games.plays.checks import fault_of_ids, fault_of_message
from ecsuite.games.plays.evaluation import evaluate
from ecsuite.games.plays.interactions import record_interactions
from ecsuite.games.plays.population import make_population
from ecsuite.parts.registry import read_options
from ecsuite.testing.games import messages_of_all_lengths
from ecsuite.testing.trial import Trial, play

VOCAB, MAX_LEN, BATCH = 4, 5, 6000
KINDS = ("none", "erasure", "confusion", "deletion", "insertion")


def noise(kind, max_len=MAX_LEN, has_eos=True, **options):
    return NOISES.load(kind)(
        read_options(NOISES.load(kind).Options, options, "noise"), vocab_size=VOCAB, max_len=max_len, has_eos=has_eos
    )  # fmt: skip


def channel(**options):
    made = CHANNELS.load("gumbel")
    return made(read_options(made.Options, {"vocab_size": VOCAB, "max_len": MAX_LEN, **options}, "channel"))


def generator(seed=1):
    return torch.Generator().manual_seed(seed)


def ids(*rows):
    """Messages with EOS, filled up with PAD."""
    found = torch.full((MAX_LEN + 1, len(rows)), PAD)
    for index, row in enumerate(rows):
        found[: len(row) + 1, index] = torch.tensor([*row, EOS])
    return Message(symbols=found, ends=None, length=(found != PAD).sum(0).float())


def relaxed(seed=0, batch=8):
    """A message as Gumbel-softmax gives it."""
    builder = channel().start_message("train", torch.zeros(batch, 1), generator(seed))
    logits = torch.randn(MAX_LEN, batch, VOCAB + 1, generator=generator(seed), requires_grad=True)
    for step in logits:
        builder.step(step)
    return builder.message(), logits


def content(message):
    return [[symbol for symbol in row if symbol > EOS] for row in message.symbols.t().tolist()]


def test_deletion_of_all_leaves_the_empty_message():
    lost = noise("deletion", probability=1.0)
    got = lost(messages_of_all_lengths(channel(), 20), generator())
    assert (got.symbols[0] == EOS).all() and (got.symbols[1:] == PAD).all() and (got.length == 1).all()
    got = lost(relaxed()[0], generator())
    torch.testing.assert_close(got.length, torch.ones(8))
    torch.testing.assert_close(got.symbols[0], one_hot(torch.zeros(8).long(), VOCAB + 1).float())


@pytest.mark.parametrize("probability", [0.1, 0.4])
def test_lengths_after_deletions_and_insertions_are_the_expected_ones(probability):
    said = ids(*[[1, 2, 3]] * BATCH)
    lost = noise("deletion", probability=probability)(said, generator())
    assert lost.length.mean().item() == pytest.approx(1 + 3 * (1 - probability), abs=0.05)
    in_order = content(lost)
    assert all(row == sorted(row) for row in in_order)
    put_in = noise("insertion", max_len=20, probability=probability)(said, generator())
    assert put_in.length.mean().item() == pytest.approx(4 + 4 * probability, abs=0.05)
    assert fault_of_ids(lost) is None and fault_of_ids(put_in) is None


def test_insertion_before_each_symbol_and_what_has_no_room_is_lost():
    got = noise("insertion", probability=1.0)(ids([1, 2, 3, 4], []), generator())
    (first, second) = content(got)
    assert first[1::2] == [1, 2] and len(first) == MAX_LEN and len(second) == 1
    assert got.length.tolist() == [MAX_LEN + 1, 2] and fault_of_ids(got) is None


@pytest.mark.parametrize("probability", [0.1, 0.5])
def test_confusion_is_the_symmetric_channel_of_known_capacity(probability):
    said = ids(*[[1 + number % VOCAB] for number in range(4 * BATCH)])
    got = noise("confusion", probability=probability)(said, generator())
    counts = np.zeros((VOCAB, VOCAB))
    np.add.at(counts, (said.symbols[0].numpy() - 1, got.symbols[0].numpy() - 1), 1)
    joint = counts / counts.sum()
    expected = np.where(np.eye(VOCAB) == 1, 1 - probability, probability / (VOCAB - 1)) / VOCAB
    np.testing.assert_allclose(joint, expected, atol=0.01)
    bits = float((joint * np.log2(joint / (joint.sum(1, keepdims=True) * joint.sum(0)))).sum())
    entropy = -sum(share * math.log2(share) for share in (probability, 1 - probability))
    capacity = math.log2(VOCAB) - entropy - probability * math.log2(VOCAB - 1)
    assert bits == pytest.approx(capacity, abs=0.02)
    assert (got.symbols[1:] == said.symbols[1:]).all() and torch.equal(got.length, said.length)


def test_erasure_keeps_ends_and_takes_symbols():
    said = ids(*[[1, 2, 3]] * BATCH)
    got = noise("erasure", probability=0.3)(said, generator())
    is_there = got.symbols.sum(-1)[:4] > 0
    assert (~is_there).float().mean().item() == pytest.approx(0.3, abs=0.02)
    assert (got.ends.argmax(0) == 3).all() and torch.equal(got.length, said.length)


@pytest.mark.parametrize("kind", KINDS)
def test_relaxed_symbols_meet_the_same_as_ids(kind):
    """One-hot weights with certain ends become what the ids become, to the last symbol."""
    said = messages_of_all_lengths(channel(), 60)
    options = {} if kind == "none" else {"probability": 0.5}
    of_ids = noise(kind, **options)(said, generator())
    weights = one_hot(said.symbols.clamp(min=EOS), VOCAB + 1).float()
    hard = Message(symbols=weights, ends=said.with_all_ends().ends, length=said.length)
    got = noise(kind, **options)(hard, generator())
    torch.testing.assert_close(got.length, of_ids.length)
    torch.testing.assert_close(got.ends, of_ids.with_all_ends().ends)
    if kind != "erasure":
        is_there = of_ids.symbols != PAD
        assert torch.equal(got.symbols.argmax(-1)[is_there], of_ids.symbols[is_there])


@pytest.mark.parametrize("kind", KINDS)
def test_parts_of_relaxed_messages_agree_and_have_gradients(kind):
    said, logits = relaxed(batch=50)
    got = noise(kind, **({} if kind == "none" else {"probability": 0.4}))(said, generator())
    assert fault_of_message(got, channel()) is None
    assert got.symbols.shape == said.symbols.shape
    if kind != "erasure":
        sums = got.symbols.sum(-1)
        torch.testing.assert_close(sums, torch.ones_like(sums))
    (got.length.sum() + got.symbols.square().sum()).backward()
    assert logits.grad.isfinite().all() and logits.grad.abs().sum() > 0


def test_deletion_of_relaxed_symbols_is_the_mean_over_what_they_stand_for():
    """The probability of each end is that of messages drawn symbol by symbol from the weights."""
    said, _ = relaxed(batch=1)
    lost = torch.tensor([False, True, False, True, False, False])[:, None]
    got = without(said, lost)
    weights = said.symbols[:, 0].detach().double()
    drawn = torch.multinomial(weights, 40000, replacement=True, generator=generator())  # (num_steps, draws)
    ended = (drawn == EOS).cumsum(0)
    drawn = torch.where((ended > 0) & ~((ended == 1) & (drawn == EOS)), PAD, drawn)
    drawn = Message(symbols=drawn, ends=None, length=(drawn != PAD).sum(0).float())
    sample = without(drawn, lost.expand(-1, 40000))
    assert sample.length.mean().item() == pytest.approx(got.length.item(), abs=0.03)
    ends = torch.stack([(sample.length == step).double().mean() for step in range(1, 7)])
    torch.testing.assert_close(ends, got.ends[:, 0].double(), atol=0.01, rtol=0)
    first = torch.bincount(sample.symbols[0], minlength=VOCAB + 1) / sample.symbols.shape[1]
    torch.testing.assert_close(first.double(), got.symbols[0, 0].double(), atol=0.01, rtol=0)


def test_the_noise_does_not_depend_on_how_far_ids_are_filled():
    """A device that is not waited for makes all steps, another one stops with the longest message."""
    said, given = ids([1, 2], [3], [4, 1]), torch.tensor([[3, 2], [1, 0]])
    short = Message(symbols=said.symbols[:3], ends=None, length=said.length)
    for kind in KINDS[2:]:
        first, second = (noise(kind, probability=0.5)(each, generator()) for each in (said, short))
        assert torch.equal(first.symbols, second.symbols)
    assert filled(given, 2) is given and filled(given, 3).tolist() == [[3, 2], [1, 0], [PAD, PAD]]


@pytest.mark.parametrize("kind", KINDS[1:])
def test_noise_in_evaluation_by_option(kind):
    settings = (f"channel.noise={kind},probability=0.9", "channel.length=variable")
    settings += ("evaluation.num_valid=64",)
    flags = ("evaluation.noise=false", "evaluation.noise=true")
    plain, noisy = (Trial.of("channel", "gumbel", (*settings, flag)) for flag in flags)
    world = plain.world()
    without_noise, with_noise = (make_population(trial.experiment, world) for trial in (plain, noisy))
    first = evaluate(without_noise, world, plain.experiment)
    second, again = (evaluate(with_noise, world, noisy.experiment) for _ in range(2))
    assert second == again and first["loss"] != second["loss"]
    batch = world.batch("valid", 0)
    said = [play(each.first_pair, batch, "greedy").message for each in (without_noise, with_noise)]
    assert torch.equal(*(each.symbols for each in said)) and first["length"] == second["length"]


def test_noise_of_several_kinds_is_one_after_the_other():
    both = noise("several", of=["confusion,probability=1.0", "deletion,probability=0.5"])
    said = ids(*[[1, 2, 3]] * BATCH)
    got = both(said, generator())
    one = torch.Generator().manual_seed(1)
    alone = noise("deletion", probability=0.5)(noise("confusion", probability=1.0)(said, one), one)
    assert both.changes_length and torch.equal(got.symbols, alone.symbols)


CONFUSED = "confusion,probability=1.0"


@pytest.mark.parametrize("kind", [*KINDS[1:], "several"])
def test_noise_at_one_position_leaves_the_others(kind):
    """So also where it is certain that a symbol meets it."""
    options = {"of": [CONFUSED, "deletion,probability=1.0"]} if kind == "several" else {"probability": 1.0}
    made = noise(kind, **options)
    made.position = 1
    got = made(ids([1, 2, 3]), generator())
    if kind in ("deletion", "several"):
        assert content(got) == [[1, 3]]
    elif kind == "insertion":
        assert [content(got)[0][place] for place in (0, 2, 3)] == [1, 2, 3]
    elif kind == "confusion":
        assert content(got)[0][::2] == [1, 3] and content(got)[0][1] != 2
    else:
        assert got.symbols[:, 0].sum(-1).tolist() == [1, 0, 1, 1, 0, 0]


@pytest.mark.parametrize("kind", ["quantized", "continuous", "variational", "vqvib"])
def test_noise_of_words_of_values(kind):
    """Erased words are 0; confused ones are words of the channel, and others than those that were said."""
    made = {}
    for each in ("erasure", "confusion"):
        trial = Trial.of("channel", f"{kind},max_len=3", (f"channel.noise={each},probability=1.0",))
        world = trial.world()
        pair = trial.game(world)
        said = play(pair, world.batch("train", 0), "train").message
        made[each] = pair.channel.received(said, generator())
        assert made[each].symbols.shape == said.symbols.shape
    assert (made["erasure"].symbols == 0).all()
    got = made["confusion"].symbols
    assert not torch.equal(got, said.symbols) and got.std() > 0.1
    if kind == "quantized":
        assert ((got == 0) | (got == 1)).all()
    if kind == "vqvib":
        assert (torch.cdist(got.flatten(0, 1), pair.channel.codebook).amin(1) < 1e-2).all()


def test_noise_in_evaluation_only():
    """Messages of training arrive as they are said, those of evaluation do not."""
    settings = ("channel.noise=deletion,probability=1.0", "training.noise=false", "evaluation.noise=true")
    noisy, plain = Trial.of("channel", "gumbel", settings), Trial.of("channel", "gumbel")
    world = plain.world()
    batch = world.batch("train", 0)
    losses = [play(trial.game(world), batch, "train").objective for trial in (noisy, plain)]
    assert torch.equal(*losses)
    trials = (noisy.experiment, plain.experiment)
    found = [evaluate(make_population(each, world), world, each)["loss"] for each in trials]
    assert found[0] != found[1]


def test_votes_and_answers_are_of_the_messages_that_arrive():
    """All symbols get lost: so no receiver, no vote and no answer of the table is better than without a message."""
    settings = ("channel.noise=deletion,probability=1.0", "evaluation.noise=true", "evaluation.num_valid=64")
    society = ("society.receivers=3", "society.voting=true")
    trial = Trial.of("channel", "gumbel", (*settings, *society))
    world = trial.world()
    players = make_population(trial.experiment, world)
    sender, batch = players.senders[0], world.batch("valid", 0)
    lost = sender.channel.received(sender.generate_message(batch, "greedy", None), generator())
    rounds = players.first_pair.rounds(batch)
    alone = [each.response(lost, rounds.candidates, None)[0][-1].softmax(-1) for each in players.receivers]
    right = torch.stack(alone).mean(0).argmax(-1) == rounds.truth.labels.int().argmax(-1)
    played = players.eval().play(batch, "greedy", generator())
    assert float(played.measures["voting_accuracy"]) == float(right.float().mean())
    pytest.importorskip("pyarrow")
    rows = record_interactions(players, {"valid": (world, "valid")}, trial.experiment).to_pylist()
    assert all(row["correct"] == row["accuracy"] for row in rows)
