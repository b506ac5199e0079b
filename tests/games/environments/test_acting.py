"""Agents that act: runs that resume, corpora of what they say, sweeps, and settings that do not fit."""

import json

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from ecsuite.corpus import SPEAKER
from ecsuite.formats import read_corpus
from ecsuite.games.config.experiment import load_experiment
from ecsuite.games.config.registry import ENVIRONMENTS
from ecsuite.games.environments.broadcast import Broadcast
from ecsuite.games.environments.environment import AgentSpec, Environment, Moment
from ecsuite.games.environments.learners import PolicyGradient
from ecsuite.games.plays.play import make_play
from ecsuite.games.runs.run import load_run
from ecsuite.runtime import recording
from ecsuite.runtime.errors import ConfigError
from ecsuite.runtime.recording import Recorded
from stopped_runs import trained

SMALL = (
    "training.num_examples=32", "training.batch_size=8", "training.num_epochs=2", "training.evaluate_every=3",
    "training.checkpoint_every=2", "evaluation.num_valid=8", "evaluation.corpus_size=20",
    "play.agents.hidden_size=8",
)  # fmt: skip

VARIANTS = {
    "policy gradient": ("play.environment.num_steps=4", "play.learner.signalling=0.1"),
    "gumbel": (
        "play.environment=reference,num_steps=4", "channel=gumbel,vocab_size=4,max_len=2,length=fixed",
        "training.accumulate=2",
    ),
    "dial": (
        "play.environment=riddle", "play.learner=q_learning,refresh_every=3,discount=1", "channel=dru,word_size=2",
        "play.agents.is_shared=true", "play.agents.cell=rnn",
    ),
    "ppo": (
        "play.environment=reference,num_steps=4", "play.learner=ppo,num_updates=2", "play.length_cost=0.1",
        "channel=reinforce,vocab_size=4,max_len=2,length=variable", "training.accumulate=2",
        "play.agents.speaks_apart=true", "play.share_rewards=true", "play.learner.signalling_of=meanings",
    ),
    "broadcast": (
        "play.environment=reference,num_steps=4", "play.broadcasts=heard", "play.agents.is_shared=true",
    ),
    "grid": (
        "play.environment=guided_grid,size=3", "channel=quantized", "play.learner.signalling=0",
        "play.agents.forgetful=[walker]",
    ),
}  # fmt: skip


def experiment(*settings):
    return load_experiment("speaker_listener", [*SMALL, *settings])


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", VARIANTS)
def test_a_run_that_was_stopped_ends_with_the_same_bytes(name, tmp_path):
    if name == "ppo":
        pytest.importorskip("torchrl", reason="learner ppo needs torchrl")
    found = experiment(*VARIANTS[name])
    trained(found, tmp_path / "whole")
    assert trained(found, tmp_path / "parts", stop_after=3).stopped == "preempted"
    result = trained(found, tmp_path / "parts", resume=True)
    assert set(result.measures) == {"reward", "steps"} | ({"cost"} if name == "ppo" else set())
    for file in ("corpus.jsonl", "meanings.jsonl", "config.yaml", f"checkpoint-{result.step:09d}.safetensors"):
        assert (tmp_path / "parts" / file).read_bytes() == (tmp_path / "whole" / file).read_bytes()
    assert load_run(tmp_path / "whole").play.evaluate() == result.measures


DIALOGUE = "play.environment={kind: task_and_talk, turns: 1, world: {num_attributes: 2, num_values: 3}}"
RECORDED = {
    **{name: VARIANTS[name] for name in ("policy gradient", "gumbel", "dial", "grid")},
    "dialogue": (
        DIALOGUE, "play.learner=policy_gradient,baseline=none", "play.agents.cell=lstm",
        "play.agents.forgetful=[answerer]", "channel=reinforce,vocab_size=4,max_len=1,length=fixed",
    ),
    "costs": (
        "play.environment=reference,num_steps=3", "play.learner.signalling_of=meanings", "play.length_cost=0.1",
        "play.share_rewards=true", "channel=reinforce,vocab_size=3,max_len=2,length=variable",
        "play.agents.speaks_apart=true", "training.accumulate=2",
    ),
    "answers": (DIALOGUE, "play.learner=answers", "channel=reinforce,vocab_size=4,length=fixed,max_len=2"),
}  # fmt: skip


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", RECORDED)
def test_a_recorded_training_ends_with_the_same_bytes(name, tmp_path, monkeypatch):
    """In one that is not recorded, all agents decide at all steps: they may be needed."""
    monkeypatch.setattr(recording, "MAX_OTHER", 10**9)  # episodes may end at another step in each batch
    found, left = experiment("training.num_examples=24", *RECORDED[name]), {}
    for calls in (1, 10**9):
        monkeypatch.setattr(recording, "NUM_CALLS_BEFORE", calls)
        if calls > 1:
            monkeypatch.setattr(PolicyGradient, "needs_all", True)
        folder = tmp_path / str(calls)
        with monkeypatch.context() as patch:
            made = []
            patch.setattr(Recorded, "__init__", noted(Recorded.__init__, made))
            trained(found, folder)
        assert any(() in each.replays for each in made) == (calls == 1)
        checkpoint = max(folder.glob("checkpoint-*.safetensors"))
        weights = {key: tensor.numpy().tobytes() for key, tensor in load_file(checkpoint).items()}
        log = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
        measures = [(entry["train"], entry["valid"]) for entry in log]
        left[calls] = (weights, measures, (folder / "corpus.jsonl").read_bytes())
    assert left[1] == left[10**9]


def noted(begin, made):
    """A constructor that keeps what it makes in a list."""

    def begun(self, *arguments, **options):
        made.append(self)
        begin(self, *arguments, **options)

    return begun


def test_the_corpus_has_episodes_steps_speakers_actions_and_rewards(tmp_path):
    pyarrow = pytest.importorskip("pyarrow.parquet")
    found = experiment("play.environment=reference,num_steps=3", "evaluation.keep=[interactions]")
    trained(found, tmp_path)
    corpus = read_corpus(tmp_path)
    assert corpus.columns[SPEAKER].tolist()[:4] == ["agent_0", "agent_1", "agent_0", "agent_1"]
    assert corpus.columns["step"].tolist()[:7] == [0, 0, 1, 1, 2, 2, 0]
    assert corpus.columns["episode"].tolist()[5:7] == [0, 1] and len(corpus.messages) == 40
    assert corpus.attribute_names == ("goal",) and (corpus.columns["reward"] < 0).all()
    rows = pyarrow.read_table(tmp_path / "interactions.parquet").to_pylist()
    assert len(rows) == 8 * 3 * 2 and len(rows[0]["seen"]) == 11 and rows[0]["agent"] == "agent_0"
    # What an agent hears at a step is what the other one said before, as one of 3 symbols beside EOS.
    by_place = {(row["episode"], row["step"], row["agent"]): row for row in rows}
    said, heard = by_place[2, 0, "agent_1"]["message"], by_place[2, 1, "agent_0"]["heard"]
    assert heard == np.eye(4)[said[0]].tolist() and max(rows[0]["heard"]) == 0


@pytest.mark.parametrize(
    ("name", "options", "expected"),
    [
        ("guided_grid", {"size": 2}, 1 - 0.02 * 4 / 3),  # 8 of 12 pairs of cells are a step apart, 4 are two
        ("guided_grid", {"size": 2, "num_steps": 1, "cost": 0.1}, 8 / 12 - 0.1),
        ("riddle", {"num_prisoners": 2}, 1 / 2),  # both come within two days
        ("riddle", {"num_prisoners": 3}, 1 - 3 * (2 / 3) ** 6 + 3 * (1 / 3) ** 6),
        ("speaker_listener", {}, None),
    ],
)
def test_the_best_reward_with_all_in_view_is_as_by_hand(name, options, expected):
    world = ENVIRONMENTS.load(name)
    found = world(world.Options(**options)).oracle_reward
    assert found == (None if expected is None else pytest.approx(expected))


def test_a_speaker_is_seen_a_step_later():
    world = ENVIRONMENTS.load("speaker_listener")
    seeing = Broadcast(world(world.Options()), "heard")
    before = seeing.reset(1, np.arange(9))
    after, _ = seeing.step(before, np.zeros((9, 2), int))
    assert (before.observations[1][:, 8:] == 0).all()
    assert (after.observations[1][:, 8:] == before.observations[0]).all()
    assert [each.num_features for each in seeing.agents] == [3, 11]


class Wrong(Environment):
    """Says that the agent sees two things, and shows one."""

    agents = (AgentSpec(name="one", num_features=2, num_actions=2),)
    max_steps, attribute_names = 1, ("x",)

    def reset(self, seed, episodes):
        ones = np.ones((len(episodes), 1))
        return Moment(
            observations=(ones,), heard=-ones[:, :, None].astype(int), active=ones > 0, done=ones[:, 0] < 0,
            meanings=ones[:, :, None].astype(int),
        )  # fmt: skip

    def step(self, moment, actions):
        return moment, np.zeros((len(actions), 1))


def test_an_environment_that_is_not_as_it_says_is_refused(tmp_path):
    found = experiment()
    play = make_play(found, torch.device("cpu"))
    play.environment = Wrong(None)
    message = r"^environment Wrong: expected observations of one of shape \(8, 2\) from reset, got "
    with pytest.raises(ConfigError, match=message):
        play.evaluate()


SWEPT = {
    "play.environment": "guided_grid,size=2,num_steps=2", "play.agents.hidden_size": 4, "training.num_examples": 16,
    "training.num_epochs": 1, "training.batch_size": 8, "evaluation.num_valid": 8, "evaluation.corpus_size": 8,
    "channel.length": "variable", "play.length_cost": 0.1,
}  # fmt: skip


@pytest.mark.slow
def test_a_sweep_has_the_reward_of_each_setting(ecsuite, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    study = {"base": "guided_grid", "set": SWEPT, "vary": {"play.is_severed": [False, True]}, "seeds": [1]}
    (tmp_path / "study.yaml").write_text(json.dumps(study))
    code, out, _ = ecsuite("sweep", "study.yaml", "--out", "sweep")
    assert code == 0 and "reward" in out and "accuracy" not in out


def test_scripted_agents_and_silent_prisoners_are_as_by_hand():
    """Of two prisoners and two days, the one who is there on the second day alone cannot know: 1/2 - 1/2."""
    found = experiment("play.environment=guided_grid", "channel.vocab_size=5", "evaluation.num_valid=50")
    known = make_play(found, torch.device("cpu")).references()
    assert 0.85 < known["scripted agents"] < known["agents that see everything"] < 1
    riddle = ENVIRONMENTS.load("riddle")
    assert [riddle(riddle.Options(num_prisoners=number)).silent_reward for number in (2, 7)] == [0.5, None]


OWN_AGENTS = """from torch import nn

from ecsuite.games.environments.agents import RecurrentAgents

class Mine(RecurrentAgents):
    def __init__(self, options, *, environment, channel):
        super().__init__(options, environment=environment, channel=channel)
        self.norms = nn.ModuleList(nn.BatchNorm1d(spec.num_features) for spec in self.specs)

    def begin(self, batch):
        decide = super().begin(batch)
        return lambda agent, seen, heard, **more: decide(agent, self.norms[agent](seen), heard, **more)
"""


def test_evaluations_do_not_change_the_statistics_of_agents(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(OWN_AGENTS)
    play = make_play(experiment(f"play.agents={file}:Mine"), torch.device("cpu"))
    play.practised(torch.arange(8), 0)
    before = {name: each.clone() for name, each in play.state().items()}
    play.evaluate()
    play.corpus(play.experiment.evaluation)
    assert all(each.equal(before[name]) for name, each in play.state().items())
    assert play.agents.training and before["agents.norms.0.num_batches_tracked"] == 25
