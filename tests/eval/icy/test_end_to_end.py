"""The end-to-end protocol on tiny languages."""

import json
from dataclasses import replace

import pytest

from ecsuite.eval.icy import end_to_end
from ecsuite.eval.icy.benchmark import Icy
from ecsuite.eval.icy.end_to_end import MEASURES, EndToEnd, measured_curves
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


def test_every_cell_has_accuracies_and_floors(rows):
    for cell in rows[0].cells:
        assert cell.num_left_out == 0 and cell.figures.keys() == MEASURES.keys()
        assert cell.floors["receiver"] == pytest.approx(1 / 3)
        for name in MEASURES:
            mean, half_width = cell.figures[name]
            assert 0.3 < mean <= 1 and half_width is not None
    assert rows[0].cells[0].figures["end_to_end"][0] > 0.9


def test_agents_are_pretrained_to_the_target(rows):
    for cell in rows[0].cells:
        for run in cell.runs:
            assert all(run["taught"][role]["accuracy"] >= 0.9 for role in ("sender", "receiver"))


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


def test_a_pair_that_diverges_is_left_out_and_the_rest_is_shown(tmp_path, monkeypatch):
    """It was computed again and again: a loss of NaN cannot be kept as JSON."""
    train_pair = end_to_end.train_end_to_end

    def diverge(weights, *, seed, protocol, **options):
        how = replace(protocol, lr=1e38) if seed == 2 else protocol
        return train_pair(weights, seed=seed, protocol=how, **options)

    monkeypatch.setattr(end_to_end, "train_end_to_end", diverge)
    result = measure(folder=tmp_path, grammars=("concat",))
    assert [run["seed"] for run in result.rows[0].cells[0].runs] == [1]
    assert (
        report_of(result)
        .notes[0]
        .startswith("1 of 6 runs left out: fc2l and fc2l on concat, seed 2: the loss is nan")
    )
    json.dumps(result.to_json(), allow_nan=False)
    monkeypatch.setattr(end_to_end, "train_end_to_end", lambda *_, **__: pytest.fail("kept as failed"))
    assert measure(folder=tmp_path, grammars=("concat",)).failures == result.failures


def test_agents_may_be_pretrained_over_the_same_channel():
    signature = measure(seeds=(1,), channels=("gumbel",), supervised="same", max_steps=2).rows[0].signature
    assert "|supervised:same|" in signature


def test_every_row_has_curves(rows):
    found = measured_curves(rows[0])
    assert list(dict.fromkeys(curve.name for curve in found)) == ["CONCAT", "PERM"]
    assert all(len(curve.x) == len(curve.y) == 20 for curve in found)


def test_pairs_from_scratch_begin_without_an_update_of_pretraining():
    """Their symbols are at chance level in the language, of which they see nothing, and they agree on one of theirs."""
    (row,) = measure(seeds=(1,), supervised="none", max_steps=400, num_values=2).rows
    for cell in row.cells:
        (run,) = cell.runs
        assert [run["taught"][role]["steps"] for role in ("sender", "receiver")] == [0, 0]
        assert run["reason"] is None and run["curve"]["end_to_end"][0] < 0.8 < run["end_to_end"]
    assert "supervised:none" in row.signature and not row.published
