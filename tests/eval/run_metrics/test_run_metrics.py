"""Metrics of runs: agents with known abilities, agents that know nothing, noise, and games that can't be measured."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch

import ecsuite
from ecsuite.corpus import Corpus
from ecsuite.eval.metrics import METRICS, find_metric
from ecsuite.eval.metrics import agent_answers as similarities
from ecsuite.eval.metrics.conclusions import p_value
from ecsuite.eval.metrics.score import Options
from ecsuite.eval.run_metrics import accuracies as generalisations
from ecsuite.eval.run_metrics import noise_grid as evaluations
from ecsuite.eval.run_metrics import representations as transfer
from ecsuite.eval.run_metrics.accuracies import unseen_pairs
from ecsuite.eval.run_metrics.noise_grid import EvaluatedRounds
from ecsuite.eval.run_metrics.pairings import best_names, every_pairing, report
from ecsuite.eval.run_metrics.representations import _read, read_attributes
from ecsuite.eval.statistics.estimates import average_ranks
from ecsuite.eval.views.scorecard import score_corpus
from ecsuite.games.config.experiment import load_experiment
from ecsuite.games.plays.population import make_population
from ecsuite.games.runs.run import Run, load_run
from ecsuite.games.training.train import train
from ecsuite.games.worlds.world import make_world
from ecsuite.runtime.errors import ConfigError
from ecsuite.testing.trial import Trial

QUIET = {"device": "cpu", "progress": lambda *_: None, "note": lambda *_: None}
WORLD = ["world.num_values=5", "training.num_examples=1024", "evaluation.num_valid=64"]
HELD_OUT = "world.held_out=0.2"
NUM_HALVES = transfer.NUM_HALVES


@pytest.fixture(autouse=True)
def few_models(monkeypatch):
    """Each half and shuffle trains a model for each attribute."""
    monkeypatch.setattr(transfer, "NUM_SHUFFLES", 2)
    monkeypatch.setattr(transfer, "NUM_HALVES", 2)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Run]:
    """A trained pair that saw four fifths of the objects, one that is not trained, and a society in a ring."""
    folder = tmp_path_factory.mktemp("runs")
    found = {}
    for name, changes in {
        "trained": [HELD_OUT, "training.num_epochs=20"],
        "untrained": [HELD_OUT, "training.num_epochs=1", "optimizer.lr=1e-12", "training.seed=2"],
        "society": ["society={senders: 4, receivers: 4, meets: ring}", "training.num_epochs=1"],
        "reconstruction": ["task=reconstruction", "training.num_epochs=1"],
        "quantized": ["channel=quantized", "training.num_epochs=1"],
    }.items():
        train(load_experiment("disc_tiny", [*WORLD, *changes]), folder / name, **QUIET)
        found[name] = load_run(folder / name)
    return found


def scores(run: Run, name: str) -> dict[str, object]:
    return {score.name: score for score in find_metric(name)(run, Options())}  # type: ignore[arg-type]


OF_RUNS = [name for name in METRICS.parts if find_metric(name).shared.needs_agents]
QUICK = [f"{name},outsiders=counting" if name == "covertness" else name for name in OF_RUNS]
"""Metrics of runs with outsiders that need no training."""


def test_every_metric_of_a_run_is_asked_for_by_name(runs):
    quick = [name for name in OF_RUNS if name != "transfer"]  # which trains models
    names = [score.name for score in score_corpus(runs["trained"].corpus, quick, run=runs["trained"]).scores]
    assert names[:4] == ["generalisation", "rsa", "rsa_sender", "rsa_receiver"]
    assert [score.name for score in ecsuite.score(runs["trained"], ["rsa"]).scores] == names[1:4]
    with pytest.raises(ConfigError, match="metric rsa needs the agents of a run"):
        score_corpus(Corpus([[1], [2]]), ["rsa"])


def test_new_combinations_are_understood_less_often_than_those_of_training(runs):
    names = ("trained", "untrained", "society")
    trained, untrained, nothing = (scores(runs[name], "generalisation")["generalisation"] for name in names)
    assert trained.details["seen"] > trained.value + 0.2 and trained.chance.level == 0.25
    assert untrained.value == pytest.approx(0.25, abs=0.25)  # of five objects
    assert trained.details["held_out_meanings"] == 5 and trained.details["by_unseen_pairs"].keys() == {"1"}
    assert trained.details["gap"] == pytest.approx(trained.details["seen"] - trained.value)
    assert nothing.reason == "nothing was held out of training: set world.held_out"


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    "settings", [("evaluation.mode=sample",), ("evaluation.noise=true", "channel.noise=confusion,probability=0.5")]
)
def test_rounds_of_a_society_have_what_was_drawn_in_the_evaluation(settings, tmp_path):
    """Each pair meets noise of its own, and each sender draws messages of its own for all that it meets."""
    society = ("society.senders=2", "society.receivers=2", "optimizer.lr=0.01", "training.num_epochs=1")
    result = train(load_experiment("disc_tiny", [*WORLD, *society, *settings]), tmp_path / "run", **QUIET)
    run = load_run(tmp_path / "run")
    rounds = evaluations.played(run, [(run.pair.world, "valid")])
    assert rounds.accuracy.mean() == pytest.approx(result.measures["accuracy"], abs=1e-6)


def test_the_score_is_a_mean_over_meanings(monkeypatch):
    """Two held-out meanings, one understood in one round of one, one in one round of three; the others are seen."""
    meanings, split = (np.array([[0, 0], [1, 1], [1, 1], [1, 1], [0, 1]]), np.array(["held_out"] * 4 + ["train"]))
    rounds = EvaluatedRounds(meanings=meanings, split=split, accuracy=np.array([1.0, 1, 0, 0, 0.5]))
    monkeypatch.setattr(evaluations, "played", lambda run: rounds)
    kinds = {"task": SimpleNamespace(kind="discrimination"), "evaluation": SimpleNamespace(mode="greedy")}
    run = SimpleNamespace(
        experiment=SimpleNamespace(**kinds), players=SimpleNamespace(chance=lambda: {"accuracy": 0.25}),
        pair=SimpleNamespace(world=SimpleNamespace(trained_values=lambda: None)),
    )  # fmt: skip
    [score] = generalisations.generalisation(run, Options())
    assert score.value == pytest.approx(2 / 3)
    assert score.details["seen"] == 0.5 and score.details["held_out_rounds"] == 4


def test_unseen_pairs_and_best_names_by_hand():
    trained = np.array([[0, 0, 0], [0, 1, 1], [1, 1, 0]])
    asked = np.array([[0, 0, 0], [0, 0, 1], [1, 0, 1], [0, 1, 0]])
    assert unseen_pairs(trained, asked).tolist() == [0, 1, 3, 0]
    said = np.array([[1, 2, 0], [2, 2, 0], [3, 0, -1]])
    heard = np.array([[3, 1, 0], [1, 1, 0], [2, 0, -1]])
    assert best_names(said, heard, 4).tolist() == [0, 3, 1, 2]


def test_similarities_of_vectors_with_a_known_answer(runs, monkeypatch):
    """The receiver's vectors are a rotation of the sender's; the input is unrelated noise."""
    rng = np.random.default_rng(0)
    seen, rotation = rng.normal(size=(25, 6)), np.linalg.qr(rng.normal(size=(6, 6)))[0]
    noise = rng.normal(size=(25, 6))
    for name, vectors in {"of_sender": seen, "of_receiver": 3 * seen @ rotation}.items():
        monkeypatch.setattr(similarities, name, lambda game, objects, vectors=vectors: vectors)
    monkeypatch.setattr(similarities, "inputs", lambda objects: noise)
    found = scores(runs["trained"], "rsa")
    assert found["rsa"].value == pytest.approx(1) and p_value(found["rsa"]) <= 0.1
    low, high = found["rsa_sender"].chance.low, found["rsa_sender"].chance.high
    assert low < found["rsa_sender"].value < high
    monkeypatch.setattr(similarities, "of_sender", lambda game, objects: np.ones((25, 3)))
    reason = "all pairs of objects are equally similar for the sender"
    assert scores(runs["trained"], "rsa")["rsa"].reason == reason


def rank_correlation(one, other):
    """Spearman's correlation of the cosines of all pairs."""
    above = np.triu_indices(len(one), 1)
    cosines = []
    for each in (one, other):
        unit = each / np.linalg.norm(each, axis=1, keepdims=True)
        cosines.append(average_ranks(np.round((unit @ unit.T)[above], 9)))
    return np.corrcoef(*cosines)[0, 1]


def test_agents_are_compared_by_what_they_learn(runs):
    """A sender with perception `identity` by its first layer: the objects as they are would be 1 by definition."""
    run = runs["trained"]
    objects = similarities.objects_of(run.pair.world, 300, 0)
    features = objects.features.double().numpy().reshape(25, -1)
    layers = [run.pair.speaker.network.perceive, run.pair.listener.perception]
    sender, receiver = (
        features @ layer.weight.detach().double().numpy().T + layer.bias.detach().double().numpy() for layer in layers
    )
    receiver = np.tanh(receiver)
    found = scores(run, "rsa")
    assert found["rsa_sender"].value == pytest.approx(rank_correlation(sender, features), abs=1e-3)
    assert found["rsa_receiver"].value == pytest.approx(rank_correlation(receiver, features), abs=1e-3)
    assert found["rsa"].value == pytest.approx(rank_correlation(sender, receiver), abs=1e-3)
    assert found["rsa_sender"].value < 0.99 and found["rsa"].value != found["rsa_receiver"].value
    assert found["rsa"].signature == "rsa|similarity:cosine|objects:25|seed:0|v:2"


def untrained_pair(*settings):
    """The agents of a game at their beginning."""
    experiment = load_experiment("disc_tiny", [*WORLD, *settings])
    return make_population(experiment, make_world(experiment)).eval().first_pair


SENDERS_THAT_LEARN = ("gru", "lstm-2l", "sru-z", "husenda:gru", "husendz:gru", "fc1l", "fc2l", "transformer")


@pytest.mark.parametrize("sender", SENDERS_THAT_LEARN)
def test_every_sender_has_a_first_layer(sender):
    pair = untrained_pair(f"sender={sender}")
    objects = similarities.objects_of(pair.world, 300, 0)
    vectors = similarities.of_sender(pair, objects)
    assert vectors.shape[0] == 25 and rank_correlation(vectors, similarities.inputs(objects)) < 0.9999


def test_perceptions_are_compared_themselves_where_they_learn_and_else_by_a_projection():
    """The score x W s of features x and a state s is the product of x W and s."""
    pair = untrained_pair("sender.perception=mlp,size=7", "receiver.perception=linear,size=6")
    objects = similarities.objects_of(pair.world, 300, 0)
    assert similarities.of_sender(pair, objects).shape == (25, 7)
    assert similarities.of_receiver(pair, objects).shape == (25, 6)
    pair = untrained_pair("receiver.perception=identity")
    objects = similarities.objects_of(pair.world, 300, 0)
    vectors = similarities.of_receiver(pair, objects)
    states = torch.randn(1, 25, pair.listener.network.state_size)
    view = similarities.View(features=objects.features, num_seen=1, indices=None)
    expected = pair.listener.scores(states, view, None)[0, :, 0].detach().numpy()
    assert (vectors * states[0].numpy()).sum(1) == pytest.approx(expected, abs=1e-4)


OWN_SENDER = """
from torch import nn
from ecsuite.agents.senders import Sender, build_message
class Mine(Sender):
    def __init__(self, options, *, num_features, vocab_size, max_len):
        super().__init__()
        self.LAYER, self.max_len = nn.Linear(num_features, max_len * (vocab_size + 1)), max_len
    def forward(self, meanings, builder):
        return build_message(builder, self.LAYER(meanings).unflatten(-1, (self.max_len, -1)).transpose(0, 1))
"""


def test_what_learns_no_representation_has_no_score(tmp_path, monkeypatch):
    """Scripted senders, and a sender of the user's own whose first layer nobody knows, unless it is `perceive`."""
    monkeypatch.setattr(transfer, "MAX_UPDATES", 2)
    games, reasons = [("sender=scripted", "channel=reinforce,vocab_size=5,max_len=2,length=fixed")], []
    for layer in ("layer", "perceive"):
        (tmp_path / f"{layer}.py").write_text(OWN_SENDER.replace("LAYER", layer))
        games.append((f"sender={tmp_path / layer}.py:Mine",))
    for settings in games:
        experiment = load_experiment("disc_tiny", [*WORLD, *settings])
        run = SimpleNamespace(pair=untrained_pair(*settings), experiment=experiment)
        found = scores(run, "rsa")
        assert found["rsa"].reason == found["rsa_sender"].reason and found["rsa_receiver"].value is not None
        reasons.append(found["rsa_sender"].reason)
        if settings == games[0]:
            found = scores(run, "transfer")
            assert found["transfer_sender"].reason == reasons[0] and found["transfer"].value is not None
    missing = "the sender learns no representation of objects"
    assert reasons == [missing, missing, None]


def test_what_vectors_know_is_read_from_them_however_they_are_turned():
    """Vectors of the first of two attributes, and noise: the first is known, the second as by chance."""
    rng = np.random.default_rng(0)
    codes = rng.integers(4, size=(200, 2))
    vectors = np.concatenate([np.eye(4)[codes[:, 0]], rng.normal(size=(200, 2))], axis=1)
    turned = 7 * vectors @ np.linalg.qr(rng.normal(size=(6, 6)))[0]
    for each in (vectors, turned):
        accuracy, chance = _read(each, codes, 0)
        assert accuracy[:, 0].min() == 1
        assert accuracy[:, 1].mean() == pytest.approx(chance[:, 1].mean(), abs=0.08)
    accuracy, chance = _read(vectors, np.zeros((200, 1), dtype=np.int64), 0)
    assert (accuracy == chance).all()  # an attribute that does not vary


@pytest.mark.slow
@pytest.mark.parametrize(("num_seeds", "num_shuffles"), [(20, 1), pytest.param(40, 20, marks=pytest.mark.slow)])
def test_vectors_without_attributes_are_as_by_chance(monkeypatch, num_seeds, num_shuffles):
    """Halves share objects: with Student's interval over them, 30 % of random vectors differed from chance."""
    monkeypatch.setattr(transfer, "NUM_SHUFFLES", num_shuffles)
    monkeypatch.setattr(transfer, "NUM_HALVES", NUM_HALVES)
    hits, values, half_widths = 0, [], []
    for seed in range(num_seeds):
        rng = np.random.default_rng(seed)
        codes, vectors = rng.integers(3, size=(60, 1)), rng.normal(size=(60, 4))
        found = read_attributes(vectors, codes, seed)
        p, _ = found.chance.p_value(found.value)
        hits += p is not None and p < 0.05  # of one shuffle there is none
        values.append(found.value)
        half_widths.append(found.half_width)
    assert hits <= 6
    covered = np.abs(np.array(values) - np.mean(values)) <= half_widths
    assert covered.mean() >= 0.88


@pytest.mark.slow
def test_attributes_are_read_from_trained_receivers(runs, monkeypatch):
    monkeypatch.setattr(transfer, "NUM_HALVES", NUM_HALVES)
    trained, untrained = (scores(runs[name], "transfer") for name in ("trained", "untrained"))
    assert trained["transfer"].value > trained["transfer"].chance.level + 0.1
    assert trained["transfer"].value > trained["transfer"].details["untrained"]
    assert trained["transfer_sender"].value > 0.9  # its first layer loses nothing of one-hot values
    assert untrained["transfer"].value == pytest.approx(untrained["transfer"].details["untrained"], abs=0.15)


def test_few_objects_and_what_is_no_value_have_no_transfer(runs, monkeypatch):
    whole = similarities.objects_of(runs["trained"].pair.world, 100, 0)

    def reasons(number, meanings=whole.meanings):
        objects = replace(whole, features=whole.features[:number], meanings=meanings[:number])
        monkeypatch.setattr(similarities, "objects_of", lambda *_: objects)
        return {score.reason for score in scores(runs["trained"], "transfer").values()}

    assert reasons(9) == {"fewer than ten objects"} and reasons(10) == {None}
    assert reasons(25, whole.meanings * 0) == {"no attribute varies"}
    assert reasons(25, whole.meanings / 2) == {"features are not attribute values"}


@pytest.mark.parametrize("name", ["reconstruction", "quantized", "society"])
def test_other_games_have_values_or_reasons(runs, name):
    card = score_corpus(runs[name].corpus, QUICK, run=runs[name])
    for score in card.scores:
        assert (score.value is None) == (score.reason is not None)
    assert {score.name for score in card.scores if score.value is not None} >= {"rsa", "transfer"}


def test_strangers_of_a_ring_and_runs_that_are_no_strangers(runs, ecsuite):
    found = scores(runs["society"], "cross_play")["cross_play"]
    assert found.details["pairs"] == 4 and len(found.details["matrix"]) == 4
    pairings = every_pairing([runs["society"]])
    assert pairings.where("met").sum() == 12 and not pairings.where("across").any()
    assert scores(runs["trained"], "cross_play")["cross_play"].reason == "every sender met every receiver"
    # The seed of a run decides which objects are held out of its training.
    told = "objects are held out by the seed"
    trained, untrained = runs["trained"], runs["untrained"]
    alike, other = every_pairing([trained, load_run(trained.folder)]), every_pairing([trained, untrained])
    assert alike.is_held_out_alike and not any(told in note for note in report(alike).notes)
    assert not other.is_held_out_alike and any(told in note for note in report(other).notes)
    folder = str(runs["society"].folder)
    code, out, err = ecsuite("cross-play", folder, f"{folder}/../society")
    assert (code, out) == (2, "") and err.endswith("given twice: expected each run once\n")
    for name, what in (("society", "world"), ("reconstruction", "world")):
        with pytest.raises(ConfigError, match=f"play different games: {what}"):
            every_pairing([runs["trained"], runs[name]])
    with pytest.raises(ConfigError, match="task differs"):
        every_pairing([runs["society"], runs["reconstruction"]])
    with pytest.raises(ConfigError, match="end of messages differs"):
        every_pairing([runs["society"], runs["quantized"]])


def test_a_run_beside_its_copy_with_other_names_of_symbols(runs):
    """The copy is the same pair with symbols renamed: strangers at chance, friends as soon as symbols are renamed."""
    trained = runs["trained"]
    renamed, places = load_run(trained.folder), torch.from_numpy(np.argsort([0, 4, 5, 1, 2, 3]))
    game = renamed.pair
    with torch.no_grad():
        for agent in (game.speaker.network, game.listener.network):
            state = agent.state_dict()
            for name, tensor in state.items():
                sizes = enumerate(tensor.shape)
                for axis in [axis for axis, size in sizes if size == game.channel.symbol_size]:
                    state[name] = tensor.index_select(axis, places)
            agent.load_state_dict(state)
    pairings = every_pairing([trained, renamed])
    own, other = pairings.accuracy[0, 0], pairings.accuracy[0, 1]
    assert pairings.accuracy[1, 1] == pytest.approx(own) and own > 0.4 and other < own - 0.2
    assert pairings.relabelled[0, 1] == pytest.approx(own) == pairings.relabelled[1, 0]
    found = report(pairings)
    assert "±" not in "".join(map(str, found.tables)) + " ".join(found.notes)
    assert "no interval with fewer than 3 pairs: train more seeds" in found.notes
    assert found.data["groups"]["across"]["pairs"] == 2 and found.data["relabelled"][0][0] is None


def test_noise_is_understood_by_chance_if_agents_know_nothing(runs, tmp_path):
    score = scores(runs["trained"], "noise_objects")["noise_objects"]
    assert score.value is None and "attribute values" in score.reason
    train(
        load_experiment("digits", ["training.num_epochs=1", "training.num_examples=64", "optimizer.lr=1e-12"]),
        tmp_path, **QUIET)  # fmt: skip
    score = scores(load_run(tmp_path), "noise_objects")["noise_objects"]
    assert score.chance.level == 0.25
    assert abs(score.value - 0.25) < 0.1 and abs(score.details["accuracy"] - 0.25) < 0.1
    assert score.ci95[0] < score.value < score.ci95[1]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A society whose agents know nothing yet, and a pair whose words are values."""
    folder = tmp_path_factory.mktemp("noise")
    Trial.of("channel", "gumbel", ("society.receivers=2",)).train(folder / "small")
    Trial.of("channel", "quantized").train(folder / "values")
    return folder


def test_curves_of_a_run(ecsuite, as_json, folder, tmp_path, no_layout):
    line = ("evaluate", folder / "small", "--noise", "deletion,erasure", "--rates", "0,1")
    found = as_json(*line, "--plot", "noise.svg", "--out", "noise.csv")
    points = {(each["noise"], each["rate"], each["position"]): each["accuracy"] for each in found["points"]}
    assert points["deletion", 0, None] == points["erasure", 0, None]  # without noise
    assert {position for _, _, position in points} == {None, 1, 2, 3}
    assert (tmp_path / "noise.svg").exists() and "deletion" in (tmp_path / "noise.csv").read_text()
    accuracy = as_json("evaluate", folder / "small")["evaluations"]["valid"]["accuracy"]
    assert points["deletion", 0, None] == pytest.approx(accuracy)
    found = as_json("evaluate", folder / "values", "--noise", "erasure,confusion", "--rates", "0,1")
    assert len({each["position"] for each in found["points"]}) > 1  # words of values


@pytest.mark.parametrize(
    ("run", "arguments", "message"),
    [
        ("values", "--noise deletion", "deletion needs symbols, but the words of this channel are real-valued"),
        ("small", "--noise erasur", "unknown noise 'erasur'"),
        ("small", "--noise none", "none has no rate"),
        ("small", "--noise deletion --rates 0,1.2", "expected shares from 0 to 1"),
        ("small", "--rates 0.1", "--rates: used with --noise only"),
        ("small", "--noise deletion --intervene drop", "expected one of these"),
    ],
)  # fmt: skip
def test_what_can_not_be_is_refused(ecsuite, folder, run, arguments, message):
    code, _, err = ecsuite("evaluate", str(folder / run), *arguments.split())
    assert code == 2 and message in err and len(err.strip().splitlines()) == 1
