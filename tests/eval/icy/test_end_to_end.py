"""The protocols budget and end-to-end on tiny languages, and the training of pairs."""

import json
from dataclasses import replace

import pytest
import torch

from ecsuite.eval.icy import end_to_end
from ecsuite.eval.icy.agents import make_agent, parse_model
from ecsuite.eval.icy.benchmark import Icy
from ecsuite.eval.icy.channels import Noise, parse_channel
from ecsuite.eval.icy.end_to_end import EndToEnd, EndToEndAgents, train_end_to_end
from ecsuite.eval.icy.protocol import Protocol
from ecsuite.eval.icy.single_agents import Budget, colour, held_out_of
from ecsuite.eval.icy.study import StudyConfig, resolve
from ecsuite.grammars.geometry import Geometry
from ecsuite.jobs.graph import Runner
from ecsuite.runtime.errors import DivergedError

SIZES = {"num_attributes": 2, "num_values": 3, "word_length": 2, "hidden_size": 16, "target": 0.9}


def report_of(result):
    return Icy().report(result.study, result)


def budget(models=("fc2l",), seeds=(1, 2), **settings):
    given = {"grammars": ("perm", "hol"), "max_steps": 200, **SIZES, **settings}
    study = resolve(StudyConfig(protocol="budget", models=models, seeds=seeds, **given))
    return Icy().measure(replace(study, training=replace(study.training, lr=0.01)), Runner())


@pytest.fixture(scope="module")
def rows():
    return budget().rows


def test_cells_of_a_budget(rows, printed):
    concat, *rest = rows[0].cells
    updates = {run["seed"]: run["steps"] for run in concat.runs}
    assert concat.name == "concat" and all(run["reached"] for run in concat.runs) and concat.mean >= 0.9
    for cell in rest:
        assert {run["seed"]: run["steps"] for run in cell.runs} == updates
        assert cell.mean == pytest.approx(sum(run["accuracy"] for run in cell.runs) / 2)
    assert rows[0].basis.mean == sum(updates.values()) / 2
    cell = rows[0].cells[0]
    outcomes = [
        colour(replace(cell, figures={"accuracy": figure}))
        for figure in ((0.49, None), (0.5, None), (0.8, None), (0.81, None), None)
    ]
    assert outcomes == ["bad", "", "", "good", ""]
    row = replace(rows[0], published={"hol": 0.123})
    assert "0.123" in printed(Budget().table(None, [row]))
    assert "0.123" not in printed(Budget().table(None, rows))
    cells = rows[0].cells
    runs = [{**run, "accuracy": accuracy} for run, accuracy in zip(cells[0].runs, (1.0, 0.9), strict=True)]
    cell = replace(cells[0], runs=tuple(runs), figures={"accuracy": (0.95, 0.1)})
    assert cell.bound("accuracy") == "lower"
    assert "≥0.950" in printed(Budget().table(None, [replace(rows[0], cells=(cell, *cells[1:]))]))
    below = replace(cell, runs=tuple({**run, "accuracy": 0.95} for run in runs))
    assert "≥" not in printed(Budget().table(None, [replace(rows[0], cells=(below,))]))


def test_held_out_meanings_of_a_budget_are_measured():
    result = budget(held_out=0.25, seeds=(1,))
    assert all(0 <= held_out_of(cell) <= 1 for cell in result.rows[0].cells)
    assert any("held-out meanings" in note for note in report_of(result).notes)


def pairs_of(seeds=(1, 2), lr=0.01, folder=None, basis_cap=20_000, **settings):
    given = {"models": ("fc2l",), "receivers": ("fc2l",), "grammars": ("concat", "perm"), "max_steps": 20}
    study = resolve(StudyConfig(protocol="end-to-end", seeds=seeds, **given | SIZES | settings))
    study = replace(study, basis_cap=basis_cap, training=replace(study.training, lr=lr))
    return Icy().measure(study, Runner(folder=folder))


@pytest.fixture(scope="module")
def result():
    return pairs_of()


def test_agents_are_pretrained_to_the_target_and_agree(result, printed):
    for cell in result.rows[0].cells:
        assert cell.floors["receiver"] == pytest.approx(1 / 3) and cell.num_left_out == 0
        for run in cell.runs:
            assert all(run["taught"][role]["accuracy"] >= 0.9 for role in ("sender", "receiver"))
    assert result.rows[0].cells[0].figures["end_to_end"][0] > 0.9
    shown = printed(report_of(result).tables[0])
    assert "soft" in shown and "most frequent symbol" in shown and " 20 " in shown
    assert result.rows[0].signature in report_of(result).notes
    json.dumps(result.to_json(), allow_nan=False)
    row = replace(result.rows[0], published={"perm": 0.123})
    shown = printed(EndToEnd().table(result.study, [row]))
    assert "paper, 10,000" in shown and "0.123" in shown


def test_a_pair_that_diverges_is_left_out_and_the_rest_is_shown(tmp_path, monkeypatch):
    train_pair = end_to_end.train_end_to_end

    def diverge(weights, *, seed, protocol, **options):
        how = replace(protocol, lr=1e38) if seed == 2 else protocol
        return train_pair(weights, seed=seed, protocol=how, **options)

    monkeypatch.setattr(end_to_end, "train_end_to_end", diverge)
    found = pairs_of(folder=tmp_path, grammars=("concat",))
    assert [run["seed"] for run in found.rows[0].cells[0].runs] == [1]
    told = "1 of 6 runs left out: fc2l and fc2l on concat, seed 2: the loss is nan"
    assert report_of(found).notes[0].startswith(told) and json.dumps(found.to_json(), allow_nan=False)
    monkeypatch.setattr(end_to_end, "train_end_to_end", lambda *_, **__: pytest.fail("kept as failed"))
    assert pairs_of(folder=tmp_path, grammars=("concat",)).failures == found.failures


def test_pairs_below_the_target_are_left_out(printed):
    result = pairs_of(basis_cap=5, seeds=(1,))
    cells = result.rows[0].cells
    for cell in cells:
        assert cell.num_left_out == 1 and set(cell.figures.values()) == {None}
    assert "accuracy 0." in cells[0].runs[0]["reason"]
    assert cells[1].runs[0]["reason"] == "concat did not reach accuracy 0.9 within 5 updates"
    assert cells[1].runs[0]["taught"] == {}
    assert "left out" in printed(report_of(result).tables[0])
    assert any("1 of 1 runs left out" in note for note in report_of(result).notes)
    json.dumps(result.to_json(), allow_nan=False)
    signature = pairs_of(seeds=(1,), channels=("gumbel",), supervised="same", max_steps=2).rows[0].signature
    assert "|supervised:same|" in signature


GEOMETRY = Geometry(num_attributes=2, num_values=3, word_length=2)
PROTOCOL = Protocol(hidden_size=16, lr=0.01)


def agents(sender="gru", receiver="gru", seed=0):
    torch.manual_seed(seed)
    return [
        make_agent(parse_model(role, model), role, GEOMETRY, 16)
        for role, model in (("sender", sender), ("receiver", receiver))
    ]


def train(sender, receiver, max_steps=20, channel="soft", seed=1, protocol=PROTOCOL, **changes):
    both = zip(("sender", "receiver"), agents(sender, receiver), strict=True)
    weights = {role: dict(agent.named_parameters()) for role, agent in both}
    given = {"geometry": GEOMETRY, "grammar": "concat", "feeds_back_samples": False, "device": "cpu"}
    given |= {"seed": seed, "channel": channel, "protocol": protocol, "max_steps": max_steps}
    return train_end_to_end(weights, sender=sender, receiver=receiver, **{**given, **changes})


@pytest.mark.slow
@pytest.mark.parametrize("channel", ["soft", "gumbel", "reinforce"])
def test_end_to_end_accuracy_increases(channel):
    found = train("fc2l", "fc2l", max_steps=150, channel=channel)
    assert found["end_to_end"] > 0.8 and found["greedy"] > 0.8


def test_the_training_of_a_pair():
    pair = EndToEndAgents(*agents(), link=parse_channel("soft"), feeds_back_samples=False, geometry=GEOMETRY)
    meanings = torch.tensor([[0, 1], [2, 2], [1, 0]])
    answers = pair.attribute_logits(pair.message_logits(meanings, None).softmax(-1))
    expected = -answers.log_softmax(-1).gather(-1, meanings[..., None]).mean()
    torch.testing.assert_close(pair(meanings, Noise(1, "test").at(0))[0], expected)
    first, again, other = (train("gru", "gru", 5, "gumbel", seed) for seed in (1, 1, 2))
    assert first == again != other
    found = train("fc2l", "fc2l", 3, protocol=Protocol(hidden_size=16, held_out=0.25))
    assert 0 <= found["held_out"] <= 1  # of meanings that are held out
    with pytest.raises(DivergedError, match="gru and gru on concat, seed 1: the loss is nan in updates "):
        train("gru", "gru", 200, protocol=Protocol(hidden_size=16, lr=1e38))
