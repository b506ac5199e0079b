"""An audit tells agents that use messages from those that say them in vain, and from those that hear nothing."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch

from ecsuite.agents.message import PAD
from ecsuite.eval.run_metrics import audit_information as audit_outsider
from ecsuite.eval.run_metrics.audit import Audit, Condition, _of_whoever_speaks, audit, report
from ecsuite.eval.statistics.estimates import NO_INTERVAL, paired_difference
from ecsuite.games.config.experiment import load_experiment
from ecsuite.games.environments.agents import ScriptedAgents
from ecsuite.games.environments.episodes import Decision
from ecsuite.games.plays.play import make_play
from ecsuite.runtime.errors import ConfigError


@pytest.fixture(autouse=True)
def few_updates(monkeypatch):
    """Outsiders who learn nothing, where nothing is said of them."""
    monkeypatch.setattr(audit_outsider, "TRAINING", replace(audit_outsider.TRAINING, num_updates=1, every=1))


GRID = ("play.environment=guided_grid,size=3,num_steps=6", "channel.vocab_size=5", "play.agents.hidden_size=8")


def grid(*settings):
    return make_play(load_experiment("speaker_listener", [*GRID, *settings]), torch.device("cpu"))


class Deaf(ScriptedAgents):
    """The walker walks in circles, whatever the guide says."""

    def begin(self, batch):
        decide, steps = super().begin(batch), []

        def deaf(agent, seen, heard, *, keeps=True):
            decision = decide(agent, seen, heard, keeps=keeps)
            if agent == 1:
                move = torch.eye(5)[[1, 4, 2, 3][len(steps) % 4]].expand(batch, -1)
                decision = type(decision)(scores=50 * move, logits=decision.logits)
                steps.extend([0] * keeps)
            return decision

        return deaf


class Babbling(ScriptedAgents):
    """The guide says anything, and the walker does it."""

    def begin(self, batch):
        decide, rng = super().begin(batch), np.random.default_rng(1)

        def babbling(agent, seen, heard, *, keeps=True):
            decision = decide(agent, seen, heard, keeps=keeps)
            said = torch.eye(6)[rng.integers(1, 6, size=batch)]
            return decision if agent else type(decision)(scores=decision.scores, logits=50 * said)

        return babbling


def told(found, kind):
    return {each.about: each for each in found.told if each.kind == kind}


def test_agents_that_use_what_is_said():
    play = grid("channel.length=variable", "play.length_cost=0.5")
    scripted = ScriptedAgents(play.environment, play.channel)
    found = audit(play, agents=scripted, num_episodes=64, num_draws=99)
    # The guide says something at each step, and the cost is the mean of both agents.
    steps = play.play(np.arange(64), "greedy", play.noise("audit", 0), purpose="audit", agents=scripted).alive
    assert found.conditions[0].cost == 0.5 * steps.sum() / 64 / 2
    assert report(found).tables[0].columns[3].heading == "less cost"
    rewards = {each.name: each.reward for each in found.conditions}
    assert rewards["as said"] == found.scripted > 0.8
    assert all(rewards[name] < 0.1 for name in ("severed", "swapped", "constant", "own last"))
    assert rewards["shuffled in time"] > 0.9  # moves in another order lead to the same place
    (signalled,), (influence,) = told(found, "signalling").values(), told(found, "influence").values()
    assert signalled.value > signalled.null and signalled.p_value == 0.01
    # Each of the moves that are said at all is made where it is heard: as many bits as the guide's words have.
    assert 1.5 < influence.value <= np.log2(5) and influence.null is None
    assert found.conclusion.startswith("Messages matter: with messages of other episodes the reward is ")
    json.dumps(found.to_json(), allow_nan=False)


def test_agents_that_say_what_they_see_to_nobody_or_that_obey_noise_or_hear_nothing():
    play = grid()
    found = audit(play, agents=Deaf(play.environment, play.channel), num_episodes=64, num_draws=99)
    assert {each.loss.mean for each in found.conditions[1:]} == {0.0}
    assert [each.value for each in told(found, "influence").values()] == [0.0]
    assert [each.p_value for each in told(found, "signalling").values()] == [0.01]
    assert found.conclusion.startswith("Messages depend on what speakers see, but change no action")
    found = audit(play, agents=Babbling(play.environment, play.channel), num_episodes=64, num_draws=99)
    assert [each.p_value > 0.05 for each in told(found, "signalling").values()] == [True]
    # To walk at random is better than to stand still, whatever was said.
    assert found.conclusion.startswith("Messages matter, but not their content: severed, the reward is ")
    play = grid("play.is_severed=true")
    found = audit(play, agents=ScriptedAgents(play.environment, play.channel), num_episodes=32)
    assert found.conclusion == "No message reaches an agent, so messages can't matter."
    assert {each.loss.mean for each in found.conditions[1:]} == {0.0} and found.scripted > 0.8


class Obedient:
    """A prisoner in the room tells that all were there if it hears the first symbol; both are said as often."""

    def begin(self, batch):
        rng = np.random.default_rng(1)

        def obedient(agent, seen, heard, *, keeps=True):
            told = (heard[:, 0, 1] > 0) & (seen[:, 0] > 0)  # (batch,)
            said = torch.eye(3)[rng.integers(1, 3, size=batch)]
            return Decision(scores=50.0 * torch.stack([~told, told], 1).float(), logits=50.0 * said)

        return obedient


def test_influence_is_that_on_actions_that_count_where_something_arrives():
    """Who is not in the room hears nothing, and what it would do changes nothing: a bit at each step that counts."""
    settings = ["channel=reinforce,vocab_size=2,max_len=1,length=fixed", "play.learner=policy_gradient"]
    play = make_play(load_experiment("riddle", settings), torch.device("cpu"))
    influence = told(audit(play, agents=Obedient(), num_episodes=64, num_draws=9), "influence")
    assert len(influence) == 3 and all(0.98 < each.value <= 1 for each in influence.values())


@pytest.mark.slow
def test_messages_that_tell_nothing_but_how_often_an_agent_spoke():
    """Also where agents speak as often as chance will have it: p-values are uniform."""
    rng, p_values = np.random.default_rng(3), []
    for _ in range(150):
        counts = rng.random((6, 40)) < rng.random(40)
        said = np.where(rng.random(counts.shape) < 0.5, counts.cumsum(0), rng.integers(0, 6, counts.shape))
        meant = 3 * counts.sum(0) + rng.integers(0, 3, counts.shape)
        rows = audit_outsider._Rows(counts, rng, 19)
        found = audit_outsider._information("signalling", "", rows.of(said), rows.of(meant), rows)
        p_values.append(found.p_value)
    assert 0.4 < np.mean(p_values) < 0.6 and np.mean(np.array(p_values) <= 0.05) < 0.1


def test_what_is_read_of_messages():
    # Messages of an agent are known at steps at which others speak, too.
    said = np.array([1, 2, 3, 4])[:, None, None, None]
    speaking = np.array([True, False, True, True])[:, None, None]
    last, earlier = audit_outsider._said_before(said, speaking)
    assert last.ravel().tolist() == [0, 1, 1, 3] and earlier.ravel().tolist() == [0, 0, 0, 1]
    said = torch.arange(1.0, 7.0).view(3, 1, 2, 1)  # 3 steps of an episode, 2 agents
    speaking = np.array([[[True, False]], [[False, True]], [[False, False]]])
    assert _of_whoever_speaks(said, speaking).flatten().tolist() == [1, 1, 4, 4, 0, 0]
    said = np.array([[[1, 2]], [[3, PAD]], [[5, 1]], [[2, PAD]], [[4, 4]]])  # (steps, batch, max_len)
    texts = audit_outsider._texts(said, np.array([0, 1, 4]), np.zeros(3, int))
    assert texts.tolist() == [
        [1, 2, 0, PAD, PAD, PAD, PAD, PAD, PAD], [1, 2, 3, 0, PAD, PAD, PAD, PAD, PAD], [3, 5, 1, 2, 4, 4, 0, PAD, PAD],
    ]  # fmt: skip


def test_of_many_speakers_one_may_seem_to_say_something_by_chance():
    """At 1 % and 3 % of shuffles: of two speakers one says something, of five none."""
    found = audit(grid(), agents=Babbling(grid().environment, grid().channel), num_episodes=16)
    row = audit_outsider.Told(kind="signalling", about="what one says", value=0.1, null=0.05)
    others = [each for each in found.told if each.kind != "signalling"]
    alike = [replace(each.loss, judged="not significant") for each in found.conditions[1:]]
    as_used = [replace(each, loss=loss) for each, loss in zip(found.conditions[1:], alike, strict=True)]
    for num_others, says in ((1, True), (5, False)):
        rows = [replace(row, p_value=0.02), *[replace(row, p_value=0.6)] * num_others]
        told = audit_outsider.with_correction(rows)
        changed = replace(found, conditions=[found.conditions[0], *as_used], told=[*told, *others])
        assert told[0].p_holm == pytest.approx(0.02 * (1 + num_others))
        assert changed.conclusion.startswith("Messages depend on what speakers see") == says


def test_the_table_the_picture_and_what_is_refused(ecsuite, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    settings = [
        "play.environment=guided_grid,size=2,num_steps=2", "play.agents.hidden_size=4", "training.num_examples=8",
        "training.num_epochs=1", "training.batch_size=8", "evaluation.num_valid=8", "evaluation.corpus_size=8",
    ]  # fmt: skip
    arguments = [piece for setting in settings for piece in ("--set", setting)]
    assert ecsuite("train-game", "speaker_listener", "--out", "run", "-q", *arguments)[0] == 0
    code, out, err = ecsuite("audit", "run", "--episodes", "8", "--plot", "a.svg")
    assert (code, err) == (0, "") and "swapped" in out and (tmp_path / "a.svg").is_file()
    assert "play.broadcasts=heard" in out and "get 0.9733 per episode" in out  # 1 - 0.02 * 4 / 3
    code, out, err = ecsuite("audit", "run", "--episodes", "4")
    assert code == 2 and "8" in err and err.count("\n") == 1
    code, out, err = ecsuite("audit", "nowhere")
    assert code == 2 and err == "nowhere: no such file or folder\n"
    with pytest.raises(ConfigError, match=r"^--episodes: expected at least 8, got 4$"):
        audit(grid(), num_episodes=4)


@pytest.mark.slow
def test_outsiders_read_what_no_linear_model_does(monkeypatch):
    """Whether the last two messages are alike: nothing of it is in either alone, nor in their sum."""
    training = replace(audit_outsider.TRAINING, num_updates=150, every=150, lr=0.02)
    monkeypatch.setattr(audit_outsider, "TRAINING", training)
    rng = np.random.default_rng(1)
    said = rng.integers(1, 3, (6, 100, 1))
    alike = np.concatenate([said[:1, :, 0] * 0, said[1:, :, 0] == said[:-1, :, 0]]).astype(int)
    counts, last = np.ones((6, 100), bool), np.full(100, 5)
    counts[0] = False
    wanted = np.stack([alike, 0 * alike], 2)
    (found,) = audit_outsider._read(said, wanted, counts, ["alike", "constant"], last, rng)
    assert found.about == "alike" and found.value > 0.95 and 0.3 < found.null < 0.7
    both = np.concatenate([said, np.roll(said, 1, axis=0)], 2).astype(float)
    rows = audit_outsider._Rows(counts, rng, 1)
    (linear,) = audit_outsider._reading(["alike"], rows.of(both), rows.of(alike[..., None]), rows)
    assert linear.value < 0.7


def test_equal_rewards_have_no_interval():
    equal = Condition(name="as said", reward=2.0, half_width=None, cost=None, loss=None)
    loss = replace(paired_difference(np.full(3, 0.5)), p_holm=None)
    found = Audit(
        conditions=[equal, *(replace(equal, name=name, loss=loss) for name in ("swapped", "severed"))],
        told=(), scripted=None, oracle=None, num_episodes=3, is_heard=True,
    )  # fmt: skip
    shown = report(found)
    assert "0.500" in str(shown.tables[0]) and "±" not in str(shown.tables[0]) and NO_INTERVAL in shown.notes
