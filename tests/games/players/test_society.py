"""Societies: pairs side by side as one by one, agents that share, are replaced, learn and imitate, and what is kept."""

import numpy as np
import pytest
import torch

from ecsuite.games.config.experiment import load_experiment
from ecsuite.games.config.sections import ROLES
from ecsuite.games.engine.optimizers import Optimise
from ecsuite.games.players.pair import StepResult, make_pair
from ecsuite.games.players.schedule import Meeting
from ecsuite.games.plays.evaluation import record_corpus
from ecsuite.games.plays.population import Population
from ecsuite.games.worlds.world import make_world
from ecsuite.runtime.errors import ConfigError
from stopped_runs import trained as train_until

TWO = ("society.senders=2", "society.receivers=2")


def society(experiment):
    """The society of an experiment."""
    torch.manual_seed(1)
    return Population.from_experiment(experiment, make_world(experiment))


def gradients(players, step=0):
    """Loss, gradients and buffers after a step."""
    played = players.train_on(step, step, 0)
    played.objective.backward()
    grads = {name: each.grad for name, each in players.named_parameters() if each.grad is not None}
    return float(played.objective.detach()), grads, dict(players.named_buffers())


@pytest.mark.slow
@pytest.mark.parametrize(
    "settings",
    [
        ("society.senders=2", "society.receivers=3"),
        ("society.senders=2", "society.receivers=3", "channel=reinforce"),
        (*TWO, "channel=reinforce,baseline=greedy"),
        (*TWO, "channel=variational"),
        ("society.agents=3", "channel=quantized"),
        (*TWO, "task=reconstruction"),
        (*TWO, "task=in_batch", "world.num_attributes=6", "sender.perception.dropout=0.2"),
    ],
)
def test_pairs_side_by_side_learn_as_one_after_the_other(small, settings):
    together, alone = society(small(*settings)), society(small(*settings))
    alone.engine.are_able = False
    found, expected = gradients(together), gradients(alone)
    assert together.engine.reason is None
    assert found[0] == pytest.approx(expected[0], rel=1e-5)
    for here, there in zip(found[1:], expected[1:], strict=True):
        assert here.keys() == there.keys()
        for name, each in here.items():
            torch.testing.assert_close(each, there[name], rtol=1e-4, atol=1e-6)


OWN_PERCEPTION = """from torch import nn

from ecsuite.agents.perception import LinearPerception

class Mine(LinearPerception):
    def __init__(self, options, **sizes):
        super().__init__(options, **sizes)
        self.append(nn.Dropout(0.5))
"""


def test_pairs_whose_parts_draw_from_global_generators_draw_one_by_one(small, tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(OWN_PERCEPTION)
    settings = (*TWO, "channel=soft", f"sender.perception={file}:Mine,size=12")
    together, alone = society(small(*settings)), society(small(*settings))
    alone.engine.are_able = False
    found = []
    for players, rate in ((together, 0.0), (together, 0.5), (alone, 0.5)):  # draws begin in the second step
        for sender in players.senders:
            sender.perception[-1].p = rate
        torch.manual_seed(1)
        found.append(gradients(players)[0])
        assert players.engine.are_able is (rate == 0)
    assert together.engine.reason == "a part draws from torch's global generators"
    assert found[1] == found[2]


@pytest.mark.parametrize("settings", [(), TWO], ids=["pair", "society"])
@pytest.mark.parametrize("evaluates", ["", "self[-1].train = lambda mode=True: self[-1]"], ids=["mean", "drawn"])
def test_draws_from_global_generators_are_repeated_after_a_stop(small, contents, tmp_path, settings, evaluates):
    """40 steps at once as 20 and 20, then killed before the corpus; also with dropout in evaluations."""
    file, whole, parts = tmp_path / "mine.py", tmp_path / "whole", tmp_path / "parts"
    file.write_text(f"{OWN_PERCEPTION}        {evaluates}\n")
    own = ("training.num_epochs=5", f"sender.perception={file}:Mine,size=12", "evaluation.metrics=topsim")
    experiment = small(*settings, *own)
    train_until(experiment, whole)
    assert train_until(experiment, parts, stop_after=20).step == 20
    for _ in range(2):
        torch.rand(1)
        train_until(experiment, parts, resume=True)
        assert contents(parts) == contents(whole)
        (parts / "metadata.json").unlink()
    assert len(contents(whole)["log.jsonl"]) == 10


def test_the_gradient_of_an_agent_is_the_mean_over_its_pairs(small):
    found = society(small("society.receivers=2"))  # the sender plays with both in a step
    pairs = [found.pair(0, 0), found.pair(0, 1)]
    batches = [found.world.batch("train", place) for place in (0, 1)]
    noises = found.noises(0, [0, 1])
    alone = []
    for pair, batch, noise in zip(pairs, batches, noises, strict=True):
        found.zero_grad()
        pair.play(batch, "train", noise).objective.backward()
        alone.append(next(found.senders[0].parameters()).grad.clone())
    found.zero_grad()
    gradients(found)
    found.scale_gradients(0)
    mean = torch.stack(alone).mean(0)
    torch.testing.assert_close(next(found.senders[0].parameters()).grad, mean, rtol=1e-4, atol=1e-6)


GENERATIONS = (
    *TWO, "generations.every=8", "generations.transmit=true", "generations.size=64", "generations.sender_steps=2",
    "generations.receiver_steps=2", "generations.which=oldest",
)  # fmt: skip


@pytest.mark.sample(1)
@pytest.mark.parametrize("settings", [GENERATIONS, (*TWO, "society.imitate_every=5", "society.voting=true")])
def test_a_run_that_is_stopped_anywhere_ends_with_the_same_bytes(small, run, tmp_path, settings):
    experiment, stopped = small(*settings), "preempted"
    run(experiment, tmp_path / "whole")
    while stopped == "preempted":  # while new agents learn, and while they play
        stopped = train_until(experiment, tmp_path / "parts", resume=True, stop_after=12).stopped
    names = sorted(file.name for file in (tmp_path / "whole").glob("*.safetensors"))
    for name in (names[-1], "corpus.jsonl", "speaker.jsonl"):
        assert (tmp_path / "whole" / name).read_bytes() == (tmp_path / "parts" / name).read_bytes(), name


@pytest.mark.slow
def test_a_new_sender_learns_the_messages_of_the_one_it_replaces(small):
    settings = (
        "generations.every=400", "generations.transmit=true", "generations.size=250",
        "generations.sender_steps=120", "generations.roles=senders", "generations.sampled=false",
    )  # fmt: skip
    found = society(small(*settings, "channel.max_len=2"))
    updates = Optimise(small("optimizer.lr=0.03").optimizer, found)
    before = record_corpus(found, small()).messages.values
    found.train()
    found.begin_step(400, updates.optimizer)
    assert (record_corpus(found, small()).messages.values != before).any()
    found.train()
    for step in range(400, 520):
        found.zero_grad()
        played = found.train_on(step, step, 0)
        played.objective.backward()
        updates.step()
    assert played.measures["learning"] == 1
    assert float(played.measures["learning_loss"]) < 0.1
    assert (record_corpus(found, small()).messages.values == before).mean() > 0.9


def test_new_receivers_may_learn_from_a_sender_that_does_not_change(small):
    settings = (
        "society.senders=2", "society.receivers=3", "generations.every=9", "generations.transmit=true",
        "generations.size=16", "generations.sender_steps=1", "generations.receiver_steps=4",
        "generations.batch_size=4", "generations.receivers_learn=sender", "generations.which=oldest",
    )  # fmt: skip
    found = society(small(*settings, "channel=reinforce"))
    updates = Optimise(small("optimizer.lr=0.01").optimizer, found)
    for step in (9, 10):
        found.begin_step(step, updates.optimizer)
        before = {name: each.detach().clone() for name, each in found.named_parameters()}
        found.zero_grad()
        played = found.train_on(step, step, 0)
        played.objective.backward()
        found.scale_gradients(step)
        updates.step()
        changed = [name for name, each in found.named_parameters() if (each != before[name]).any()]
        assert {".".join(name.split(".")[:2]) for name in changed} == (
            {"agents.0"} if step == 9 else {"agents.2"}  # the first sender, the first receiver
        )
        assert played.measures["learning"] == 1
        assert set(played.measures) == {"learning", "learning_loss"}


@pytest.mark.slow
def test_imitation_makes_senders_alike(small):
    found = society(small("society.senders=3", "society.imitate_every=1", "channel.max_len=2"))
    updates = Optimise(small("optimizer.lr=0.03").optimizer, found)
    found.recent.copy_(torch.tensor([0.1, 0.9, 0.5]))
    for step in range(1, 120):
        found.zero_grad()
        found.train_on(step, step, 0).objective.backward()
        updates.step()
    corpus = record_corpus(found, small())
    first, best, last = (corpus.where("speaker", place).messages.values.tolist() for place in range(3))
    assert np.mean(np.array(first) == best) > 0.9
    assert np.mean(np.array(last) == best) > 0.9


def test_agents_that_share_a_perception_have_one(small):
    sharing = ("society.agents=2", "society.shares=perception")
    settings = (*sharing, *(f"{role}.perception=tanh,size=9" for role in ROLES))
    with pytest.raises(ConfigError, match="weights of the same shapes"):
        society(small(*sharing))
    for role in ROLES:
        with pytest.raises(ConfigError, match=rf"society.shares: .* expected training.freeze_{role}=false"):
            society(small(*settings, f"training.freeze_{role}=true"))
    found = society(small(*settings))
    assert found.senders[1].perception is found.receivers[1].perception
    gradients(found)
    found.scale_gradients(0)


@pytest.mark.slow
def test_four_by_four_agents_understand_each_other(tmp_path, run):
    experiment = load_experiment("disc_tiny", ["society.senders=4", "society.receivers=4"])
    assert run(experiment, tmp_path / "run").measures["lowest_accuracy"] >= 0.9


def test_agents_that_hear_themselves_learn_as_one_alone_would():
    perceptions = (f"{role}.perception=mlp,size=8" for role in ROLES)
    sharing = ("society.agents=2", "society.shares=both", "society.self_play_every=2")
    players = society(load_experiment("disc_tiny", [*sharing, *perceptions]))
    for step, hears_itself in ((1, True), (2, False)):
        assert {each.sender == each.receiver for each in players.schedule.of_step(step)} == {hears_itself}
    assert all(each.listener.network.embed is each.speaker.network.embed for each in players.agents)
    weights, alone = list(players.parameters()), []
    together = players.train_on(0, 1, 0, lambda objective: torch.autograd.grad(objective, weights))
    for agent in range(2):
        batch, noise = players.world.batch("train", agent), players.noises(0, [agent])[0]
        alone.append(players.pair(agent, agent).play(batch, "train", noise).objective)
    expected = torch.autograd.grad(alone[0] + alone[1], weights)
    assert all(torch.equal(*each) for each in zip(together.gradients, expected, strict=True))


def test_sender_and_receiver_0_begin_as_a_pair_does(small):
    torch.manual_seed(1)
    pair = make_pair(small(), make_world(small()))
    found = society(small(*TWO)).pair(0, 0).state_dict()
    for name, each in pair.state_dict().items():
        torch.testing.assert_close(found[name], each, rtol=0, atol=0)
    senders = society(small(*TWO)).senders
    assert any((a != b).any() for a, b in zip(senders[0].parameters(), senders[1].parameters(), strict=True))


def test_who_is_replaced_begins_anew_and_others_stay(small):
    settings = ("generations.every=3", "generations.which=oldest", "generations.roles=senders")
    found = society(small(*TWO, *settings))
    before = {name: each.clone() for name, each in found.state_dict().items()}
    updates = Optimise(small().optimizer, found)
    for step in range(3):
        gradients(found, step)
        updates.step()
    trained = {name: each.clone() for name, each in found.state_dict().items()}
    found.begin_step(3, updates.optimizer)
    for name, each in found.state_dict().items():
        if name.startswith("agents.0.speaker.network"):
            assert (each != before[name]).any() and (each != trained[name]).any()
        elif name.startswith(("agents.1.", "agents.2.", "agents.3.")):
            assert (each == trained[name]).all()
    assert found.first_steps.tolist() == [3, 0, 0, 0]
    assert not any(each in updates.optimizer.state for each in found.senders[0].parameters())


@pytest.mark.parametrize(("which", "expected"), [("oldest", [[0], [1], [2], [0]]), ("all", [[0, 1, 2]] * 4)])
def test_the_oldest_are_replaced_in_turn(small, which, expected):
    found = society(small("society.senders=3", "generations.every=9", f"generations.which={which}"))
    assert [found.generations.replaced("sender", number).tolist() for number in (1, 2, 3, 4)] == expected


def test_the_accuracy_of_late_is_mostly_that_of_before(small):
    """One lucky batch makes no teacher (Chaabouni et al. 2022, table 3)."""
    found = society(small("society.senders=2", "society.receivers=1", "society.imitate_every=50"))
    found.recent.copy_(torch.tensor([0.5, 0.0]))
    measures = {"accuracy": torch.tensor(1.0)}
    played = StepResult(objective=torch.zeros(()), measures=measures)
    found.imitation.note([Meeting(0, 0), Meeting(1, 0)], [played, played])
    assert found.recent.tolist() == pytest.approx([0.505, 0.01])


def test_a_student_learns_from_the_best_of_those_drawn_and_the_best_never_learns(small):
    found = society(small("society.senders=4", "society.imitate_every=1", "society.students=1"))
    learnt = set()
    found.recent.copy_(torch.tensor([0.1, 0.4, 0.2, 0.3]))
    for step in range(1, 40):
        found.zero_grad()
        found.train_on(step, step, 0).objective.backward()
        grads = [next(each.parameters()).grad for each in found.senders]
        learnt |= {place for place, grad in enumerate(grads) if grad is not None}
    assert learnt == {0, 2, 3}
