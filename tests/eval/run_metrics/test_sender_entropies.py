"""Entropies and losses by agents' own probabilities, and covertness: known answers, drawn against exact ones."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from ecsuite.eval.metrics import agent_answers as message_probabilities
from ecsuite.eval.metrics import find_metric
from ecsuite.eval.metrics.agent_answers import said_by
from ecsuite.eval.metrics.score import Options
from ecsuite.eval.run_metrics import covertness
from ecsuite.eval.run_metrics.covertness import COUNTING, compared, overheard
from ecsuite.eval.run_metrics.information_loss import InformationLossOptions, divided_loss, information_loss
from ecsuite.eval.run_metrics.sender_entropies import EntropyOptions, entropies_of, message_entropy
from ecsuite.games.channels import channels as possible_messages
from ecsuite.games.config.experiment import load_experiment, override
from ecsuite.games.plays.population import make_population
from ecsuite.games.runs.run import load_run
from ecsuite.games.worlds.world import make_world
from ecsuite.testing.trial import Trial


def certain(messages, num_symbols):
    """The entropies of a language of fixed length in which each meaning has one message."""
    said, place = np.unique(np.array(messages), axis=0, return_inverse=True)
    is_said = said[:, None] == np.array(messages)[None]  # (num_messages, num_meanings, max_len)
    weights = (place.ravel()[None] == np.arange(len(said))[:, None]) / len(messages)
    logs = np.where(is_said, 0.0, -700.0)
    return entropies_of(logs, weights, np.ones(said.shape, bool), num_symbols)


def test_known_entropies():
    found = certain([(a, b, c) for a in (1, 2) for b in (1, 2) for c in (1, 2)], 2)
    assert found.message_entropy == pytest.approx(3) and found.conditional_entropy == pytest.approx(0)
    assert found.redundancy == pytest.approx(0) and found.effective_length == pytest.approx(3)
    found = certain([(a, a) for a in (1, 2, 3, 4)], 4)
    assert found.redundancies == pytest.approx([0, 1]) and found.redundancy == pytest.approx(0.5)
    assert found.effective_length == pytest.approx(1) and found.information == pytest.approx([2, 0])
    # Either of two messages, whatever is meant: nothing is told, and no length is useful.
    logs = np.full((2, 4, 1), np.log(0.5))
    found = entropies_of(logs, np.full((2, 4), 1 / 8), np.ones((2, 1), bool), 2)
    assert found.message_entropy == pytest.approx(1) and found.conditional_entropy == pytest.approx(1)
    assert found.effective_length is None


@pytest.fixture(scope="module")
def society(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run") / "small"
    Trial.of("channel", "gumbel", ("society.senders=2", "channel.vocab_size=3")).train(folder)
    return load_run(folder)


def entropies(society, **own):
    return {score.name: score for score in message_entropy(society, Options(), EntropyOptions(**own))}


def test_messages_that_are_drawn_have_the_entropies_of_all(society, monkeypatch):
    exact = entropies(society)
    assert exact["message_entropy"].value >= exact["conditional_entropy"].value > 0
    monkeypatch.setattr(possible_messages, "MOST_MESSAGES", 1)
    drawn = entropies(society, draws=40)
    for name in ("message_entropy", "conditional_entropy", "redundancy"):
        assert drawn[name].value == pytest.approx(exact[name].value, abs=0.1)
        assert "seed" in drawn[name].signature and "seed" not in exact[name].signature


SURE = np.log([1 - 1e-300, 1e-300])
TWO_FOR_FOUR = np.array([SURE[[0, 0, 1, 1]], SURE[[1, 1, 0, 0]]])
"""Log-probabilities of two messages about four meanings, (num_messages, num_meanings)."""
FEW = 1e-9


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        ([[1 / 4] * 4] * 2, (1, 1)),  # a receiver that guesses: 2 bits = 1 + 1
        ([[1 / 2, 1 / 2, FEW, FEW], [FEW, FEW, 1 / 2, 1 / 2]], (1, 0)),  # the best receiver
        ([[3 / 4, 1 / 4, FEW, FEW], [FEW, FEW, 3 / 4, 1 / 4]], (1, 1.5 - np.log2(3) / 2 - 0.5)),
    ],
)
def test_two_messages_for_four_meanings(answers, expected):
    found = divided_loss(TWO_FOR_FOUR, np.exp(TWO_FOR_FOUR), np.log(answers))
    assert found == pytest.approx(expected, abs=1e-8)


def test_names_change_nothing_and_a_message_that_any_meaning_gets_loses_all():
    # Either of two messages, whatever is meant: the information loss is H(x).
    logs = np.full((2, 4), np.log(0.5))
    assert divided_loss(logs, np.exp(logs), np.full((2, 4), -np.log(4))) == pytest.approx((2, 0))
    rng = np.random.default_rng(0)
    logs, answers = (np.log(rng.dirichlet(np.ones(size), count)) for size, count in ((6, 5), (5, 6)))
    logs, rows, columns = logs.T, rng.permutation(6), rng.permutation(5)
    one = divided_loss(logs, np.exp(logs), answers)
    moved = logs[rows][:, columns]
    assert divided_loss(moved, np.exp(moved), answers[rows][:, columns]) == pytest.approx(one)
    assert min(one) > 0


def run_of(folder, *settings, task="discrimination"):
    channel = ("channel.kind=gumbel", "channel.vocab_size=3", "channel.max_len=2")
    Trial.of("task", task, (*channel, *settings)).train(folder)
    return load_run(folder)


def scores(run, **own):
    found = information_loss(run, Options(), InformationLossOptions(**own))
    return {score.name: score for score in found}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    settings = (
        "evaluation.num_valid=1000", "evaluation.mode=sample", "training.num_examples=3200", "training.batch_size=64",
        "training.evaluate_every=100", "training.checkpoint_every=100", "optimizer.lr=0.01",
    )  # fmt: skip
    return run_of(tmp_path_factory.mktemp("run") / "small", *settings)


def test_both_add_up_to_the_loss_of_the_game_and_are_below_chance(run):
    information, coadaptation = scores(run, rounds=1000).values()
    both = information.value + coadaptation.value
    assert both == pytest.approx(information.details["loss"])
    assert both * np.log(2) == pytest.approx(run.evaluate()["valid"]["loss"], abs=0.08)
    assert information.value < information.chance.level - 0.3
    assert coadaptation.value < coadaptation.chance.level


def test_drawn_messages_have_the_losses_of_all(run, monkeypatch):
    exact = scores(run, rounds=300)
    monkeypatch.setattr(possible_messages, "MOST_MESSAGES", 1)
    drawn = scores(run, rounds=300)
    for name, score in exact.items():
        low, high = drawn[name].ci95
        assert low - 0.05 < score.value < high + 0.05 and abs(drawn[name].value - score.value) < 0.1
        assert "seed" in drawn[name].signature and "seed" not in score.signature


def test_reconstruction_in_a_society_is_of_all_pairs(tmp_path, monkeypatch):
    run = run_of(tmp_path / "run", "society.senders=2", "society.receivers=2", task="reconstruction")
    exact = scores(run)["information_loss"]
    assert exact.details["by_pair"].keys() == {"0-0", "0-1", "1-0", "1-1"}
    assert exact.chance.level == 4  # bits of 16 meanings
    assert exact.details["by_pair"]["0-0"] == pytest.approx(exact.details["by_pair"]["0-1"])  # of the sender
    loss, mean = exact.details["loss"] * np.log(2), run.evaluate()["valid"]["loss"]
    assert loss == pytest.approx(2 * mean, rel=0.2)  # the game's loss is the mean over two attributes
    monkeypatch.setattr(possible_messages, "MOST_MESSAGES", 1)
    drawn = scores(run, draws=20)["information_loss"]
    assert drawn.value == pytest.approx(exact.value, abs=0.3) and "|from:20 draws|" in drawn.signature


SMALL = ("world.num_values=2", "channel.vocab_size=2", "channel.max_len=2", "evaluation.corpus_size=4")


def said_in(*assignments):
    torch.manual_seed(0)
    experiment = override(load_experiment("disc_tiny", SMALL), assignments)
    players = make_population(experiment, make_world(experiment)).eval()
    with torch.no_grad():
        for sender in players.senders:  # untrained agents say all alike
            for weights in sender.network.parameters():
                weights.mul_(4)
    return said_by(players, experiment)


def shares(found):
    """Of each message about each meaning, of all speakers."""
    meanings = np.unique(found.meanings, axis=0, return_inverse=True)[1].ravel()
    table = np.zeros((meanings.max() + 1, found.words.max() + 1))
    np.add.at(table, (meanings, found.words), found.weights)
    return table


def spread(table):
    """The shares of each meaning from the highest, as words are numbered in the order in which they come."""
    return -np.sort(-table / table.sum(1, keepdims=True), axis=1)[:, :7]


@pytest.mark.parametrize("length", ["variable", "fixed"])
def test_all_messages_have_probability_1_and_drawn_ones_come_as_often(length, monkeypatch):
    exact = said_in(f"channel.length={length}")
    table = shares(exact)
    assert exact.num_drawn is None and table.sum(1) == pytest.approx(1, abs=1e-6)
    assert table.shape == (4, 7 if length == "variable" else 4)  # of 0, 1 and 2 symbols, or of 2
    monkeypatch.setattr(message_probabilities, "MOST_MESSAGES", 1)
    monkeypatch.setattr(message_probabilities, "NUM_DRAWN_OF_MANY", 2000)
    drawn = said_in(f"channel.length={length}")
    assert drawn.num_drawn == 2000 and len(drawn.words) == 8000
    there, here = spread(table), spread(shares(drawn))
    assert here == pytest.approx(there[:, : here.shape[1]], abs=0.05)


def test_messages_of_parts_of_societies_and_of_codebooks(monkeypatch):
    society = said_in("society.senders=3", "society.receivers=3")
    assert set(society.speakers) == {0, 1, 2} and shares(society).sum(1) == pytest.approx(3, abs=1e-6)
    codebook = said_in("channel={kind: vqvib, vocab_size: 8, max_len: 1}")
    assert codebook.num_drawn == 1000 and codebook.words.max() < 8
    one = said_in("channel={kind: quantized, word_size: 2, max_len: 1}")
    assert one.num_drawn is None and one.weights.tolist() == [1] * 4
    whole = shares(said_in())
    monkeypatch.setattr(message_probabilities, "MOST_ROWS", 8)
    assert shares(said_in()) == pytest.approx(whole, abs=1e-6)


COVERT = ("world.num_attributes=3", "evaluation.num_valid=600", "channel.max_len=3")


def covert_run(folder, *settings, task="discrimination"):
    Trial.of("task", task, (*COVERT, *settings)).train(folder)
    return load_run(folder)


@pytest.fixture(scope="module")
def small_run(tmp_path_factory):
    return covert_run(tmp_path_factory.mktemp("run") / "small")


@pytest.fixture(scope="module")
def spoken(small_run):
    """The rounds of a run, and a message with a symbol for each value of every object."""
    [heard] = overheard(small_run, 600)
    values = heard.objects.unflatten(1, (3, 4)).argmax(-1).numpy()
    messages = np.pad(values + 1, ((0, 0), (0, 1)))  # EOS at the end
    return replace(heard, accuracy=np.ones(len(heard.targets)), vocab_size=4), messages


def heard_as(spoken, rows, **changed):
    heard, messages = spoken
    return replace(heard, symbols=messages[rows][heard.targets], **changed)


def measured(heard, number=200):
    return compared([heard], number, 0, COUNTING)


def test_a_compositional_language_is_open_and_a_random_code_is_not(spoken):
    objects = np.arange(64)
    concat, accuracy = measured(heard_as(spoken, objects))
    holistic, _ = measured(heard_as(spoken, np.random.default_rng(0).permutation(objects)))
    assert concat.mean() < 0.05 and accuracy["linear"] > 0.95 and accuracy["partner"] == 1
    assert holistic.mean() == pytest.approx(0.75, abs=0.08)  # 1 less the share of guesses
    control, accuracy = measured(heard_as(spoken, objects).recoded(np.random.default_rng(1)))
    assert control.mean() == pytest.approx(0.75, abs=0.08) and accuracy["partner"] == 1


def test_few_messages_leave_a_compositional_language_covert_but_no_constant_one(spoken):
    few, many = (measured(heard_as(spoken, np.arange(64)), number)[0].mean() for number in (2, 200))
    assert few > 0.4 > 0.05 > many
    gaps, accuracy = measured(heard_as(spoken, np.zeros(64, int), accuracy=np.full(600, 0.25)))
    assert (gaps == 0).all() and accuracy["best"] == accuracy["guess"] == 0.25
    heard, messages = spoken
    names = np.array([0, 3, 1, 4, 2])
    languages = ((heard, each) for each in (messages, names[messages]))
    own, renamed = (measured(heard_as(each, np.arange(64)))[0] for each in languages)
    assert np.allclose(own, renamed, rtol=0, atol=1e-12)


def test_codes_have_the_lengths_of_the_messages_and_are_distinct(spoken):
    heard, messages = spoken
    short = messages.copy()
    short[::2, 2:] = [0, -1]  # every second object has two symbols
    heard = replace(heard, symbols=short[heard.targets], vocab_size=8)
    code = heard.recoded(np.random.default_rng(1))
    assert np.array_equal(code.symbols > 0, heard.symbols > 0)
    assert np.array_equal(code.symbols[heard.symbols <= 0], heard.symbols[heard.symbols <= 0])
    distinct = np.unique(np.column_stack([heard.targets, code.symbols]), axis=0)
    assert len(distinct) == len(np.unique(code.symbols, axis=0)) == len(np.unique(heard.targets))
    assert (code.accuracy == 1).all()
    crowded = replace(heard, vocab_size=1).recoded(np.random.default_rng(1))  # two codes for all objects
    assert 0.25 < crowded.accuracy.mean() < 0.8


def test_outsiders_answer_by_what_they_observed(spoken):
    """One observed round: its target is what `nearest` thinks of, and the candidate most like it is chosen."""
    heard, _ = spoken
    observed, asked = np.array([0]), np.arange(1, 200)
    values = heard.objects.unflatten(1, (3, 4)).argmax(-1).numpy()
    likeness = (values[heard.candidates[asked]] == values[heard.targets[0]]).sum(2)
    is_best = likeness == likeness.max(1, keepdims=True)
    expected = (is_best & heard.labels[asked]).sum(1) / is_best.sum(1)
    for name in ("nearest", "linear"):
        assert COUNTING[name](heard, observed, asked) == pytest.approx(expected)


def test_a_receiver_is_an_outsider_that_learns(small_run, monkeypatch):
    monkeypatch.setattr(covertness, "UPDATES", 3)
    metric = find_metric("covertness,messages=100,rounds=200")
    score, matched = metric(small_run, seed=1)
    accuracy = score.details["accuracy"]
    assert {"partner", "best", "guess", "linear", "nearest", "receiver"} == set(accuracy)
    assert score.value == pytest.approx(accuracy["partner"] - accuracy["best"])
    assert matched.value == pytest.approx(score.value - score.chance.level)
    assert [each.to_json() for each in metric(small_run, seed=1)] == [score.to_json(), matched.to_json()]


def test_a_society_has_the_mean_over_its_senders(tmp_path):
    society = (
        "society.senders=2", "society.receivers=2", "evaluation.mode=sample", "evaluation.num_valid=200",
    )  # fmt: skip
    run = covert_run(tmp_path / "run", *society)
    each = [measured(heard)[0] for heard in overheard(run, 200)]
    found, _ = find_metric("covertness,outsiders=counting,rounds=200")(run)
    assert found.value == pytest.approx(np.mean(each)) and len(each) == 2
    accuracy = run.evaluate()["valid"]["accuracy"]
    assert found.details["accuracy"]["partner"] == pytest.approx(accuracy, abs=0.1)


@pytest.mark.parametrize(
    ("metric", "task", "settings", "reason"),
    [
        ("information_loss", "autoencoding", (), "not a distribution over meanings"),
        ("information_loss", "reconstruction,num_known=1", (), "not a distribution over meanings"),
        ("information_loss", "discrimination,sender_input=targets_and_distractors", (), "sees several objects"),
        ("information_loss", "discrimination", ("reasoning.kind=rsa",), "reasons about other messages"),
        ("covertness", "reconstruction", (), "do not choose one target"),
        ("covertness", "discrimination,sender_input=targets_and_distractors", (), "sees several objects"),
        ("covertness", "discrimination", ("channel.noise=confusion", "evaluation.noise=true"), "meet noise"),
        ("covertness", "discrimination,fewest_distractors=2", (), "numbers of candidates"),
        ("covertness", "discrimination", ("world.num_attributes=1",), "fewer than 8 meanings"),
    ],
)  # fmt: skip
def test_reasons_of_runs(tmp_path, metric, task, settings, reason):
    run = (covert_run if metric == "covertness" else run_of)(tmp_path / "run", *settings, task=task)
    found = find_metric(metric)(run)
    assert len(found) == 2 and all(score.value is None and reason in score.reason for score in found)
