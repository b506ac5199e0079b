"""Plays from a user's file: each stops, resumes with the same bytes, and writes a corpus that is scored."""

import json
import shutil
from pathlib import Path

import pytest
import torch

from ecsuite.formats import read_corpus
from ecsuite.games.config.experiment import load_experiment
from ecsuite.games.runs.checkpoints import weights_of_corpus
from ecsuite.games.runs.run import load_run
from ecsuite.parts import own_code
from ecsuite.runtime.errors import ConfigError
from stopped_runs import trained

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
    with pytest.raises(ConfigError, match="has no senders and receivers: score its corpus"):
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
    assert "trained weights were frozen within a step" in err


SMALL = (
    "training.num_examples=96", "training.batch_size=16", "training.num_epochs=2", "training.evaluate_every=3",
    "training.checkpoint_every=2", "training.precision=fp32", "evaluation.num_valid=32",
)  # fmt: skip
SIGNALLING = ("./alternating.py:Alternating,every=2", "./slow_teacher.py:SlowTeacher")


@pytest.mark.parametrize("play", SIGNALLING)
def test_a_signalling_game_of_the_users_own_is_used_like_ours(ecsuite, tmp_path, play):
    """It is trained, evaluated, scored, intervened on, asked, verified, and lends its weights."""
    shutil.copytree(EXAMPLES, tmp_path, dirs_exist_ok=True)
    settings = [word for each in SMALL for word in ("--set", each)]
    train = ("train-game", "disc_tiny", *settings, "--quiet")
    assert ecsuite(*train, "--set", f"play={play}", "--out", "run")[0] == 0
    code, out, _ = ecsuite("evaluate", "run", "--trust-code", "--intervene", "drop", "--json")
    assert code == 0 and json.loads(out)["interventions"][0]["intervention"] == "none"
    code, out, _ = ecsuite("score", "run", "--trust-code", "--metrics", "topsim,rsa", "--json")
    assert code == 0 and {each["name"] for each in json.loads(out)["scores"]} >= {"topsim", "rsa"}
    run = load_run(Path("run"), trust_code=True)
    assert len(run.speak([[0, 1], [2, 3]])) == 2 and run.has_agents
    evaluated = run.evaluate()["valid"]
    assert evaluated == pytest.approx(run.measures)
    assert run.evaluate({"task.num_distractors": 1})["valid"] != evaluated
    assert run.intervene("permute").chance == 0.25
    code, out, err = ecsuite("verify", "run", "--trust-code")
    assert code == 0, out + err
    assert ecsuite(*train, "--init-from", "run", "--out", "from")[0] == 0
    one, other = (load_run(Path(name), trust_code=True).pair.speaker for name in ("run", "from"))
    assert one.state_dict().keys() == other.state_dict().keys()


@pytest.mark.slow
@pytest.mark.parametrize("play", SIGNALLING)
def test_a_sweep_of_a_signalling_game_of_the_users_own_asks_its_agents(ecsuite, tmp_path, play):
    shutil.copytree(EXAMPLES, tmp_path, dirs_exist_ok=True)
    values = "".join(f", {key}: {value}" for key, _, value in (each.partition("=") for each in SMALL))
    Path("sweep.yaml").write_text(
        f'name: own\nbase: disc_tiny\nset: {{play: "{play}"{values}}}\n'
        "vary: {channel.vocab_size: [4, 5]}\nseeds: 1\nscore: [topsim, rsa]\n"
    )
    code, out, err = ecsuite("sweep", "sweep.yaml", "--on", "local:1", "--json")
    assert code == 0, err
    scores = [{score["name"] for score in row["scores"]} for row in json.loads(out)["runs"]]
    assert len(scores) == 2 and all({"topsim", "rsa"} <= each for each in scores)


HOOKS = """
import torch

def decay(play, step, measures):
    if step % 2:
        with torch.no_grad():
            for weight in play.module.parameters():
                weight.mul_(0.9)

def fails(play, step, measures):
    if step == 3:
        raise ValueError(f"{step}: {sorted(measures)}")

def gives(play, step, measures):
    return measures

def few(play):
    pass

class Hook:
    pass
"""


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("fails", r"hooks.py:12: ValueError: 3: ['accuracy', 'length', 'loss']"),
        ("gives", "hooks.py:14: training.after_step: expected to return None, got dict"),
        ("few", "hooks.py:17: TypeError: few() takes 1 positional argument but 3 were given"),
        ("Hook", "hooks.py:20: training.after_step: expected a function, got a class"),
        ("none", "hooks.py: has no none; it has decay, fails, gives, few, Hook"),
    ],
)
def test_errors_of_a_hook_are_a_line_with_its_file_and_line(ecsuite, tmp_path, name, message):
    (tmp_path / "hooks.py").write_text(HOOKS)
    settings = [word for each in SMALL for word in ("--set", each)]
    hook = ("--set", f"training.after_step=./hooks.py:{name}")
    code, out, err = ecsuite("train-game", "disc_tiny", *settings, *hook, "--out", "run", "--quiet")
    assert (code, out, err) == (2, "", f"./{message}\n")
    assert Path("run").exists() == (name == "fails")  # else before anything is written


def test_a_hook_is_named_by_its_file_and_changes_the_training_to_the_byte(ecsuite, tmp_path):
    code, _, err = ecsuite("config", "disc_tiny", "--set", "training.after_step=decay")
    expected = "expected a function of a file, such as ./mine.py:after_step, got decay"
    assert (code, err) == (2, f"--set: training.after_step: {expected}\n")
    (tmp_path / "hooks.py").write_text(HOOKS)
    hook = f"training.after_step={tmp_path / 'hooks.py'}:decay"
    for name, more, how in (("whole", [hook], {}), ("parts", [hook], {"stop_after": 5}), ("without", [], {})):
        trained(load_experiment("disc_tiny", [*SMALL, *more]), tmp_path / name, **how)
    trained(load_experiment("disc_tiny", [*SMALL, hook]), tmp_path / "parts", resume=True)
    names = ("whole", "parts", "without")
    whole, parts, without = (weights_of_corpus(tmp_path / name, print) for name in names)
    assert all(torch.equal(weight, parts[name]) for name, weight in whole.items())
    assert not all(torch.equal(weight, without[name]) for name, weight in whole.items())
