"""Covertness: languages whose outsiders' accuracy is known, and runs of pairs and societies."""

from dataclasses import replace

import numpy as np
import pytest

from ecsuite.eval.metrics import find_metric
from ecsuite.eval.run_metrics.covertness import COUNTING, compared, overheard
from ecsuite.games.runs.run import load_run
from ecsuite.testing.trial import Trial

SMALL = ("world.num_attributes=3", "evaluation.num_valid=600", "channel.max_len=3")


def run_of(folder, *settings, task="discrimination"):
    Trial.of("task", task, (*SMALL, *settings)).train(folder)
    return load_run(folder)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return run_of(tmp_path_factory.mktemp("run") / "small")


@pytest.fixture(scope="module")
def spoken(run):
    """The rounds of a run, and a message with a symbol for each value of every object."""
    [heard] = overheard(run, 600)
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
    own, renamed = (
        measured(heard_as((heard, each), np.arange(64)))[0] for each in (messages, names[messages])
    )
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


def test_a_receiver_is_an_outsider_that_learns(run):
    metric = find_metric("covertness,messages=100")
    score, matched = metric(run, seed=1)
    accuracy = score.details["accuracy"]
    assert {"partner", "best", "guess", "linear", "nearest", "receiver"} == set(accuracy)
    assert score.value == pytest.approx(accuracy["partner"] - accuracy["best"])
    assert matched.value == pytest.approx(score.value - score.chance.level)
    assert [each.to_json() for each in metric(run, seed=1)] == [score.to_json(), matched.to_json()]


def test_a_society_has_the_mean_over_its_senders(tmp_path):
    run = run_of(tmp_path / "run", "society.senders=2", "society.receivers=2", "evaluation.mode=sample")
    each = [measured(heard)[0] for heard in overheard(run, 600)]
    found, _ = find_metric("covertness,outsiders=counting,rounds=600")(run)
    assert found.value == pytest.approx(np.mean(each)) and len(each) == 2
    assert found.details["accuracy"]["partner"] == pytest.approx(run.evaluate()["valid"]["accuracy"], abs=0.1)


@pytest.mark.parametrize(
    ("task", "settings", "reason"),
    [
        ("reconstruction", (), "do not choose one target"),
        ("discrimination,sender_input=targets_and_distractors", (), "sees several objects"),
        ("discrimination", ("channel.noise=confusion", "evaluation.noise=true"), "meet noise"),
        ("discrimination,fewest_distractors=2", (), "numbers of candidates"),
        ("discrimination", ("world.num_attributes=1",), "fewer than 8 meanings"),
    ],
    ids=["reconstruction", "sees all", "noise", "numbers", "meanings"],
)
def test_a_run_without_outsiders_has_a_reason(tmp_path, task, settings, reason):
    found = find_metric("covertness")(run_of(tmp_path / "run", *settings, task=task))
    assert len(found) == 2 and all(score.value is None and reason in score.reason for score in found)
