"""Plays from a user's file: each stops, resumes with the same bytes, and writes a corpus that is scored."""

import json
import shutil
from pathlib import Path

import pytest
import torch
from stopped_runs import trained

from ecsuite.formats import read_corpus
from ecsuite.games.config.experiment import load_experiment
from ecsuite.games.config.registry import PLAYS as REGISTERED
from ecsuite.games.config.sections import ROLES
from ecsuite.games.engine.optimizers import Optimise
from ecsuite.games.plays.play import make_play
from ecsuite.games.runs.checkpoints import weights_of_corpus
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
    speakers = [
        load_run(Path(name), trust_code=True).pair.speaker.state_dict().keys() for name in ("run", "from")
    ]
    assert speakers[0] == speakers[1]


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


def test_in_an_alternating_update_one_role_learns_at_a_time():
    play = make_play(
        load_experiment("disc_tiny", [*SMALL, "play=./alternating.py:Alternating"]), torch.device("cpu")
    )
    play.optimise = Optimise(play.experiment.optimizer, play.module, play.modules_of)

    def weights(role):
        return torch.cat(
            [each.detach().flatten() for part in play.modules_of(role) for each in part.parameters()]
        )

    for step, learner in enumerate(["sender", "receiver", "sender"]):
        before = {role: weights(role) for role in ROLES}
        play.train_step(step)
        assert [role for role in ROLES if not torch.equal(before[role], weights(role))] == [learner]


OWN_UPDATE = """
from ecsuite.games.plays.signalling import Signalling

class Same(Signalling):
    def update(self, step, optimise):
        numbers = self.batches_of(step)
        optimise.begin()
        for number in numbers:
            played = self.play_batch(number, step)
            optimise.backward(self.loss(played), len(numbers))
        optimise.step()
        return played.measures

class Twice(Signalling):
    def loss(self, played):
        return 2 * played.objective
"""


@pytest.mark.parametrize(
    "settings",
    [
        (),
        ("training.accumulate=2",),
        ("society.senders=2", "society.receivers=3"),
        (
            "society.senders=3",
            "society.receivers=2",
            "society.meets=all",
            "generations.every=3",
            "training.accumulate=2",
        ),
        ("society.agents=3", "society.shares=perception", "sender.perception=mlp", "receiver.perception=mlp"),
    ],
    ids=["a pair", "accumulated", "a society", "generations", "shared"],
)
def test_an_update_by_public_steps_trains_like_ours(tmp_path, settings):
    """Also in societies, where gradients are means over pairs, and where agents are replaced."""
    (tmp_path / "own.py").write_text(OWN_UPDATE)
    weights = []
    for play in ("signalling", f"{tmp_path / 'own.py'}:Same"):
        trained(
            load_experiment("disc_tiny", [*SMALL, *settings, f"play={play}"]), tmp_path / str(len(weights))
        )
        weights.append(weights_of_corpus(tmp_path / str(len(weights)), print))
    assert weights[0].keys() == weights[1].keys()
    for name, weight in weights[0].items():
        torch.testing.assert_close(weights[1][name], weight, rtol=1e-4, atol=1e-6)


def test_an_own_loss_is_what_is_minimised(tmp_path):
    """With gradient descent, twice the loss is twice the rate."""
    (tmp_path / "own.py").write_text(OWN_UPDATE)
    weights = []
    for play, rate in (("signalling", 0.2), (f"{tmp_path / 'own.py'}:Twice", 0.1)):
        given = [*SMALL, f"play={play}", "optimizer=sgd", f"optimizer.lr={rate}"]
        trained(load_experiment("disc_tiny", given), tmp_path / str(rate))
        weights.append(weights_of_corpus(tmp_path / str(rate), print))
    for name, weight in weights[0].items():
        torch.testing.assert_close(weights[1][name], weight, rtol=1e-4, atol=1e-6)


HOOKS = """
import torch

def decay(play, step, measures):
    if step % 2:
        with torch.no_grad():
            for weight in play.module.parameters():
                weight.mul_(0.9)

def assigned(play, step, measures):
    if step % 2:
        for weight in play.module.parameters():
            weight.data = weight.data * 0.9

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


def hooked(tmp_path, name, *settings):
    (tmp_path / "hooks.py").write_text(HOOKS)
    return load_experiment(
        "disc_tiny", [*SMALL, f"training.after_step={tmp_path / 'hooks.py'}:{name}", *settings]
    )


@pytest.mark.parametrize("settings", [(), (f"play={PLAYS['policy']}",)], ids=["signalling", "own"])
def test_a_hook_changes_the_training_and_is_resumed_to_the_byte(tmp_path, settings):
    notes, runs = [], {}
    for name in ("decay", "assigned"):
        trained(hooked(tmp_path, name, *settings), tmp_path / name, notes=notes)
    unchecked = "only if the function depends only on its arguments, which is not checked"
    assert sum(unchecked in each for each in notes) == 2
    trained(hooked(tmp_path, "decay", *settings), tmp_path / "parts", stop_after=5)
    trained(hooked(tmp_path, "decay", *settings), tmp_path / "parts", resume=True)
    trained(load_experiment("disc_tiny", [*SMALL, *settings]), tmp_path / "without")
    for name in ("decay", "assigned", "parts", "without"):
        runs[name] = weights_of_corpus(tmp_path / name, print)
    for other in ("assigned", "parts"):
        assert all(torch.equal(weight, runs[other][name]) for name, weight in runs["decay"].items()), other
    assert not all(torch.equal(weight, runs["without"][name]) for name, weight in runs["decay"].items())
    assert (tmp_path / "decay" / "code").exists()
    assert "after_step" not in (tmp_path / "without" / "config.yaml").read_text()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("fails", r"hooks.py:17: ValueError: 3: ['accuracy', 'length', 'loss']"),
        ("gives", "hooks.py:19: training.after_step: expected to return None, got dict"),
        ("few", "hooks.py:22: TypeError: few() takes 1 positional argument but 3 were given"),
        ("Hook", "hooks.py:25: training.after_step: expected a function, got a class"),
        ("none", "hooks.py: has no none; it has decay, assigned, fails, gives, few, Hook"),
    ],
)
def test_errors_of_a_hook_are_a_line_with_its_file_and_line(ecsuite, tmp_path, name, message):
    (tmp_path / "hooks.py").write_text(HOOKS)
    settings = [word for each in SMALL for word in ("--set", each)]
    hook = ("--set", f"training.after_step=./hooks.py:{name}")
    code, out, err = ecsuite("train-game", "disc_tiny", *settings, *hook, "--out", "run", "--quiet")
    assert (code, out, err) == (2, "", f"./{message}\n")
    assert Path("run").exists() == (name == "fails")  # else before anything is written


def test_a_hook_is_named_by_its_file(ecsuite):
    code, _, err = ecsuite("config", "disc_tiny", "--set", "training.after_step=decay")
    expected = "expected a function of a file, such as ./mine.py:after_step, got decay"
    assert (code, err) == (2, f"--set: training.after_step: {expected}\n")
