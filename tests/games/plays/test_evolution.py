"""Signals that evolve without networks: urns, populations and acceptance, by hand and by independent simulations."""

import random
from itertools import product

import numpy as np
import pytest
import torch

from ecsuite.formats import read_corpus
from ecsuite.games.config.experiment import load_experiment
from ecsuite.games.participants.participant import Ask, Round, Setting
from ecsuite.games.participants.scripted import Replicator, RothErev
from ecsuite.games.plays.acceptance import SHAPE
from ecsuite.games.plays.play import make_play
from ecsuite.language_models.backend import Allowed
from stopped_runs import trained

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
    assert play.evaluate()["pooling"] == pytest.approx(pooled_share(120, 2000, random.Random(1)), abs=0.1)
    play = play_of("lewis_replicator", "play.repeats=1000")
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


@pytest.mark.parametrize("settings", [(), ("play.signals=2",), ("world.frequencies=given,weights=[5,1,2]",)])
def test_populations_stay_on_the_simplex_and_gain(settings):
    """Payoffs never fall, as both populations have the same (Baum & Eagon 1967)."""
    play, before = play_of("lewis_replicator", "play.repeats=20", *settings), 0
    for step in range(30):
        success = play.train_step(step)["accuracy"]
        assert success >= before - 1e-12
        before = success
        for shares in play.weights:
            assert (shares >= 0).all() and shares.sum(1) == pytest.approx(np.ones(20), abs=1e-12)


THREE = (
    "naming_acceptance", "world.kind=attributes", "world.num_attributes=1", "world.num_values=3",
    "training.batch_size=3", "play.signs=2", "play.noise=0.7", "play.seen=1",
)  # fmt: skip


def exact(play, agents):
    """Posterior of each assignment of two signs to three objects given what agents see, by enumeration."""
    found = {}
    for signs in product(range(2), repeat=3):
        found[signs] = 1.0
        for agent, (thing, sign) in product(agents, enumerate(signs)):
            mean, precision = play.sign_means[agent, sign], play.sign_precisions[agent, sign]
            density = np.exp(-precision * (play.seen[agent, thing] - mean) ** 2 / 2)
            found[signs] *= (np.sqrt(precision / (2 * np.pi)) * density).prod()
    return {signs: weight / sum(found.values()) for signs, weight in found.items()}


def test_gaussians_are_drawn_from_the_conjugate_posterior_by_hand():
    """Sign 0: mean (x1 + x2) / (1 + 2), E precision (SHAPE + 1) / (SHAPE + (x1² + x2² - 3 m²) / 2)."""
    play = play_of(*THREE, "play.components=1")
    play.seen[0] = [[1.0], [2.0], [5.0]]
    play.signs[0] = [0, 0, 1]
    rng = np.random.default_rng(1)
    drawn = [play.drawn_gaussians(0, rng) for _ in range(20000)]
    means, precisions = (np.mean([each[n] for each in drawn], axis=0).ravel() for n in (0, 1))
    assert means == pytest.approx([1.0, 2.5], abs=0.03)
    expected = [(SHAPE + 1) / (SHAPE + (1 + 4 - 3) / 2), (SHAPE + 0.5) / (SHAPE + (25 - 2 * 2.5**2) / 2)]
    assert precisions == pytest.approx(expected, rel=0.03)


def test_agents_share_signs_that_say_more_of_digits_than_what_one_agent_sees():
    figures = {}
    for accepts in ("metropolis", "never"):
        digits = ("training.batch_size=1797", "play.seen=0.25")
        play = play_of("naming_acceptance", f"play.accepts={accepts}", *digits)
        for step in range(150):
            play.train_step(step)
        figures[accepts] = play.evaluate()
    assert figures["metropolis"]["kappa"] > 0.7 and abs(figures["never"]["kappa"]) < 0.3
    assert figures["metropolis"]["ari"] > figures["never"]["ari"] > 0.15


@pytest.mark.sample(1)
@pytest.mark.parametrize(("accepts", "agents"), [("metropolis", (0, 1)), ("always", (0,)), ("never", (1,))])
def test_signs_of_a_listener_are_samples_of_the_posterior_given_what_both_see(accepts, agents):
    """Of what the speaker sees, if it accepts everything, and of what it sees itself without communication."""
    play, things, visits = play_of(*THREE, f"play.accepts={accepts}"), np.arange(3), {}
    for step in range(6000):
        rng = play.rng("test", step)
        play.name(1, 0, things, rng)
        play.name(0, 1, things, rng)
        signs = tuple(play.signs[1].tolist())
        visits[signs] = visits.get(signs, 0) + 1
    expected, other = exact(play, agents), exact(play, (1 - agents[0],) if len(agents) == 1 else (0,))
    shares = {signs: visits.get(signs, 0) / 6000 for signs in expected}
    assert shares == pytest.approx(expected, abs=0.03)
    assert max(abs(shares[signs] - other[signs]) for signs in other) > 0.04  # and they can be told
