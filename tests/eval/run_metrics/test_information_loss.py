"""Information loss and co-adaptation loss: languages with known answers, and both against the loss of a game."""

import numpy as np
import pytest

from ecsuite.eval.metrics import find_metric
from ecsuite.eval.metrics.score import Options
from ecsuite.eval.run_metrics.information_loss import InformationLossOptions, divided_loss, information_loss
from ecsuite.games.channels import channels as possible_messages
from ecsuite.games.runs.run import load_run
from ecsuite.testing.trial import Trial

SURE = np.log([1 - 1e-300, 1e-300])
TWO_FOR_FOUR = np.array([SURE[[0, 0, 1, 1]], SURE[[1, 1, 0, 0]]])
"""Log-probabilities of two messages about four meanings, (num_messages, num_meanings)."""


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        (np.full((2, 4), 1 / 4), (1, 1)),  # a receiver that guesses: 2 bits = 1 + 1
        (np.array([[1 / 2, 1 / 2, 1e-9, 1e-9], [1e-9, 1e-9, 1 / 2, 1 / 2]]), (1, 0)),  # the best receiver
        (np.array([[3 / 4, 1 / 4, 1e-9, 1e-9], [1e-9, 1e-9, 3 / 4, 1 / 4]]), (1, 1.5 - np.log2(3) / 2 - 0.5)),
    ],
)
def test_two_messages_for_four_meanings(answers, expected):
    assert divided_loss(TWO_FOR_FOUR, np.exp(TWO_FOR_FOUR), np.log(answers)) == pytest.approx(
        expected, abs=1e-8
    )


def test_a_message_that_any_meaning_gets_loses_all():
    """Either of two messages, whatever is meant: the information loss is H(x)."""
    logs = np.full((2, 4), np.log(0.5))
    assert divided_loss(logs, np.exp(logs), np.full((2, 4), -np.log(4))) == pytest.approx((2, 0))


def test_names_of_messages_and_the_order_of_meanings_change_nothing():
    rng = np.random.default_rng(0)
    logs, answers = (np.log(rng.dirichlet(np.ones(size), count)) for size, count in ((6, 5), (5, 6)))
    logs, rows, columns = logs.T, rng.permutation(6), rng.permutation(5)
    one = divided_loss(logs, np.exp(logs), answers)
    moved = logs[rows][:, columns]
    assert divided_loss(moved, np.exp(moved), answers[rows][:, columns]) == pytest.approx(one)
    assert min(one) > 0


def run_of(folder, *settings, task="discrimination"):
    Trial.of(
        "task", task, ("channel.kind=gumbel", "channel.vocab_size=3", "channel.max_len=2", *settings)
    ).train(folder)
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


def test_both_add_up_to_the_loss_of_the_game(run):
    found = scores(run, rounds=1000)
    both = found["information_loss"].value + found["coadaptation_loss"].value
    assert both == pytest.approx(found["information_loss"].details["loss"])
    assert both * np.log(2) == pytest.approx(run.evaluate()["valid"]["loss"], abs=0.08)
    assert found["information_loss"].value < found["information_loss"].chance.level - 0.3
    assert found["coadaptation_loss"].value < found["coadaptation_loss"].chance.level


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
    assert scores(run, draws=20)["information_loss"].value == pytest.approx(exact.value, abs=0.3)


@pytest.mark.parametrize(
    ("task", "settings", "reason"),
    [
        ("autoencoding", (), "not a distribution over meanings"),
        ("reconstruction,num_known=1", (), "not a distribution over meanings"),
        ("discrimination,sender_input=targets_and_distractors", (), "sees several objects"),
        ("discrimination", ("reasoning.kind=rsa",), "reasons about other messages"),
    ],
)
def test_a_loss_that_can_not_be_divided_has_a_reason(tmp_path, task, settings, reason):
    found = find_metric("information_loss")(run_of(tmp_path / "run", *settings, task=task))
    assert all(score.value is None and reason in score.reason for score in found)
