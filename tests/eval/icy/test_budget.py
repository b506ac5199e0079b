"""The budget protocol on tiny languages."""

import io
import json
from dataclasses import replace

import pytest
from rich.console import Console

from ecsuite.config import ConfigError
from ecsuite.eval.icy.budget import budget_rows, make_table, notes
from ecsuite.eval.icy.protocol import Protocol
from ecsuite.grammars.geometry import Geometry
from ecsuite.jobs.runner import JobRunner

TINY = {
    "geometry": Geometry(num_attributes=2, num_values=3, word_length=2),
    "protocol": Protocol(hidden_size=16, lr=0.01),
    "grammars": ["perm", "hol"],
    "target": 0.9,
    "max_steps": 200,
}


def measure(models=("fc2l",), role="sender", seeds=(1, 2), folder=None, **changes):
    with JobRunner(num_workers=1, folder=folder, progress=lambda *_: None) as runner:
        rows = budget_rows(models, role=role, seeds=seeds, runner=runner, **{**TINY, **changes})
        return rows, runner.num_kept


def text(rows, width=200):
    console = Console(width=width, record=True, file=io.StringIO())
    console.print(make_table(rows))
    return console.export_text()


@pytest.fixture(scope="module")
def rows():
    return measure()[0]


def test_all_grammars_get_the_updates_of_concat(rows):
    concat, *rest = rows[0].cells
    budget = {run["seed"]: run["steps"] for run in concat.runs}
    assert concat.grammar == "concat" and all(run["reached"] for run in concat.runs)
    for cell in rest:
        assert {run["seed"]: run["steps"] for run in cell.runs} == budget
    assert rows[0].steps == sum(budget.values()) / 2
    assert rows[0].reason is None


def test_concat_reaches_the_target_and_every_cell_has_its_floor(rows):
    concat, *_ = rows[0].cells
    assert concat.mean >= 0.9
    for cell in rows[0].cells:
        assert 0 < cell.floor < 1 and cell.half_width is not None
        assert cell.mean == pytest.approx(sum(run["accuracy"] for run in cell.runs) / 2)


def test_one_seed_has_no_interval():
    rows, _ = measure(seeds=[1])
    assert all(cell.half_width is None for cell in rows[0].cells)
    assert "±" not in text(rows)


def test_colours_are_those_of_the_paper(rows):
    cell = rows[0].cells[0]
    assert [replace(cell, mean=mean).style for mean in (0.49, 0.5, 0.8, 0.81, None)] == [
        "red",
        "",
        "",
        "green",
        "dim",
    ]


def test_without_a_seed_that_reaches_the_target_there_are_no_accuracies():
    rows, _ = measure(models=["fc1l"], max_steps=5)
    row = rows[0]
    assert row.steps is None and [cell.mean for cell in row.cells[1:]] == [None, None]
    assert "CONCAT reached 0.9 with 0 of 2 seeds within 5 updates" in row.reason
    assert "never" in text(rows) and "none" in text(rows)
    assert any("raise --max-steps or lower --target" in note for note in notes(rows))
    json.dumps(row.to_json(), allow_nan=False)


def test_the_floor_of_receivers_is_chance_level():
    rows, _ = measure(models=["fc2l"], role="receiver", channels=["soft", "gumbel"], grammars=["shuf"])
    assert [row.channel for row in rows] == ["soft", "gumbel"]
    assert all(cell.floor == pytest.approx(1 / 3) for row in rows for cell in row.cells)
    assert "chance level" in text(rows)


def test_protocol_paper_measures_one_batch_every_50_updates():
    rows, _ = measure(protocol=Protocol(name="paper", hidden_size=16, lr=0.01), seeds=[1])
    assert all(run["steps"] % 50 == 0 for cell in rows[0].cells for run in cell.runs)
    assert "|paper|" in rows[0].signature


def test_held_out_meanings_are_measured():
    rows, _ = measure(protocol=replace(TINY["protocol"], held_out=0.25), seeds=[1])
    assert all(0 <= cell.held_out <= 1 for cell in rows[0].cells)
    assert any("held-out meanings" in note for note in notes(rows))


def test_results_are_cached(tmp_path):
    first, kept = measure(seeds=[1], folder=tmp_path)
    assert kept == 0
    again, kept = measure(seeds=[1], folder=tmp_path)
    assert kept == 3 and again == first


def test_signatures_contain_everything_that_changes_results(rows):
    signature = rows[0].signature
    for part in (
        "icy-budget|sender:fc2l|channel:soft",
        "2x3|w2|V4",
        "seeds:1,2",
        "max-steps:200",
        "target:0.9",
    ):
        assert part in signature
    assert measure(seeds=[1], channels=["reinforce"], max_steps=20)[0][0].signature != signature


def test_senders_leave_out_shuf_by_default_and_receivers_do_not():
    for role, expected in (("sender", False), ("receiver", True)):
        rows, _ = measure(role=role, grammars=None, seeds=[1], max_steps=1)
        assert ("shuf" in [cell.grammar for cell in rows[0].cells]) is expected


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"models": ["lstn"]}, "did you mean 'lstm'"),
        ({"channels": ["gumble"]}, "did you mean 'gumbel'"),
        ({"grammars": ["prem"]}, "did you mean 'perm'"),
        ({"target": 0}, "target: expected an accuracy above 0 and at most 1, got 0"),
        ({"max_steps": 0}, "max-steps: expected at least 1, got 0"),
        ({"seeds": []}, "seeds: expected at least one"),
        ({"models": ["hashtable"], "channels": ["gumbel"]}, "hashtable has no logits"),
    ],
)
def test_errors_say_what_to_change(changes, message):
    with pytest.raises(ConfigError, match=message):
        measure(**changes)
