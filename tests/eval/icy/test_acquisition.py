"""Acquisition of small languages: deterministic, and independent of other runs and of the learner; all models."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.nn.functional import one_hot

from ecsuite.agents.spec import parse_agent
from ecsuite.eval.icy import agents
from ecsuite.eval.icy.acquisition import LanguageDataset, TrainingRun, learn, most_runs
from ecsuite.eval.icy.agents import HashtableSender, make_agent, messages_of, parameter_count, parse_model
from ecsuite.eval.icy.protocol import Protocol
from ecsuite.grammars.geometry import Geometry
from ecsuite.grammars.icy import language
from ecsuite.parts import own_code
from ecsuite.runtime.errors import ConfigError

GEOMETRY = Geometry(num_attributes=2, num_values=3, word_length=2, vocab_size=4)
PROTOCOL = Protocol(hidden_size=16, batch_size=32, lr=1e-2, window=5)
CONCAT = TrainingRun(grammar="concat", seed=123, cap=400)


def learnt(model, *runs, role="sender", protocol=PROTOCOL, geometry=GEOMETRY, **options):
    """The outcomes in the order of the runs."""
    outcomes = dict(learn(model, role, geometry, runs, protocol, **options))
    return [outcomes[index] for index in range(len(runs))]


def test_updates_that_a_hashtable_and_protocol_paper_take():
    """A batch of 32 misses (8/9)^32 = 2 % of nine meanings."""
    (outcome,) = learnt("hashtable", CONCAT, protocol=replace(PROTOCOL, window=1))
    assert outcome.reached and outcome.steps <= 2 and outcome.weights == {}
    (outcome,) = learnt("fc1l", CONCAT, protocol=replace(PROTOCOL, name="paper", lr=3e-3))
    assert outcome.reached and outcome.steps in (50, 100, 150, 200)
    assert [most_runs(100, free) for free in (0, 100, 250, 1250)] == [1, 1, 2, 10]


@pytest.mark.slow
@pytest.mark.parametrize("model", ["lstm-2l", "husendz:dgsend", "fc2l"])
def test_the_fused_learner_equals_the_generic_one(model, monkeypatch):
    (fast,) = learnt(model, CONCAT)
    monkeypatch.setattr(agents, "make_fused_sender", lambda sender: None)
    (slow,) = learnt(model, CONCAT)
    assert fast.steps == slow.steps
    assert fast.accuracy == pytest.approx(slow.accuracy, abs=1e-6)


@pytest.mark.sample(2)
@pytest.mark.parametrize("model", ["lstm", "husenda:gru", "fc2l", "sru"])
def test_results_do_not_depend_on_the_other_runs(model):
    """Also after other runs have ended. They learn to an accuracy of 60 %."""
    protocol = replace(PROTOCOL, target=0.6)
    runs = [CONCAT, replace(CONCAT, grammar="hol"), TrainingRun(grammar="perm", seed=124, cap=400)]
    together = learnt(model, *runs, protocol=protocol)
    assert len({outcome.steps for outcome in together}) > 1
    for run, outcome in zip(runs, together, strict=True):
        (alone,) = learnt(model, run, protocol=protocol)
        assert alone == outcome  # without their weights, which some processors' products round otherwise
        for name, value in alone.weights.items():
            torch.testing.assert_close(outcome.weights[name], value, rtol=1e-5, atol=5e-6)


LARGER = Geometry(num_attributes=3, num_values=5, word_length=3, vocab_size=4)


def make(grammar="concat", seed=123, *, batch_size=16, held_out=0.0):
    run = TrainingRun(grammar=grammar, seed=seed)
    return LanguageDataset(run, LARGER, batch_size=batch_size, held_out=held_out)


def drawn(dataset, numbers=(0, 1)):
    """Indices of the meanings in so many blocks of batches, (batches, batch)."""
    meanings = torch.cat([dataset.block(number)[0] for number in numbers]).numpy()
    return np.ravel_multi_index(tuple(meanings.transpose(1, 0, 2)), (5, 5, 5))


@pytest.mark.parametrize("held_out", [0.1, 0.5, 0.9])
def test_held_out_meanings_are_never_in_a_batch_and_languages_of_a_seed_share_batches(held_out):
    dataset, *others = (make(each, held_out=held_out, batch_size=64) for each in ("concat", "rot", "hol"))
    seen, unseen = set(drawn(dataset).ravel().tolist()), set(dataset.held_out.tolist())
    assert len(unseen) == round(held_out * LARGER.num_meanings) and not seen & unseen
    assert seen | unseen == set(range(LARGER.num_meanings))
    assert all((drawn(each) == drawn(dataset)).all() for each in others)


def test_meanings_are_drawn_uniformly_and_independently():
    """Chi-square of 125 cells: 124 expected, standard deviation 15.7. A batch has repetitions, and batches differ."""
    found = drawn(make(batch_size=128), [0, 1, 2, 3])
    expected = found.size / 125
    statistic = ((np.bincount(found.ravel(), minlength=125) - expected) ** 2 / expected).sum()
    assert abs(statistic - 124) < 4 * 15.7
    assert len(set(found[0].tolist())) < 128
    assert (found[1:] == found[:-1]).mean() == pytest.approx(1 / 125, abs=0.003)
    assert (found[:, 1:] == found[:, :-1]).mean() == pytest.approx(1 / 125, abs=0.003)
    small, large = drawn(make(batch_size=8)).ravel(), drawn(make(batch_size=32), [0]).ravel()
    assert (small == large[: len(small)]).all()


def test_hashtables_store_the_first_answer(soft_message_builder):
    table = HashtableSender(vocab_size=3, max_len=2)
    assert parameter_count(table) == 0
    meanings = one_hot(torch.tensor([2, 0]), 4).float()
    table.add(meanings[:1], torch.tensor([[3, 2]]))
    logits = table(meanings, soft_message_builder(2))
    assert logits.shape == (2, 2, 4) and logits.argmax(-1).t().tolist() == [[3, 2], [1, 1]]
    assert logits.softmax(-1).amax(-1).min() > 0.999999
    table = HashtableSender(vocab_size=3, max_len=2)
    meanings, messages = torch.tensor([[0, 1], [1, 0], [0, 1]]), torch.tensor([[1, 2], [3, 3], [2, 2]])
    assert table.score(meanings, messages) == pytest.approx(1 / 6)
    table.add(meanings, messages)
    assert table.predict(meanings.float()).tolist() == [[1, 2], [3, 3], [1, 2]]
    assert table.score(meanings, messages) == pytest.approx(5 / 6)
    table, nearest = receiver("hashtable"), receiver("knn")
    messages = torch.tensor([[1, 1, 1, 1], [2, 2, 2, 2], [1, 1, 2, 2]])
    meanings = torch.tensor([[1, 1], [2, 2], [1, 2]])
    unknown = torch.tensor([[1, 1, 2, 1], [2, 2, 2, 3], [4, 4, 4, 4]])  # two are as near to 1, 1, 2, 1
    for each in (table, nearest):
        each.add(messages[:2], meanings[:2])
        each.add(messages[2:], meanings[2:])
    assert table.predict(unknown).tolist() == [[0, 0]] * 3
    assert nearest.predict(unknown).tolist() == [[1, 1], [2, 2], [1, 1]]
    spec = parse_model("sender", "Hashtable")
    assert str(spec) == spec.family == "hashtable"
    table = make_agent(spec, "sender", Geometry(num_attributes=2, num_values=3), 8)
    assert isinstance(table, HashtableSender) and table.max_len == 8
    with pytest.raises(ConfigError, match="hashtable has no options"):
        parse_model("sender", "hashtable,hidden=5")
    with pytest.raises(ConfigError, match=r"unknown sender 'hashtabel'; did you mean 'hashtable'\?"):
        parse_model("sender", "hashtabel")
    with pytest.raises(ConfigError, match="unknown sender 'knn'"):
        parse_model("sender", "knn")


def receiver(name):
    """A receiver of two attributes and messages of four symbols."""
    return make_agent(parse_model("receiver", name), "receiver", GEOMETRY, 8)


SMALL = ("--grammar", "perm", "--num-attributes", "2", "--num-values", "3", "--seeds", "1", "--target", "0.6")


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("role", "workers"), [("sender", 1), ("receiver", 1), pytest.param("sender", 2, marks=pytest.mark.slow)]
)
def test_an_agent_of_ones_own_is_trained(ecsuite, tmp_path, role, workers):
    assert ecsuite("new", role, "own.py")[0] == 0
    line = ("icy", "--role", role, "--model", "./own.py:Own,width=32", "--workers", str(workers), "--json")
    code, out, err = ecsuite(*line, *SMALL)
    assert code == 0, err
    (row,) = json.loads(out)["rows"]
    digest = own_code.checksum("own.py")[:12]
    assert row["model"] == f"./own.py:Own@{digest},width=32"
    assert f"|{role}:./own.py:Own@{digest},width=32|" in row["signature"]
    assert all(run["reached"] for cell in row["cells"] for run in cell["runs"])


def test_a_changed_file_is_another_model(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.py").write_text("first = 1\n")
    name = str(parse_agent("sender", "./own.py:Own,width=3,depth=2"))
    assert name == f"./own.py:Own@{own_code.checksum('own.py')[:12]},depth=2,width=3"
    assert str(parse_agent("sender", name)) == name
    (tmp_path / "own.py").write_text("second = 2\n")
    assert str(parse_agent("sender", "./own.py:Own,width=3,depth=2")) != name
    with pytest.raises(ConfigError, match=r"own.py:Own: its file has changed: expected a SHA-256 that"):
        parse_agent("sender", name)


OWN_SENDER = """import torch
from torch import nn

from ecsuite.agents.options import AgentOptions
from ecsuite.agents.senders import Sender, build_message

class Own(Sender):
    Options = AgentOptions

    def __init__(self, options, *, num_features, vocab_size, max_len):
        super().__init__()
        self.layers = nn.Sequential(nn.{layer}, nn.Linear(num_features, max_len * (vocab_size + 1)))
        self.num_logits = vocab_size + 1
        self.fixed = nn.Parameter(torch.ones(2), requires_grad=False)

    def forward(self, meanings, builder):
        logits = self.layers(meanings * self.fixed.prod()).unflatten(-1, (-1, self.num_logits))
        return build_message(builder, logits.transpose(0, 1))
"""


@pytest.mark.parametrize("layer", ["Dropout(0.3)", "BatchNorm1d(6)"])
def test_own_agents_do_not_depend_on_the_runs_next_to_them(tmp_path, layer):
    """Neither in training, nor on held-out meanings, where agents have no dropout and constant buffers."""
    file = tmp_path / "own.py"
    file.write_text(OWN_SENDER.format(layer=layer))
    own_code.trust([model := f"{file}:Own"])
    runs = [replace(CONCAT, seed=seed, cap=40) for seed in (1, 2, 3)]
    protocol = replace(PROTOCOL, held_out=0.3, target=0.99)
    second, (alone,) = learnt(model, *runs, protocol=protocol)[1], learnt(model, runs[1], protocol=protocol)
    assert second == alone
    for name, weight in second.weights.items():
        assert torch.equal(weight, alone.weights[name])
    greedy = messages_of(model, second.weights, GEOMETRY, 16)
    assert torch.equal(second.weights["fixed"], torch.ones(2))  # frozen
    held_out = LanguageDataset(runs[1], GEOMETRY, batch_size=32, held_out=0.3).held_out
    right = greedy == language("concat", GEOMETRY, 2).messages
    assert second.held_out == pytest.approx(right[held_out].mean())
