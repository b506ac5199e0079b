"""The budget protocol on tiny languages."""

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


@pytest.fixture(scope="module")
def rows():
    return measure().rows


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


def test_held_out_meanings_are_measured():
    result = measure(held_out=0.25, seeds=(1,))
    assert all(0 <= held_out_of(cell) <= 1 for cell in result.rows[0].cells)
    assert any("held-out meanings" in note for note in report_of(result).notes)
