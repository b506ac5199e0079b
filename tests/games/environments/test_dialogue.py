"""Dialogues: who speaks when, what scripted agents get, chance without messages, and runs that resume."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from stopped_runs import trained

from ecsuite.corpus import SPEAKER
from ecsuite.eval.run_metrics import audit_information as audit_outsider
from ecsuite.eval.run_metrics.audit import audit
from ecsuite.formats import read_corpus
from ecsuite.games.config.experiment import load_experiment
from ecsuite.games.config.registry import ENVIRONMENTS
from ecsuite.games.environments.agents import ScriptedAgents
from ecsuite.games.environments.environment import PURPOSES
from ecsuite.games.environments.guess_who import GuessWho
from ecsuite.games.environments.task_and_talk import TaskAndTalk
from ecsuite.games.plays.acting import severed
from ecsuite.games.plays.play import make_play
from ecsuite.games.worlds.attributes import AttributeWorld
from ecsuite.parts.registry import Part, read_part
from ecsuite.runtime.errors import ConfigError

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


def scripted_reward(text, *, vocab_size=4, number=2000, deliver=None):
    """The mean reward of scripted agents."""
    play = play_of(f"play.environment={text}", f"channel.vocab_size={vocab_size}", "play.agents.forgetful=[]")
    agents = ScriptedAgents(play.environment, play.channel)
    episodes = play.play(
        np.arange(number), "greedy", play.noise("valid", 0), purpose="train", agents=agents, deliver=deliver
    )
    return episodes.returns.mean()


def test_scripted_agents_that_ask_and_tell_solve_task_and_talk():
    assert scripted_reward("task_and_talk,turns=2,num_asked=2,mistake_cost=10") == 1
    assert scripted_reward("task_and_talk,num_asked=3,turns=3") == 1
    assert scripted_reward("task_and_talk,turns=2,num_asked=2,reward=each") == 1


def test_without_messages_the_reward_is_that_of_chance():
    """An asker that hears nothing says the first values, which are right in 1 of 16, or each in 1 of 4."""
    for text, expected in (
        ("task_and_talk,turns=2,num_asked=2", 1 / 16),
        ("task_and_talk,turns=2,num_asked=2,reward=each", 1 / 4),
        ("task_and_talk,turns=2,num_asked=2,mistake_cost=10", 1 / 16 - 10 * 15 / 16),
        ("task_and_talk,turns=2,num_asked=2,reward=each,mistake_cost=2", 1 / 4 - 2 * 3 / 4),
    ):
        assert environment(text).silent_reward == expected
        assert scripted_reward(text, deliver=severed) == pytest.approx(
            expected, abs=0.25 if "cost" in text else 0.02
        )
    assert environment("guess_who,num_candidates=5,both_ask=true").silent_accuracy == pytest.approx(1 / 25)
    assert environment("guess_who,num_candidates=5,mistake_cost=1").silent_reward == pytest.approx(
        1 / 5 - 4 / 5
    )
    assert scripted_reward("guess_who", deliver=severed) == pytest.approx(1 / 4, abs=0.03)


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


def test_agents_speak_in_turn_and_answer_at_the_end():
    world = environment("task_and_talk,turns=1")
    moment = world.reset(1, np.arange(5))
    speakers, answering = [], []
    while not moment.done.all():
        speakers.append(moment.speaking[0].tolist())
        answering.append(moment.acting[0].tolist())
        moment, _ = world.step(moment, np.zeros((5, 2), np.int64))
    assert speakers == [[True, False], [False, True], [False, False], [False, False]]
    assert answering == [[False, False], [False, False], [True, False], [True, False]]


def test_where_both_ask_each_speaks_of_its_own_object_and_of_that_of_the_other():
    """A describer of its own object names what the other is to find, whichever of the two it is."""
    world = environment("guess_who,both_ask=true,num_candidates=3,world=attributes")
    moment = world.reset(5, np.arange(50))
    width = world.rounds.of(0).object_shape[0]
    number = len(world.attribute_names) // 2
    for agent in (0, 1):
        seen = moment.observations[agent]
        own = (
            (seen[:, 3 * width : 4 * width] if agent == 0 else seen[:, :width])
            .reshape(50, number, -1)
            .argmax(2)
        )
        assert np.array_equal(moment.meanings[:, agent, :number], own)
        assert np.array_equal(moment.meanings[:, 1 - agent, number:], own)
    assert world.attribute_names[0].startswith("own_") and not np.array_equal(
        *moment.meanings.transpose(1, 0, 2)
    )


def test_held_out_objects_are_in_evaluations_alone():
    part = read_part(
        ENVIRONMENTS,
        [("", {"kind": "task_and_talk", "world": {"kind": "attributes", "num_attributes": 3, "num_values": 3,
                                                  "held_out": 0.2}})],
        "environment",
    )  # fmt: skip
    world = ENVIRONMENTS.make(part)
    about = {
        purpose: {tuple(row[:3]) for row in world.talk(7, np.arange(400) + PURPOSES[purpose]).about}
        for purpose in ("train", "valid", "seen", "corpus", "audit")
    }
    assert about["train"] == about["seen"] and not about["train"] & about["valid"]
    assert about["corpus"] == about["train"] | about["valid"] and about["audit"] == about["valid"]
    assert len(about["valid"]) == 5 and world.other_purposes == {"seen objects": "seen"}
    episodes = np.arange(400) + PURPOSES["corpus"]
    held_out = [tuple(row[:3]) in about["valid"] for row in world.talk(7, episodes).about]
    assert world.columns(7, episodes)["split"].tolist() == np.where(held_out, "held_out", "train").tolist()


@pytest.mark.parametrize("both_ask", [False, True])
def test_a_dialogue_is_of_the_held_out_split_if_one_of_its_objects_is(both_ask, tmp_path):
    environment = (
        f"{{kind: guess_who, turns: 1, both_ask: {both_ask}, num_candidates: 2, world: {{kind: attributes,"
    )
    found = load_experiment("task_and_talk", [
        *SMALL, f"play.environment={environment} num_attributes: 2, num_values: 3, held_out: 0.3}}}}",
        "evaluation.corpus_size=200",
    ])  # fmt: skip
    play = make_play(found, torch.device("cpu"))
    corpus = play.corpus(found.evaluation)
    held_out, rounds = corpus.columns["split"] == "held_out", play.environment.rounds
    world, width = rounds.of(found.training.seed), corpus.meanings.shape[1] // (1 + both_ask)
    known = world.objects.values(world.subsets.members["valid"]).tolist()
    objects = corpus.meanings.reshape(len(corpus.meanings), -1, width).tolist()
    assert held_out.tolist() == [any(each in known for each in row) for row in objects]
    assert 0.2 < held_out.mean() < 0.8


def test_without_held_out_objects_there_is_no_split():
    found = load_experiment(
        "task_and_talk", ["play.environment={kind: guess_who, world: {kind: attributes, held_out: 0}}"]
    )
    world = ENVIRONMENTS.make(found.play.options.environment)
    assert dict(world.columns(1, np.arange(4))) == {}


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


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (("play.environment.turns=0",), "play.environment.turns: expected"),
        (("play.environment.num_symbols=[3]",), "num_symbols: expected one number for each of the two agents, got 1"),
        (("play.environment.num_asked=4",), "num_asked: expected at most the 3 attributes of an object, got 4"),
        (("play.environment.world=shapeworld",), "expected a world of objects that are values or vectors"),
        (("play.learner=answers", "play.environment={kind: riddle}", "play.agents.forgetful=[]"), "Riddle does not"),
        (("play.environment.num_symbols=[3,9]",), "an agent has 9 symbols: expected channel.vocab_size"),
        (
            (
                "play.environment={kind: guess_who, world: {kind: attributes, num_attributes: 2, num_values: 2}, "
                "num_candidates: 5}",
                "play.agents.forgetful=[]",
            ),
            "in valid: lower play.environment.num_candidates",
        ),
    ],
    ids=[
        "no turns", "one agent's symbols", "attributes that are not there", "images", "no right answers", "9",
        "candidates",
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused(settings, message, tmp_path):
    with pytest.raises(ConfigError, match=message):
        trained(load_experiment("task_and_talk", [*SMALL, *settings]), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_an_audit_by_turn_says_what_each_turn_is_worth(monkeypatch):
    """Of scripted agents each turn has half of the answer: without one, the first value is said, right in one of 4."""
    monkeypatch.setattr(audit_outsider, "TRAINING", replace(audit_outsider.TRAINING, num_updates=1, every=1))
    play = play_of(
        "play.environment={kind: task_and_talk, turns: 2, num_asked: 2, world: {kind: attributes, num_values: 4}}"
    )
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
            "play.environment={kind: riddle}",
            "play.agents.forgetful=[]",
            "play.learner={kind: policy_gradient}",
        )
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


def test_what_the_world_holds_out_is_told_before_the_training(tmp_path):
    held_out = "play.environment.world.held_out=0.25"
    settings = ["play.environment=guess_who,num_candidates=3", held_out, "training.num_examples=32"]
    experiment = load_experiment(
        "task_and_talk", [*settings, "play.environment.world.candidates=split", "play.agents.hidden_size=8"]
    )
    notes = []
    make_play(experiment, torch.device("cpu")).check(tmp_path, notes.append)
    assert any("objects are held out from training" in line for line in notes)
    assert any("the combination is not tested" in line for line in notes)
