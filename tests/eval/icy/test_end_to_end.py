"""The end-to-end protocol on tiny languages."""

import json
from dataclasses import replace

import pytest

from ecsuite.eval.icy.benchmark import Icy
from ecsuite.eval.icy.end_to_end import EndToEnd
from ecsuite.eval.icy.study import StudyConfig, resolve
from ecsuite.jobs.graph import Runner

TINY = {
    "models": ("fc2l",),
    "receivers": ("fc2l",),
    "num_attributes": 2,
    "num_values": 3,
    "word_length": 2,
    "hidden_size": 16,
    "grammars": ("concat", "perm"),
    "target": 0.9,
    "max_steps": 20,
}


def measure(seeds=(1, 2), lr=0.01, folder=None, basis_cap=20_000, **settings):
    study = resolve(StudyConfig(protocol="end-to-end", seeds=seeds, **{**TINY, **settings}))
    study = replace(study, basis_cap=basis_cap, training=replace(study.training, lr=lr))
    return Icy().measure(study, Runner(folder=folder))


def report_of(result):
    return Icy().report(result.study, result)


@pytest.fixture(scope="module")
def result():
    return measure()


@pytest.fixture
def rows(result):
    return result.rows


def test_the_table_and_its_notes(result, printed):
    shown = printed(report_of(result).tables[0])
    assert "soft" in shown and "most frequent symbol" in shown and " 20 " in shown
    assert result.rows[0].signature in report_of(result).notes
    json.dumps(result.to_json(), allow_nan=False)
    row = replace(result.rows[0], published={"perm": 0.123})
    shown = printed(EndToEnd().table(result.study, [row]))
    assert "paper, 10,000" in shown and "0.123" in shown


def test_pairs_below_the_target_are_left_out(printed):
    result = measure(basis_cap=5, seeds=(1,))
    cells = result.rows[0].cells
    for cell in cells:
        assert cell.num_left_out == 1 and set(cell.figures.values()) == {None}
    assert "accuracy 0." in cells[0].runs[0]["reason"]
    assert cells[1].runs[0]["reason"] == "concat did not reach accuracy 0.9 within 5 updates"
    assert cells[1].runs[0]["taught"] == {}
    assert "left out" in printed(report_of(result).tables[0])
    assert any("1 of 1 runs left out" in note for note in report_of(result).notes)
    json.dumps(result.to_json(), allow_nan=False)


def test_agents_may_be_pretrained_over_the_same_channel():
    signature = measure(seeds=(1,), channels=("gumbel",), supervised="same", max_steps=2).rows[0].signature
    assert "|supervised:same|" in signature
