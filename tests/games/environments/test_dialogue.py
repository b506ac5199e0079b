"""Dialogues: who speaks when, what scripted agents get, chance without messages, and runs that resume."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from ecsuite.corpus import SPEAKER
from ecsuite.eval.run_metrics import audit_information as audit_outsider
from ecsuite.eval.run_metrics.audit import audit
from ecsuite.formats import read_corpus
from ecsuite.games.config.experiment import load_experiment
from ecsuite.games.config.registry import ENVIRONMENTS
from ecsuite.games.environments.agents import ScriptedAgents
from ecsuite.games.environments.guess_who import GuessWho
from ecsuite.games.environments.task_and_talk import TaskAndTalk
from ecsuite.games.plays.play import make_play
from ecsuite.games.worlds.attributes import AttributeWorld
from ecsuite.parts.registry import Part, read_part
from ecsuite.runtime.errors import ConfigError
from stopped_runs import trained

SMALL = (
    "play.environment.turns=2", "channel.vocab_size=4",
    "training.num_examples=32", "training.batch_size=8", "training.num_epochs=2", "training.evaluate_every=3",
    "training.checkpoint_every=2", "evaluation.num_valid=8", "evaluation.corpus_size=20",
    "play.agents.hidden_size=8",
)  # fmt: skip


def environment(text):
    return ENVIRONMENTS.make(read_part(ENVIRONMENTS, [("", text)], "environment"))


def play_of(*settings):
    found = load_experiment("task_and_talk", settings)
    return make_play(found, torch.device("cpu"))


def scripted_reward(text, *, number=2000, deliver=None):
    """The mean reward of scripted agents."""
    play = play_of(f"play.environment={text}", "channel.vocab_size=4", "play.agents.forgetful=[]")
    agents = ScriptedAgents(play.environment, play.channel)
    episodes = play.play(
        np.arange(number), "greedy", play.noise("valid", 0), purpose="train", agents=agents, deliver=deliver
    )
    return episodes.returns.mean()


def severed(step, said, heard):
    return said, torch.full_like(heard, -1)


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ("", 1 / 16),
        (",reward=each", 1 / 4),
        (",mistake_cost=10", 1 / 16 - 10 * 15 / 16),
        (",reward=each,mistake_cost=2", 1 / 4 - 2 * 3 / 4),
    ],
)
def test_without_messages_the_reward_is_that_of_chance_and_with_them_1(more, expected):
    """An asker that hears nothing says the first values, which are right in 1 of 16, or each in 1 of 4."""
    text = f"task_and_talk,turns=2,num_asked=2{more}"
    assert environment(text).silent_reward == expected and scripted_reward(text) == 1
    assert scripted_reward(text, deliver=severed) == pytest.approx(expected, abs=0.25 if "cost" in more else 0.02)


def test_guess_who_is_solved_with_a_turn_an_attribute_and_feedback_helps():
    assert scripted_reward("guess_who,turns=3") == 1
    assert scripted_reward("feedback,turns=3") == 1
    # A single message tells one of four values, whether or not there is feedback.
    one, two = (scripted_reward(f"feedback,turns={turns},num_candidates=8") for turns in (1, 2))
    assert one < two < 1
    # Who does not know which attribute is told next is not better off with a further turn.
    assert scripted_reward("feedback,turns=2,num_candidates=8", deliver=no_feedback) < one + 0.03


def no_feedback(step, said, heard):
    return said, torch.where(torch.tensor([[[True], [False]]]), heard, -1)


@pytest.mark.parametrize(
    "settings",
    [
        ("play.environment.num_asked=2", "channel=gumbel,vocab_size=4,max_len=2,length=fixed"),
        (
            "play.environment={kind: guess_who, turns: 2, both_ask: true, reward: each}",
            "play.agents.forgetful=[]",
            "channel=reinforce,vocab_size=4,max_len=1,length=fixed",
            "play.learner.kind=policy_gradient",
        ),
    ],
    ids=["answers, gumbel", "guess who, reinforce"],
)
def test_a_dialogue_that_was_stopped_ends_with_the_same_bytes(settings, tmp_path):
    found = load_experiment("task_and_talk", [*SMALL, *settings])
    trained(found, tmp_path / "whole")
    assert trained(found, tmp_path / "parts", stop_after=3).stopped == "preempted"
    result = trained(found, tmp_path / "parts", resume=True)
    assert list(result.measures) == ["accuracy", "reward", "steps"]
    for file in ("corpus.jsonl", "meanings.jsonl", f"checkpoint-{result.step:09d}.safetensors"):
        assert (tmp_path / "parts" / file).read_bytes() == (tmp_path / "whole" / file).read_bytes()
    corpus = read_corpus(tmp_path / "whole")
    columns = [corpus.columns[name].tolist()[:5] for name in ("turn", SPEAKER, "step", "episode")]
    assert columns == [
        [1, 1, 2, 2, 1], ["asker", "answerer", "asker", "answerer", "asker"], [0, 1, 2, 3, 0], [0, 0, 0, 0, 1]
    ]  # fmt: skip


def test_an_audit_by_turn_says_what_each_turn_is_worth(monkeypatch):
    """Of scripted agents each turn has half of the answer: without one, the first value is said, right in one of 4."""
    monkeypatch.setattr(audit_outsider, "TRAINING", replace(audit_outsider.TRAINING, num_updates=1, every=1))
    play = play_of("play.environment={kind: task_and_talk, turns: 2, num_asked: 2, world: {num_values: 4}}")
    agents = ScriptedAgents(play.environment, play.channel)
    found = audit(play, agents=agents, num_episodes=400, num_draws=1, by="turn")
    rewards = {condition.name: condition.reward for condition in found.conditions}
    assert rewards["as said"] == found.scripted == 1
    for place in ("severed, turn 1", "severed, turn 2", "swapped, turn 2"):
        assert rewards[place] == pytest.approx(1 / 4, abs=0.15)
    assert rewards["severed"] < 0.15
    assert list(rewards)[6:] == [f"{how}, turn {turn}" for turn in (1, 2) for how in ("severed", "swapped")]
    with pytest.raises(ConfigError, match="this world has no turns"):
        riddle = play_of(
            "play.environment={kind: riddle}", "play.agents.forgetful=[]", "play.learner={kind: policy_gradient}"
        )  # fmt: skip
        audit(riddle, num_episodes=8, num_draws=1, by="turn")


class NobodyAsked(TaskAndTalk):
    """A dialogue that forgot its question."""

    def talk(self, seed, episodes):
        talk = super().talk(seed, episodes)
        return replace(talk, right=np.full_like(talk.right, -1))


def test_a_dialogue_in_which_nobody_is_asked_is_refused():
    dialogue = NobodyAsked(TaskAndTalk.Options(reward="each"))
    with pytest.raises(ConfigError, match="environment NobodyAsked: expected correct answers of shape"):
        dialogue.reset(1, np.arange(4))


def test_similar_distractors_give_the_object_away_without_a_message():
    """Of candidates that share two of three values with the object, it is in the middle."""
    world = Part("attributes", AttributeWorld.Options(num_attributes=3, num_values=4, shared_values=2))
    assert GuessWho(GuessWho.Options(num_candidates=4, world=world)).silent_accuracy > 0.9
    assert GuessWho(GuessWho.Options(num_candidates=4)).silent_accuracy == 0.25
