"""The end-to-end protocol on tiny languages."""

import io
import json

import pytest
import torch
from rich.console import Console

from ecsuite.agents.spec import parse_agent
from ecsuite.config import ConfigError
from ecsuite.eval.icy.curves import PANELS, curves, draw_curves, write_curves
from ecsuite.eval.icy.end_to_end import MEASURES, end_to_end_rows, make_table, notes
from ecsuite.eval.icy.links import Noise, parse_link
from ecsuite.eval.icy.pairs import Pair, train_pair
from ecsuite.eval.icy.protocol import Protocol
from ecsuite.eval.icy.pupils import make_agent
from ecsuite.eval.icy.weights import pack, unpack
from ecsuite.eval.icy.workshop import Workshop
from ecsuite.grammars.geometry import Geometry

GEOMETRY = Geometry(num_attributes=2, num_values=3, word_length=2)
PROTOCOL = Protocol(hidden_size=16, lr=0.01)


def measure(pairs=(("fc2l", "fc2l"),), seeds=(1, 2), folder=None, **changes):
    given = {"grammars": ["concat", "perm"], "target": 0.9, "max_steps": 20, "channels": ["soft"]}
    with Workshop(num_workers=1, folder=folder, progress=lambda *_: None) as workshop:
        rows = end_to_end_rows(
            pairs,
            geometry=GEOMETRY,
            seeds=seeds,
            protocol=PROTOCOL,
            workshop=workshop,
            **{**given, **changes},
        )
        return rows, workshop.num_kept


def text(rows):
    console = Console(width=200, record=True, file=io.StringIO())
    console.print(make_table(rows))
    return console.export_text()


def agents(sender="gru", receiver="gru", seed=0):
    torch.manual_seed(seed)
    return [
        make_agent(parse_agent(role, model), role, GEOMETRY, 16)
        for role, model in (("sender", sender), ("receiver", receiver))
    ]


def converse(sender, receiver, max_steps=20, channel="soft", seed=1, protocol=PROTOCOL, **changes):
    weights = {
        f"{role}_weights": pack(dict(agent.named_parameters()))
        for role, agent in zip(("sender", "receiver"), agents(sender, receiver), strict=True)
    }
    given = {"geometry": GEOMETRY, "grammar": "concat", "hears_samples": False, "device": "cpu"}
    return train_pair(
        sender=sender,
        receiver=receiver,
        seed=seed,
        channel=channel,
        protocol=protocol,
        max_steps=max_steps,
        tell=lambda *_: None,
        **{**given, **weights, **changes},
    )


@pytest.fixture(scope="module")
def rows():
    return measure()[0]


def test_pairs_keep_what_they_can_and_every_accuracy_has_its_floor(rows):
    for cell in rows[0].cells:
        assert cell.num_masked == 0 and cell.figures.keys() == MEASURES.keys()
        assert cell.floors["receiver"] == pytest.approx(1 / 3)
        for name in MEASURES:
            mean, half_width = cell.figures[name]
            assert 0.3 < mean <= 1 and half_width is not None
    assert rows[0].cells[0].figures["end_to_end"][0] > 0.9


def test_agents_are_taught_to_the_target_first(rows):
    for cell in rows[0].cells:
        for run in cell.runs:
            assert all(run["taught"][role]["accuracy"] >= 0.9 for role in ("sender", "receiver"))


def test_the_table_and_its_notes(rows):
    shown = text(rows)
    assert "over soft" in shown and "commonest symbol" in shown and "20 updates" in shown
    assert rows[0].signature in notes(rows)
    json.dumps(rows[0].to_json(), allow_nan=False)


def test_pairs_that_were_not_taught_are_masked():
    rows, _ = measure(max_supervised_steps=5, seeds=[1])
    for cell in rows[0].cells:
        assert cell.num_masked == 1 and set(cell.figures.values()) == {None}
    assert "came to" in rows[0].cells[0].runs[0]["reason"]
    assert "concat was not learnt to 0.9 within 5 updates" in rows[0].cells[1].runs[0]["reason"]
    assert "masked" in text(rows) and any("1 of 1 masked" in note for note in notes(rows))
    json.dumps(rows[0].to_json(), allow_nan=False)
    with pytest.raises(ConfigError, match="nothing to draw"):
        draw_curves(rows[0])


def test_results_are_kept_and_shared_between_pairs(tmp_path):
    first, kept = measure(seeds=[1], folder=tmp_path, grammars=["concat"])
    assert kept == 0
    again, kept = measure(seeds=[1], folder=tmp_path, grammars=["concat"])
    assert kept == 3 and again == first
    _, kept = measure(seeds=[1], folder=tmp_path, grammars=["concat"], channels=["reinforce"])
    assert kept == 2  # taught softly before


def test_a_curve_has_50_points_or_one_an_update():
    assert len(converse("fc2l", "fc2l", max_steps=7)["curve"]["updates"]) == 7
    curve = converse("fc2l", "fc2l", max_steps=101)["curve"]
    assert len(curve["updates"]) == 50 and curve["updates"][-1] == 101
    assert all(len(values) == 50 for values in curve.values())


@pytest.mark.parametrize("channel", ["soft", "gumbel", "reinforce"])
def test_pairs_come_to_understand_each_other(channel):
    found = converse("fc2l", "fc2l", max_steps=150, channel=channel)
    assert found["end_to_end"] > 0.8 and found["greedy"] > 0.8


def test_a_pure_function_of_its_seed():
    first, again, other = (converse("gru", "gru", 5, "gumbel", seed) for seed in (1, 1, 2))
    assert first == again != other


def test_samples_that_are_heard_and_samples_of_samples_differ():
    heard = converse("gru", "gru", 5, "gumbel", hears_samples=True)
    assert heard != converse("gru", "gru", 5, "gumbel")
    assert heard != converse("gru", "gru", 5, "gumbel,form=program", hears_samples=True)
    unheard = converse("gru-z", "gru", 5, "gumbel", hears_samples=True)
    assert unheard == converse("gru-z", "gru", 5, "gumbel")


def test_held_out_meanings_and_the_papers_single_batch():
    found = converse("fc2l", "fc2l", 3, protocol=Protocol(name="paper", hidden_size=16, held_out=0.25))
    assert 0 <= found["held_out"] <= 1
    assert found["sender"] * 128 * 4 == pytest.approx(round(found["sender"] * 128 * 4), abs=1e-3)


@pytest.mark.parametrize("channel", ["soft", "gumbel", "reinforce"])
def test_gradients_reach_both_agents(channel):
    pair = Pair(*agents(), link=parse_link(channel), hears_samples=False, geometry=GEOMETRY)
    meanings = torch.tensor([[0, 1], [2, 2], [1, 0]])
    pair(meanings, Noise(1, "test").at(0))[0].backward()
    for agent in (pair.sender, pair.receiver):
        assert all(parameter.grad is not None and parameter.grad.any() for parameter in agent.parameters())


def test_the_soft_loss_is_the_cross_entropy_of_answers_to_softmaxed_scores():
    pair = Pair(*agents(), link=parse_link("soft"), hears_samples=False, geometry=GEOMETRY)
    meanings = torch.tensor([[0, 1], [2, 2], [1, 0]])
    answers = pair.read(pair.speak(meanings, None).softmax(-1))
    expected = -answers.log_softmax(-1).gather(-1, meanings[..., None]).mean()
    torch.testing.assert_close(pair(meanings, Noise(1, "test").at(0))[0], expected)


def test_ids_and_one_hot_rows_are_read_alike():
    pair = Pair(*agents(), link=parse_link("soft"), hears_samples=False, geometry=GEOMETRY)
    ids = torch.tensor([[1, 2, 3, 4], [0, 4, 4, 1]])
    weights = torch.nn.functional.one_hot(ids, 5).float()
    torch.testing.assert_close(pair.read(ids), pair.read(weights))


def test_weights_survive_as_text():
    (sender, receiver), (other, _) = agents(seed=1), agents(seed=2)
    unpack(pack(dict(sender.named_parameters())), other)
    assert all(torch.equal(a, b) for a, b in zip(sender.parameters(), other.parameters(), strict=True))
    with pytest.raises(RuntimeError):
        unpack(pack(dict(sender.named_parameters())), receiver)


def test_curves_are_means_over_seeds(rows):
    found = curves(rows[0])
    assert list(found) == ["concat", "perm"] and found["perm"].keys() == PANELS.keys()
    curve = found["perm"]["sender"]
    runs = [run["curve"]["sender"] for run in rows[0].cells[1].runs]
    assert curve.means[3] == pytest.approx((runs[0][3] + runs[1][3]) / 2)
    assert len(curve.half_widths) == len(curve.updates) == 20
    single = curves(measure(seeds=[1], grammars=["concat"])[0][0])["concat"]["loss"]
    assert single.half_widths is None


def test_the_picture(rows, tmp_path):
    pytest.importorskip("matplotlib")
    write_curves(rows[0], tmp_path / "figure.png")
    written = (tmp_path / "figure.png").read_bytes()
    assert written[:8] == b"\x89PNG\r\n\x1a\n" and written == draw_curves(rows[0])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"pairs": [("gru", "grv")]}, "did you mean 'gru'"),
        ({"pairs": [("hashtable", "gru")]}, "hashtable has no weights to train end to end"),
        ({"channels": ["gumble"]}, "did you mean 'gumbel'"),
        ({"grammars": ["prem"]}, "did you mean 'perm'"),
        ({"supervised": "sofd"}, "did you mean 'soft'"),
        ({"target": 1.5}, "target: expected an accuracy above 0 and at most 1, got 1.5"),
        ({"max_steps": 0}, "max-steps: expected at least 1, got 0"),
        ({"max_supervised_steps": 0}, "max-supervised-steps: expected at least 1, got 0"),
        ({"seeds": []}, "seeds: expected at least one"),
    ],
)
def test_errors_say_what_to_change(changes, message):
    with pytest.raises(ConfigError, match=message):
        measure(**changes)
