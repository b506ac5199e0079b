"""The budget protocol on tiny languages."""

import json
from dataclasses import replace

import pytest

from ecsuite.eval.icy.benchmark import Icy
from ecsuite.eval.icy.single_agents import Budget, colour, held_out_of
from ecsuite.eval.icy.study import StudyConfig, resolve
from ecsuite.jobs.graph import Runner

TINY = {
    "num_attributes": 2,
    "num_values": 3,
    "word_length": 2,
    "hidden_size": 16,
    "grammars": ("perm", "hol"),
    "target": 0.9,
    "max_steps": 200,
}


def measure(models=("fc2l",), seeds=(1, 2), **settings):
    study = resolve(StudyConfig(protocol="budget", models=models, seeds=seeds, **{**TINY, **settings}))
    return Icy().measure(replace(study, training=replace(study.training, lr=0.01)), Runner())


def report_of(result):
    return Icy().report(result.study, result)


def rows_of(**settings):
    return measure(**settings).rows


@pytest.fixture(scope="module")
def rows():
    return measure().rows


def test_all_grammars_get_the_updates_of_concat(rows):
    concat, *rest = rows[0].cells
    budget = {run["seed"]: run["steps"] for run in concat.runs}
    assert concat.name == "concat" and all(run["reached"] for run in concat.runs)
    for cell in rest:
        assert {run["seed"]: run["steps"] for run in cell.runs} == budget
    assert rows[0].basis.mean == sum(budget.values()) / 2
    assert rows[0].reason is None


def test_concat_reaches_the_target_and_every_cell_has_its_floor(rows):
    concat, *_ = rows[0].cells
    assert concat.mean >= 0.9
    for cell in rows[0].cells:
        assert 0 < cell.floors["sender"] < 1 and cell.half_width is not None
        assert cell.mean == pytest.approx(sum(run["accuracy"] for run in cell.runs) / 2)


def test_colours_are_those_of_the_paper(rows):
    cell = rows[0].cells[0]
    outcomes = [
        colour(replace(cell, figures={"accuracy": figure}))
        for figure in ((0.49, None), (0.5, None), (0.8, None), (0.81, None), None)
    ]
    assert outcomes == ["bad", "", "", "good", ""]


def test_the_paper_s_figures_are_below_ours(rows, printed):
    row = replace(rows[0], published={"hol": 0.123})
    assert "0.123" in printed(Budget().table(None, [row]))
    assert "0.123" not in printed(Budget().table(None, rows))


def test_a_mean_with_an_accuracy_of_1_is_a_lower_bound(rows, printed):
    cells = rows[0].cells
    runs = [{**run, "accuracy": accuracy} for run, accuracy in zip(cells[0].runs, (1.0, 0.9), strict=True)]
    cell = replace(cells[0], runs=tuple(runs), figures={"accuracy": (0.95, 0.1)})
    assert cell.bound("accuracy") == "lower"
    assert "≥0.950" in printed(Budget().table(None, [replace(rows[0], cells=(cell, *cells[1:]))]))
    below = replace(cell, runs=tuple({**run, "accuracy": 0.95} for run in runs))
    assert "≥" not in printed(Budget().table(None, [replace(rows[0], cells=(below,))]))


def test_without_a_seed_that_reaches_the_target_there_are_no_accuracies(printed):
    result = measure(models=("fc1l",), max_steps=5)
    row = result.rows[0]
    assert row.basis.mean is None and [cell.mean for cell in row.cells[1:]] == [None, None]
    assert "CONCAT reached 0.9 with 0 of 2 seeds within 5 updates" in row.reason
    assert "never" in printed(report_of(result).tables[0]) and "none" in printed(report_of(result).tables[0])
    assert any("raise --max-steps or lower --target" in note for note in report_of(result).notes)
    json.dumps(result.to_json(), allow_nan=False)


def test_the_floor_of_receivers_is_chance_level(printed):
    result = measure(role="receiver", channels=("soft", "gumbel"), grammars=("shuf",))
    rows = result.rows
    assert [row.channel for row in rows] == ["soft", "gumbel"]
    assert all(cell.floors["receiver"] == pytest.approx(1 / 3) for row in rows for cell in row.cells)
    assert "chance level" in printed(report_of(result).tables[0])


def test_held_out_meanings_are_measured():
    result = measure(held_out=0.25, seeds=(1,))
    assert all(0 <= held_out_of(cell) <= 1 for cell in result.rows[0].cells)
    assert any("held-out meanings" in note for note in report_of(result).notes)


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
    (other,) = rows_of(seeds=(1,), channels=("reinforce",), max_steps=20)
    assert other.signature != signature
