"""Signals that evolve without networks: urns and populations by hand, their invariants, and independent simulations."""

import random

import numpy as np
import pytest
import torch
from stopped_runs import trained

from ecsuite.formats import read_corpus
from ecsuite.games.config.experiment import load_experiment
from ecsuite.games.participants.participant import Ask, Round, Setting
from ecsuite.games.participants.scripted import Replicator, RothErev
from ecsuite.games.plays.play import make_play
from ecsuite.language_models.backend import Allowed

TWO = ("world.num_values=2", "play.repeats=1")


def play_of(game, *settings):
    return make_play(load_experiment(game, settings), torch.device("cpu"))


def test_urns_after_three_rounds_by_hand():
    play = play_of("lewis_roth_erev", *TWO)
    rounds = ((0.1, 0.1, 0.1), (0.9, 0.6, 0.2), (0.2, 0.7, 0.3))  # state, signal, act: 0 0 0, 1 1 0, 0 1 0
    assert [play._round(*np.array(each)[:, None]) for each in rounds] == [1, 0, 1]
    senders, receivers = play.weights
    assert senders.tolist() == [[[2, 2], [1, 1]]] and receivers.tolist() == [[[2, 1], [2, 1]]]
    assert play.evaluate() == {"accuracy": pytest.approx(0.5), "pooling": 1.0}  # (2/3 + 1/3) / 2


def test_shares_after_a_generation_by_hand():
    """Strategies in order: 00, 01, 10, 11. Senders have 0, 1/2, 1/4, 1/4, receivers 0, 3/4, 1/4, 0."""
    play = play_of("lewis_replicator", *TWO)
    play.weights = [np.array([[0, 0.5, 0.25, 0.25]]), np.array([[0, 0.75, 0.25, 0]])]
    assert play._generation() == pytest.approx(0.5625)  # 1/2 x 3/4 + 1/4 x 1/4 + 1/4 x 1/2
    assert play.weights[0][0] == pytest.approx([0, 2 / 3, 1 / 9, 2 / 9])
    assert play.weights[1][0] == pytest.approx([0, 5 / 6, 1 / 6, 0])


def pooled_share(pairs, rounds, rng):
    """Share of pairs without a signalling system, in plain Python."""
    failed = 0
    for _ in range(pairs):
        say, do = ([[1] * 3 for _ in range(3)] for _ in range(2))
        for _ in range(rounds):
            state = rng.randrange(3)
            (signal,) = rng.choices(range(3), say[state])
            (act,) = rng.choices(range(3), do[signal])
            if act == state:
                say[state][signal] += 1
                do[signal][act] += 1
        signals = [max(range(3), key=urn.__getitem__) for urn in say]
        failed += [max(range(3), key=do[signal].__getitem__) for signal in signals] != [0, 1, 2]
    return failed / pairs


def test_shares_of_partial_pooling_are_those_of_an_independent_simulation():
    """The standard errors are 0.02 to 0.03 of pairs, and 0.005 of populations, of which 4.7 % pool (Huttegger 2010)."""
    play = play_of("lewis_roth_erev", "play.repeats=400", "training.num_examples=2000")
    for step in range(20):
        play.train_step(step)
    assert play.evaluate()["pooling"] == pytest.approx(pooled_share(200, 2000, random.Random(1)), abs=0.1)
    play = play_of("lewis_replicator", "play.repeats=2000")
    for step in range(60):
        play.train_step(step)
    assert play.evaluate()["pooling"] == pytest.approx(0.047, abs=0.02)


@pytest.mark.parametrize(
    ("game", "settings", "speakers"),
    [
        ("lewis_roth_erev", ("play.repeats=5",), 5),
        ("lewis_replicator", ("play.repeats=5",), 5),
        ("naming_acceptance", ("play.agents=3", "play.meets=ring"), 3),
        ("naming", ("play.participant=roth_erev", "play.symbols=letters", "play.agents=4"), 4),
        ("naming", ("play.participant=replicator", "play.agents=4", "play.num_others=1", "play.at_once=true"), 4),
    ],
    ids=["urns", "populations", "acceptance", "open names", "two kinds"],
)  # fmt: skip
def test_a_stopped_run_ends_with_the_same_bytes(game, settings, speakers, tmp_path):
    more = ["play.other=roth_erev"] if "play.num_others=1" in settings else []
    sizes = ("num_examples=75", "batch_size=10", "num_epochs=2", "evaluate_every=3", "checkpoint_every=2")
    experiment = load_experiment(game, [*settings, *more, *(f"training.{each}" for each in sizes)])
    whole = trained(experiment, tmp_path / "whole")
    assert trained(experiment, tmp_path / "parts", stop_after=5).stopped == "preempted"
    assert trained(experiment, tmp_path / "parts", resume=True) == whole
    for file in ("corpus.jsonl", "checkpoint-000000016.safetensors"):
        assert (tmp_path / "parts" / file).read_bytes() == (tmp_path / "whole" / file).read_bytes()
    assert len(set(read_corpus(tmp_path / "whole").columns["speaker"].tolist())) == speakers


WORDS = Allowed(choices=("a", "b"))
SETTING = {
    "things": ("x", "y", "z"), "values": np.arange(3)[:, None], "num_agents": 2, "seed": 1,
    "place": "play.participant", "device": torch.device("cpu"),
}  # fmt: skip


@pytest.mark.parametrize(
    ("made", "said", "heard"),
    [
        (RothErev(RothErev.Options(initial=2), setting=Setting(**SETTING, words=WORDS)), [4, 2], [2, 2, 4]),
        (Replicator(Replicator.Options(step=0.5), setting=Setting(**SETTING, words=WORDS)), [1.75, 0.25],
         [0.25, 0.25, 2.5]),
    ],
    ids=["urns", "replicator"],
)  # fmt: skip
def test_participants_reinforce_what_succeeded_by_hand(made, said, heard):
    """After two successes and a failure the sum of weights grows by 2, or stays."""
    for message, success in (("a", True), ("b", False), ("a", True)):
        for agent in (0, 1):
            made.learn(agent, Round(0, 1, 2, message, "z" if success else "x", success, phase="talk"))
    assert list(made._urn(0, 2).values()) == said and list(made._urn(1, "a").values()) == heard
    assert made.names(0, 2) == ("a",) and made.names(1, 2) == ()
    rng = np.random.default_rng(1)
    labels, share = Allowed(choices=("A", "B")), heard[2] / (heard[2] + heard[0])
    ask = Ask(1, "listener", "discrimination", -1, labels, (), "a", (2, 0))
    assert np.mean([made.answer(ask, rng) == "A" for _ in range(2000)]) == pytest.approx(share, abs=0.04)
