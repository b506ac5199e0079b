"""The end-to-end protocol on tiny languages."""

import io
import json

import pytest
from rich.console import Console

from ecsuite.config import ConfigError
from ecsuite.eval.icy.curves import curves
from ecsuite.eval.icy.end_to_end import MEASURES, end_to_end_rows, make_table, notes
from ecsuite.eval.icy.protocol import Protocol
from ecsuite.grammars.geometry import Geometry
from ecsuite.jobs.runner import JobRunner

GEOMETRY = Geometry(num_attributes=2, num_values=3, word_length=2)
PROTOCOL = Protocol(hidden_size=16, lr=0.01)


def measure(pairs=(("fc2l", "fc2l"),), seeds=(1, 2), folder=None, **changes):
    given = {"grammars": ["concat", "perm"], "target": 0.9, "max_steps": 20, "channels": ["soft"]}
    with JobRunner(num_workers=1, folder=folder, progress=lambda *_: None) as runner:
        rows = end_to_end_rows(
            pairs,
            geometry=GEOMETRY,
            seeds=seeds,
            protocol=PROTOCOL,
            runner=runner,
            **{**given, **changes},
        )
        return rows, runner.num_kept


def text(rows):
    console = Console(width=200, record=True, file=io.StringIO())
    console.print(make_table(rows))
    return console.export_text()


@pytest.fixture(scope="module")
def rows():
    return measure()[0]


def test_every_cell_has_accuracies_and_floors(rows):
    for cell in rows[0].cells:
        assert cell.num_masked == 0 and cell.figures.keys() == MEASURES.keys()
        assert cell.floors["receiver"] == pytest.approx(1 / 3)
        for name in MEASURES:
            mean, half_width = cell.figures[name]
            assert 0.3 < mean <= 1 and half_width is not None
    assert rows[0].cells[0].figures["end_to_end"][0] > 0.9


def test_agents_are_pretrained_to_the_target(rows):
    for cell in rows[0].cells:
        for run in cell.runs:
            assert all(run["taught"][role]["accuracy"] >= 0.9 for role in ("sender", "receiver"))


def test_the_table_and_its_notes(rows):
    shown = text(rows)
    assert "over soft" in shown and "most frequent symbol" in shown and "20 updates" in shown
    assert rows[0].signature in notes(rows)
    json.dumps(rows[0].to_json(), allow_nan=False)


def test_pairs_below_the_target_are_left_out():
    rows, _ = measure(max_supervised_steps=5, seeds=[1])
    for cell in rows[0].cells:
        assert cell.num_masked == 1 and set(cell.figures.values()) == {None}
    assert "accuracy 0." in rows[0].cells[0].runs[0]["reason"]
    assert "concat did not reach accuracy 0.9 within 5 updates" in rows[0].cells[1].runs[0]["reason"]
    assert "left out" in text(rows) and any("1 of 1 runs left out" in note for note in notes(rows))
    json.dumps(rows[0].to_json(), allow_nan=False)


def test_results_are_cached_and_shared_between_pairs(tmp_path):
    first, kept = measure(seeds=[1], folder=tmp_path, grammars=["concat"])
    assert kept == 0
    again, kept = measure(seeds=[1], folder=tmp_path, grammars=["concat"])
    assert kept == 3 and again == first
    _, kept = measure(seeds=[1], folder=tmp_path, grammars=["concat"], channels=["reinforce"])
    assert kept == 2  # pretrained over soft before


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


def test_every_row_has_curves(rows):
    found = curves(rows[0])
    assert list(found) == ["concat", "perm"]
    assert len(found["perm"]["sender"].means) == 20
