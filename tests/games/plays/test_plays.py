"""Plays from a user's file: each stops, resumes with the same bytes, and writes a corpus that is scored."""

import json
from pathlib import Path

import pytest
import torch
from stopped_runs import trained

from ecsuite.formats import read_corpus
from ecsuite.games.config.experiment import load_experiment
from ecsuite.games.config.registry import PLAYS as REGISTERED
from ecsuite.games.plays.play import make_play
from ecsuite.games.runs.run import load_run
from ecsuite.games.worlds.world import make_world
from ecsuite.parts import own_code
from ecsuite.runtime.errors import ConfigError

EXAMPLES = Path(__file__).parents[3] / "examples"
PLAYS = {
    "naming": "./naming_game.py:NamingGame,num_agents=4,num_objects=6",
    "policy": "./policy_gradient.py:PolicyGradient,num_meanings=4",
}
SETTINGS = (
    "training.num_examples=1000", "training.batch_size=100", "training.num_epochs=1", "training.evaluate_every=3",
    "training.checkpoint_every=2", "training.precision=fp32", "optimizer.lr=0.2",
)  # fmt: skip


@pytest.fixture(autouse=True)
def in_the_folder(monkeypatch):
    monkeypatch.chdir(EXAMPLES)
    monkeypatch.setattr(own_code, "_trusted", set())


def experiment(name, *settings):
    changes = [each for each in SETTINGS if name == "policy" or not each.startswith("optimizer")]
    return load_experiment("disc_tiny", [f"play={PLAYS[name]}", *changes, *settings])


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", PLAYS)
def test_a_play_that_was_stopped_ends_with_the_same_bytes(name, tmp_path):
    whole = trained(experiment(name), tmp_path / "whole")
    assert trained(experiment(name), tmp_path / "parts", stop_after=5).stopped == "preempted"
    assert trained(experiment(name), tmp_path / "parts", resume=True) == whole
    for file in ("corpus.jsonl", "checkpoint-000000010.safetensors", "config.yaml"):
        assert (tmp_path / "parts" / file).read_bytes() == (tmp_path / "whole" / file).read_bytes()
    assert trained(experiment(name), tmp_path / "whole").was_done
    logs = [(tmp_path / folder / "log.jsonl").read_text().splitlines() for folder in ("whole", "parts")]
    first, second = ([json.loads(line) | {"examples_per_second": 0} for line in lines] for lines in logs)
    assert first == second and [line["step"] for line in first] == [3, 6, 9, 10]


@pytest.mark.slow
def test_agents_of_a_naming_game_agree(tmp_path):
    """They do in the end, whatever the seed (Baronchelli et al. 2006); the corpus says who speaks."""
    result = trained(experiment("naming", "training.num_examples=4000"), tmp_path)
    assert result.measures == {"accuracy": 1.0}
    corpus = read_corpus(tmp_path)
    words = corpus.messages.values.reshape(4, 6)
    assert (words == words[0]).all() and corpus.columns["speaker"].tolist() == sorted([0, 1, 2, 3] * 6)


def test_a_policy_learns_by_several_updates_a_rollout(tmp_path):
    """More updates of the same rollouts bring it further, and the chance level is that of a guess."""
    results = [
        trained(experiment("policy", f"play.num_updates={number}"), tmp_path / str(number))
        for number in (1, 6)
    ]
    rewards = [load_run(tmp_path / str(number)).log["train.accuracy"][-1] for number in (1, 6)]
    assert results[1].chance == {"accuracy": 0.25} and rewards[0] < rewards[1] and rewards[1] > 0.9


def test_sections_that_a_play_does_not_read_are_refused_where_they_are_given_with_it():
    """What a shipped game has below is left out, also of the written config."""
    written = experiment("naming").to_tree()
    assert set(written) == {"name", "about", "play", "training", "evaluation", "code"}
    assert "init_sender" not in written["training"]
    for setting in (
        "world=thing",
        "training.freeze_sender=true",
        "optimizer.lr=1",
        "evaluation.keep=interactions",
    ):
        with pytest.raises(
            ConfigError, match=r"^--set: .*: play \./naming_game\.py:NamingGame does not read it$"
        ):
            experiment("naming", setting)
    assert experiment("policy").optimizer.options.lr == 0.2


def test_a_run_without_senders_and_receivers_says_so(tmp_path):
    trained(experiment("naming"), tmp_path)
    with pytest.raises(ConfigError, match="has no senders and receivers to ask: score its corpus"):
        load_run(tmp_path).evaluate()


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("module = None", "expected a module, self.module"),
        ("def __init__(self, options, **known):\n        super().__init__(options, **known)\n"
         "        self.module = torch.nn.Linear(1, 1)", "expected a method objective or update"),
    ],
    ids=["no weights", "no objective"],
)  # fmt: skip
def test_a_trained_play_that_can_not_learn_is_refused_before_anything_is_written(tmp_path, body, message):
    file = tmp_path / "mine.py"
    file.write_text(
        "import torch\nfrom ecsuite.games.plays.play import TrainedPlay\n\n\nclass Mine(TrainedPlay):\n"
        f"    {body}\n\n    def evaluate(self):\n        return {{}}\n\n"
        "    def corpus(self, evaluation):\n        return None\n"
    )
    with pytest.raises(ConfigError, match=f"^Mine: for a TrainedPlay, {message}$"):
        trained(load_experiment("disc_tiny", [f"play={file}:Mine"]), tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('return {"accuracy": right / rounds}', "return right", "expected measures by name, got int"),
        ('return {"accuracy": right / rounds}', 'return {"accuracy": rigt}', "name .rigt. is not defined"),
        (
            'return {"accuracy": float(',
            'return {"acuracy": float(',
            "expected a measure accuracy, got acuracy",
        ),
        ("return Corpus(", "return list(", "takes no keyword arguments"),
    ],
    ids=["no measures", "a typing error", "another name", "no corpus"],
)
def test_a_play_is_tried_before_anything_is_written(tmp_path, old, new, message):
    """One line with the file and its line, also of what would have failed at the end only."""
    file, text = tmp_path / "mine.py", (EXAMPLES / "naming_game.py").read_text()
    assert old in text
    file.write_text(text.replace(old, new))
    with pytest.raises(Exception, match=message) as raised:
        trained(load_experiment("disc_tiny", [f"play={file}:NamingGame"]), tmp_path / "run")
    assert str(own_code.error_in_part(raised.value) or raised.value).startswith(f"{file}:")
    assert not (tmp_path / "run").exists()


RECONSTRUCTION = """
import torch
from ecsuite.corpus import Corpus
from ecsuite.games.plays.play import TrainedPlay
from ecsuite.games.worlds.attributes import AttributeWorld


class Reconstruction(TrainedPlay):
    def __init__(self, options, **given):
        super().__init__(options, **given)
        self.module = torch.nn.Linear(3, 3, device=self.device)

    def objective(self, step):
        loss = (self.module(torch.eye(3)) - torch.eye(3)).square().mean()
        return loss, {"loss": loss.detach()}

    def evaluate(self):
        return {"accuracy": 0.0}

    def corpus(self, evaluation):
        return Corpus([[1], [2]], meanings=[[0], [1]])


class Noisy(AttributeWorld):
    def __init__(self, options, **given):
        super().__init__(options, **given)
        self.noise = torch.randn(4)
"""


SHIPPED = {"signalling": "disc_tiny", "naming": "naming", "talk": "talk_chain", "acting": "speaker_listener"}
"""A game of each registered play."""


def initial_state(experiment, before):
    """The state of a play that is made after other draws of the process, whose generator stays as it was."""
    torch.manual_seed(before)
    state = torch.get_rng_state()
    play = make_play(experiment, torch.device("cpu"))
    assert torch.equal(torch.get_rng_state(), state)
    return {key: tensor.clone() for key, tensor in play.state().items()}


@pytest.mark.parametrize("name", [*REGISTERED.parts, "own"])
def test_a_play_begins_with_the_weights_of_its_seed(name, tmp_path):
    """Whatever the process has drawn before; also a play whose author uses torch's modules as they are."""
    game, settings = SHIPPED.get(name, "disc_tiny"), []
    if name == "own":
        (tmp_path / "mine.py").write_text(RECONSTRUCTION)
        settings = [f"play={tmp_path / 'mine.py'}:Reconstruction"]
    first, again, other = (
        initial_state(
            load_experiment(game, [*settings, f"training.seed={seed}", "training.precision=fp32"]), before
        )
        for seed, before in ((1, 10), (1, 20), (2, 10))
    )
    assert first.keys() == again.keys() and all(torch.equal(first[key], again[key]) for key in first)
    if name not in ("naming", "talk"):  # whose agents have no weights
        assert any(not torch.equal(first[key], other[key]) for key in first)


def test_runs_of_a_play_of_the_users_own_repeat(tmp_path):
    """Also after other draws of the process: they end with the same bytes."""
    (tmp_path / "mine.py").write_text(RECONSTRUCTION)
    runs = []
    for number in range(2):
        torch.manual_seed(number)
        found = load_experiment("disc_tiny", [f"play={tmp_path / 'mine.py'}:Reconstruction", *SETTINGS])
        trained(found, tmp_path / str(number))
        runs.append((tmp_path / str(number) / "checkpoint-000000010.safetensors").read_bytes())
    assert runs[0] == runs[1]


def test_worlds_of_the_users_own_are_the_same_in_evaluation(tmp_path):
    """A world that draws from torch in its constructor is made again where a run is evaluated."""
    (tmp_path / "mine.py").write_text(RECONSTRUCTION)
    found = load_experiment("disc_tiny", [f"world={tmp_path / 'mine.py'}:Noisy"])
    torch.manual_seed(5)
    noises = [make_world(found).noise for _ in range(2)]
    assert torch.equal(*noises)


FREEZES = """
import torch
from torch import nn
from ecsuite.corpus import Corpus
from ecsuite.games.plays.play import TrainedPlay

class Own(TrainedPlay):
    def __init__(self, options, *, experiment, device):
        super().__init__(options, experiment=experiment, device=device)
        self.module = nn.Linear(2, 2)

    def METHOD:
        loss = self.module(torch.ones(1, 2)).sum()
        self.module.weight.requires_grad_(False)
        END

    def evaluate(self):
        return {"accuracy": 1.0}

    def corpus(self, evaluation):
        return Corpus([[1], [2]], meanings=[[0], [1]])
"""


@pytest.mark.parametrize(
    ("method", "end", "line"),
    [
        ("update(self, step, optimise)", "optimise(loss); return {'loss': loss.detach()}", 15),
        ("objective(self, step)", "return loss, {'loss': loss.detach()}", 12),
    ],
    ids=["update", "objective"],
)
def test_frozen_weights_are_told_with_file_and_line(ecsuite, tmp_path, method, end, line):
    (tmp_path / "own.py").write_text(FREEZES.replace("METHOD", method).replace("END", end))
    (tmp_path / "game.yaml").write_text("play: ./own.py:Own\n")
    code, _, err = ecsuite("train-game", "game.yaml", "-q")
    assert (code, err.count("\n")) == (2, 1) and err.startswith(f"./own.py:{line}: ")
    assert "weights that are trained were frozen within a step" in err
