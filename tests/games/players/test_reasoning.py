"""Listeners that reason: known answers of rational speech acts, computed by hand, and reasoning in games."""

import pytest
import torch

from ecsuite.agents.message import Message
from ecsuite.games.channels.channels import all_messages
from ecsuite.games.config.experiment import load_experiment
from ecsuite.games.players.pair import make_pair
from ecsuite.games.players.reasoning import MessageScores, Obverter, RationalSpeechActs, message_of
from ecsuite.games.plays.population import make_population
from ecsuite.games.worlds.world import make_world
from ecsuite.parts.registry import read_options
from ecsuite.testing.trial import Trial


def listener(lexicon, said, lengths=None, **options):
    """The probabilities of meanings after a word of a lexicon, a row of how true it is of each."""
    order = [said, *(row for row in range(len(lexicon)) if row != said)]
    literal = torch.tensor(lexicon, dtype=torch.float)[order].log()[:, None]
    lengths = torch.tensor([lengths[row] if lengths else 1 for row in order])[:, None]
    others = torch.ones(len(order), 1, dtype=torch.bool)
    heard = MessageScores(literal=literal, lengths=lengths, is_other=others)
    rsa = RationalSpeechActs(read_options(RationalSpeechActs.Options, options, "reasoning"))
    return rsa.scores(heard).softmax(-1)[0].tolist()


NONE_SOME_ALL = [[1, 0, 0], [0, 1, 1], [0, 0, 1]]
"""Words `none`, `some`, `all`, true of nothing, of a part, of everything."""
BLUE = [[1, 1, 0], [0, 0, 1], [1, 0, 1], [0, 1, 0]]
"""Words `blue`, `green`, `square`, `circle` of a blue square, a blue circle and a green square."""


@pytest.mark.parametrize(
    ("lexicon", "said", "options", "expected"),
    [
        # S(some | part) = 1, S(some | all) = (1/2) / (1/2 + 1) = 1/3, so L(part | some) = 1 / (1 + 1/3).
        (NONE_SOME_ALL, 1, {}, [0, 3 / 4, 1 / 4]),
        # With alpha 4: S(some | all) = (1/16) / (1/16 + 1) = 1/17, so L(part | some) = 17/18.
        (NONE_SOME_ALL, 1, {"alpha": 4.0}, [0, 17 / 18, 1 / 18]),
        # One level further: S_2(some | all) = (1/4) / (1/4 + 1) = 1/5, so 5/6.
        (NONE_SOME_ALL, 1, {"depth": 2}, [0, 5 / 6, 1 / 6]),
        # `all` costs two symbols more, 0.2 nats: S(some | all) = (1/2) / (1/2 + exp(-0.2)).
        (NONE_SOME_ALL, 1, {"cost": "length", "lengths": [1, 1, 3]}, [0, 0.725083, 0.274917]),
        # Frank & Goodman 2012: S(blue | square) = 1/2, S(blue | circle) = (1/2) / (1/2 + 1) = 1/3: 3/5 and 2/5.
        (BLUE, 0, {}, [3 / 5, 2 / 5, 0]),
        (BLUE, 2, {}, [3 / 5, 0, 2 / 5]),
        (BLUE, 1, {}, [0, 0, 1]),
    ],
)
def test_known_answers(lexicon, said, options, expected):
    assert listener(lexicon, said, **options) == pytest.approx(expected, abs=1e-5)


SCALE = (
    "world.num_attributes=1", "world.num_values=3", "channel.vocab_size=3", "channel.max_len=1",
    "channel.length=fixed", "task.num_distractors=2", "receiver.perception=identity",
)  # fmt: skip


def scale(*settings):
    return Trial.of("receiver", "lexicon,lexicon=[[1,0,0],[0,1,1],[0,0,1]]", (*SCALE, *settings))


def answers(trial, word):
    """The probability of each value after a word, whichever the place of its candidate."""
    world = trial.world()
    pair, batch = trial.game(world).eval(), world.batch("valid", 0)
    candidates, _ = pair.round_parts(batch)
    number = len(batch)
    said = Message(symbols=torch.full((1, number), word), ends=None, length=torch.ones(number))
    answer, _ = pair.answer(said, candidates, None)
    values = torch.from_numpy(batch.values[batch.candidate_indices()][..., 0])
    likely = answer[0].softmax(-1)
    return [likely[values == value].mean().item() for value in range(3)]


def test_scalar_implicature_of_a_scripted_lexicon_in_a_game():
    """The literal receiver takes `some` to be as well `all`, the one that reasons does not."""
    assert answers(scale(), 2) == pytest.approx([0, 1 / 2, 1 / 2], abs=1e-5)
    assert answers(scale("reasoning=rsa,alternatives=all"), 2) == pytest.approx([0, 3 / 4, 1 / 4], abs=1e-5)
    assert answers(scale("reasoning=rsa,alternatives=all,alpha=4"), 3) == pytest.approx([0, 0, 1], abs=1e-5)


def speaker(lexicon, meaning, lengths=(1, 1, 1), **options):
    """How often a speaker says each word of a lexicon about a meaning, in 20,000 draws."""
    literal = torch.tensor(lexicon, dtype=torch.float)
    literal = (literal / literal.sum(1, keepdim=True)).log()[:, meaning]
    reasoning = Obverter(read_options(Obverter.Options, options, "reasoning"))
    each = literal[:, None].expand(-1, 20000)
    said = reasoning.choose(each, torch.tensor(lengths), torch.Generator().manual_seed(1))
    return (torch.bincount(said, minlength=len(lexicon)) / 20000).tolist()


@pytest.mark.parametrize(
    ("meaning", "options", "expected"),
    [
        (2, {}, [0, 0, 1]),
        (1, {}, [0, 1, 0]),
        (2, {"alpha": 1.0}, [0, 1 / 3, 2 / 3]),  # L(all | some) = 1/2, L(all | all) = 1
        (2, {"alpha": 2.0}, [0, 1 / 5, 4 / 5]),
        # `all` has two symbols more: e^-1/2 of it is said, so 1/2 to e^-1/2.
        (2, {"alpha": 1.0, "cost": "length", "cost_weight": 0.25, "lengths": (1, 1, 3)}, [0, 0.4519, 0.5481]),
        (2, {"cost": "length", "cost_weight": 0.4, "lengths": (1, 1, 3)}, [0, 1, 0]),
    ],
)
def test_known_words_of_a_speaker_that_reasons(meaning, options, expected):
    assert speaker(NONE_SOME_ALL, meaning, **options) == pytest.approx(expected, abs=0.012)


def test_a_speaker_with_a_scripted_lexicon_says_what_is_understood():
    trial = scale("reasoning=obverter", "task.sender_input=targets_and_distractors")
    world = trial.world()
    pair, batch = trial.game(world).eval(), world.batch("valid", 0)
    said = pair.speaker.generate_message(batch, "greedy", None).symbols[0]
    assert (said.numpy() - 1).tolist() == batch.values[batch.shown[:, 0]][:, 0].tolist()


SPEAKERS = {
    "disc_tiny": ("task.sender_input=targets_and_distractors",),
    "recon_large": ("world.num_attributes=2", "world.num_values=3", "task.num_known=1"),
}
REASONED = (
    "reasoning=obverter",
    "channel.vocab_size=3",
    "channel.max_len=2",
    "training.batch_size=8",
    "training.precision=fp32",
)


@pytest.mark.parametrize("name", SPEAKERS)
@pytest.mark.parametrize("channel", ["gumbel", "reinforce"])
def test_no_message_is_understood_better_and_the_receiver_alone_learns(name, channel):
    experiment = load_experiment(name, [*REASONED, *SPEAKERS[name], f"channel={channel}"])
    world = make_world(experiment)
    torch.manual_seed(0)
    pair, batch = make_pair(experiment, world), world.batch("train", 0)
    rounds = pair.eval().rounds(batch)
    said = pair.play_views(rounds, mode="greedy", generator=None)
    losses = []
    for ids in all_messages(pair.channel):
        message = message_of(pair.channel, ids.expand(len(batch), -1))
        heard = (message, rounds.candidates, rounds.truth)
        losses.append(pair.understand(*heard, mode="greedy", generator=None).loss)
    assert torch.allclose(said.loss, torch.stack(losses).amin(0), atol=1e-5)
    pair.train().play(batch, "train", torch.Generator().manual_seed(1)).objective.backward()
    assert all(each.grad is None for each in pair.speaker.parameters())
    assert any(each.grad is not None and each.grad.any() for each in pair.listener.parameters())


def test_agents_of_a_society_reason_with_their_own_receivers():
    experiment = load_experiment("recon_large", [*REASONED, *SPEAKERS["recon_large"], "society.agents=3"])
    population = make_population(experiment, make_world(experiment))
    assert [each.minds[0] for each in population.senders] == population.receivers
    assert len(dict(population.named_parameters())) == len({id(each) for each in population.parameters()})
