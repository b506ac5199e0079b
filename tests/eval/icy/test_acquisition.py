"""Acquisition of a language of nine meanings: deterministic, and independent of other runs and of the learner."""

from dataclasses import replace

import pytest
import torch

from ecsuite.agents.message import Message
from ecsuite.eval.icy import acquisition, agents
from ecsuite.eval.icy.acquisition import LanguageDataset, RunGroup, TrainingRun, learn, most_runs
from ecsuite.eval.icy.agents import make_agent, parse_model
from ecsuite.eval.icy.protocol import Protocol
from ecsuite.grammars.geometry import Geometry
from ecsuite.grammars.icy import language, majority_accuracy

GEOMETRY = Geometry(num_attributes=2, num_values=3, word_length=2, vocab_size=4)
PROTOCOL = Protocol(hidden_size=16, batch_size=32, lr=1e-2, window=5)
SENDERS = ["lstm", "gru-2l", "rnn-z", "husenda:rnn", "husendz:dgsend", "fc1l", "fc2l", "sru", "transformer"]
RECEIVERS = ["gru", "dgrecv", "sru", "hier:gru", "cnn", "fc1l", "fc2l"]
CONCAT = TrainingRun(grammar="concat", seed=123, cap=400)


def learnt(model, *runs, role="sender", protocol=PROTOCOL, geometry=GEOMETRY, **options):
    """The outcomes in the order of the runs."""
    outcomes = dict(learn(model, role, geometry, runs, protocol, **options))
    return [outcomes[index] for index in range(len(runs))]


@pytest.mark.sample(5)
@pytest.mark.parametrize(
    ("role", "model"),
    [*(("sender", model) for model in SENDERS), *(("receiver", model) for model in RECEIVERS)],
)
def test_every_agent_acquires_a_small_language(role, model):
    (outcome,) = learnt(model, CONCAT, role=role)
    assert (outcome.grammar, outcome.seed) == ("concat", 123)
    assert outcome.reached
    assert not outcome.is_early
    assert 0 < outcome.steps < 200
    assert 0.8 <= outcome.accuracy <= 1
    assert outcome.held_out is None


def test_a_hashtable_stores_nine_meanings_within_a_few_batches():
    """A batch of 32 misses (8/9)^32 = 2 % of nine meanings."""
    (outcome,) = learnt("hashtable", CONCAT, protocol=replace(PROTOCOL, window=1))
    assert outcome.reached and outcome.steps <= 2 and outcome.weights == {}


@pytest.mark.sample(2)
@pytest.mark.parametrize("model", ["lstm", "husenda:gru", "fc2l", "sru"])
def test_results_do_not_depend_on_the_other_runs(model):
    """Also after other runs have ended. They learn to an accuracy of 60 %."""
    protocol = replace(PROTOCOL, target=0.6)
    runs = [
        CONCAT,
        TrainingRun(grammar="hol", seed=123, cap=400),
        TrainingRun(grammar="perm", seed=124, cap=400),
    ]
    together = learnt(model, *runs, protocol=protocol)
    assert len({outcome.steps for outcome in together}) > 1
    for run, outcome in zip(runs, together, strict=True):
        (alone,) = learnt(model, run, protocol=protocol)
        assert (alone.grammar, alone.seed) == (outcome.grammar, outcome.seed) == (run.grammar, run.seed)
        assert (alone.steps, alone.reached) == (outcome.steps, outcome.reached)
        assert alone.accuracy == outcome.accuracy
        bound = {"rtol": 0, "atol": 0} if products_are_those_of_one() else {"rtol": 1e-5, "atol": 5e-6}
        for name, value in alone.weights.items():
            torch.testing.assert_close(outcome.weights[name], value, **bound)


def products_are_those_of_one():
    """Whether this processor gives a product the same bits alone and beside others; MKL does not on some from AMD."""
    generator = torch.Generator().manual_seed(0)
    for height, inner, width in ((3, 16, 9), (1, 48, 9), (16, 32, 9), (64, 17, 32)):
        one = torch.randn(3, height, inner, generator=generator)
        other = torch.randn(3, inner, width, generator=generator)
        alone = [torch.bmm(one[place, None], other[place, None]) for place in range(3)]
        if not torch.equal(torch.bmm(one, other), torch.cat(alone)):
            return False
    return True


@pytest.mark.slow
@pytest.mark.parametrize("model", ["lstm-2l", "husendz:dgsend", "fc2l"])
def test_the_fused_learner_equals_the_generic_one(model, monkeypatch):
    (fast,) = learnt(model, CONCAT)
    monkeypatch.setattr(agents, "make_fused_sender", lambda sender: None)
    (slow,) = learnt(model, CONCAT)
    assert fast.steps == slow.steps
    assert fast.accuracy == pytest.approx(slow.accuracy, abs=1e-6)


def test_the_floor_is_majority_accuracy_for_senders_and_chance_level_for_receivers():
    (sender,) = learnt("fc1l", CONCAT)
    (receiver,) = learnt("fc2l", CONCAT, role="receiver")
    assert sender.floor == majority_accuracy(language("concat", GEOMETRY, 123).messages)
    assert receiver.floor == pytest.approx(1 / 3)


def test_outcomes_are_given_as_soon_as_runs_end():
    runs = [replace(CONCAT, cap=20), replace(CONCAT, cap=5, seed=124)]
    outcomes = learn("fc1l", "sender", GEOMETRY, runs, replace(PROTOCOL, target=None))
    assert [(index, outcome.steps) for index, outcome in outcomes] == [(1, 5), (0, 20)]


def test_protocol_paper_measures_every_fifty_updates():
    (outcome,) = learnt("fc1l", CONCAT, protocol=replace(PROTOCOL, name="paper", lr=3e-3))
    assert outcome.reached
    assert outcome.steps in (50, 100, 150, 200)


def right_answers(agent, role, meanings, messages):
    """Share of correct symbols or attributes; meanings (batch, attributes), messages (batch, length)."""
    if role == "sender":
        line = agents.LogitsBuilder(GEOMETRY.message_length)
        agent(torch.nn.functional.one_hot(meanings, 3).flatten(1).float(), line)
        return (torch.stack(line.logits, 1).argmax(-1) == messages).float().mean().item()
    length = torch.full((len(messages),), float(GEOMETRY.message_length))
    answers = agent(Message(symbols=messages.T, ends=None, length=length))
    return (answers.argmax(-1) == meanings).float().mean().item()


def trained(role, model, outcome):
    agent = make_agent(parse_model(role, model), role, GEOMETRY, PROTOCOL.hidden_size)
    agent.load_state_dict(outcome.weights)
    return agent


@pytest.mark.parametrize(("role", "model"), [("sender", "gru"), ("sender", "sru"), ("receiver", "fc2l")])
def test_accuracy_on_held_out_meanings_is_that_of_the_agent_at_the_end(role, model):
    protocol = replace(PROTOCOL, held_out=0.3)
    runs = [CONCAT, TrainingRun(grammar="hol", seed=124, cap=60)]
    for run, outcome in zip(runs, learnt(model, *runs, role=role, protocol=protocol), strict=True):
        unseen = LanguageDataset(run, GEOMETRY, batch_size=4, held_out=0.3).held_out
        made = language(run.grammar, GEOMETRY, run.seed)
        meanings, messages = made.meanings[unseen], made.messages[unseen].astype("int64")
        wanted = right_answers(
            trained(role, model, outcome), role, torch.from_numpy(meanings), torch.from_numpy(messages)
        )
        assert outcome.held_out == pytest.approx(wanted)


def test_held_out_meanings_may_be_more_than_one_batch(monkeypatch):
    protocol = replace(PROTOCOL, held_out=0.5)
    (whole,) = learnt("fc2l", CONCAT, protocol=protocol)
    monkeypatch.setattr(acquisition, "HELD_OUT_BATCH", 3)
    (parts,) = learnt("fc2l", CONCAT, protocol=protocol)
    assert parts.held_out == pytest.approx(whole.held_out)


def test_progress_is_reported(monkeypatch):
    clock = iter(range(10**6))
    monkeypatch.setattr(acquisition.time, "monotonic", lambda: next(clock))
    news = []
    runs = [CONCAT, replace(CONCAT, seed=124)]
    outcomes = learnt("fc1l", *runs, report_progress=lambda *what: news.append(what))
    for index, outcome in enumerate(outcomes):
        told = [(updates, accuracy) for which, updates, accuracy in news if which == index]
        # A window of 5 ends three updates after its middle; the last measurement ends the run and is not reported.
        assert [updates for updates, _ in told] == list(range(1, outcome.steps + 3))
        assert all(0 <= accuracy < 0.8 for _, accuracy in told)


def test_a_run_group_gives_each_run_its_own_language_and_batches():
    runs = [CONCAT, TrainingRun(grammar="rot", seed=123), TrainingRun(grammar="hol", seed=124)]
    group = RunGroup(runs, "sender", GEOMETRY, PROTOCOL, torch.device("cpu"))
    for updates, active in [(0, [0, 1, 2]), (1, [0, 2]), (70, [2])]:
        group.keep([group.active.index(index) for index in active]) if updates else None
        examples = group.examples(*group.batch(updates))
        assert group.active == active
        for place, index in enumerate(active):
            dataset = LanguageDataset(runs[index], GEOMETRY, batch_size=32, held_out=0)
            meanings, messages = dataset.block(updates // 64)
            assert torch.equal(examples.meanings[place], meanings[updates % 64])
            assert torch.equal(examples.messages[:, place, 0], messages[updates % 64])


def test_runs_that_fit_in_memory():
    assert [most_runs(100, free) for free in (0, 100, 250, 1250)] == [1, 1, 2, 10]
