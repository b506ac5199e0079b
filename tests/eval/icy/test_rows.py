"""Rows: ratios, rounding, intervals and censoring on given runs, and their table and notes."""

import io
import json
from dataclasses import replace
from math import sqrt

import pytest
from rich.console import Console

from ecsuite.config import ConfigError
from ecsuite.eval.icy import rows as module
from ecsuite.eval.icy.protocol import Protocol
from ecsuite.eval.icy.published_acquisition import ACQUISITION
from ecsuite.eval.icy.rows import Cell, make_table, measure_rows, notes
from ecsuite.grammars.geometry import Geometry
from ecsuite.jobs.runner import JobRunner

SMALL = Geometry(num_attributes=2, num_values=3, word_length=2)
EXACT, PAPER = Protocol(), Protocol(name="paper")
STEPS = {
    "concat": {1: 100, 2: 200, 3: 50},
    "perm": {1: 110, 2: 190, 3: 60},
    "rot": {1: 1000, 2: 4000, 3: 300},
    "hol": {1: 2000, 2: 4000, 3: 1000},
}
"""By grammar and seed; seed 2 of ROT, and all of HOL, reach the cap of 20."""


@pytest.fixture
def recorded_jobs(monkeypatch):
    """Runs take the steps of `STEPS`, unless the cap or an early stop ends them; returns the runs of all jobs."""
    jobs = []

    def learn_and_report(*, model, runs, protocol, report_progress, **inputs):
        jobs.append((model, runs))
        outcomes = []
        for run in runs:
            steps, cap = STEPS[run.grammar][run.seed], run.cap or 10**9
            reached = steps < cap
            is_early = protocol.early_verdict and not reached
            outcomes.append(
                {
                    "grammar": run.grammar,
                    "seed": run.seed,
                    "steps": steps if reached else cap // 4 if is_early else cap,
                    "reached": reached,
                    "is_early": is_early,
                    "accuracy": 0.81 if reached else 0.5,
                    "floor": 0.25,
                    "held_out": 0.5 + run.seed / 10 if protocol.held_out else None,
                    "seconds": 1.0,
                }
            )
        return outcomes

    monkeypatch.setattr(module, "learn_and_report", learn_and_report)
    return jobs


def measured(
    *grammars, models=("lstm",), protocol=EXACT, seeds=(1, 2, 3), geometry=SMALL, role="sender", **options
):
    with JobRunner(num_workers=1, folder=None, progress=lambda *what: None) as runner:
        return measure_rows(
            models, role=role, geometry=geometry, grammars=grammars, seeds=seeds, protocol=protocol,
            runner=runner, **options,
        )  # fmt: skip


def cell(*ratios, reached=True, is_early=False, mean=None, half_width=None):
    """A cell of runs with these ratios; `reached` is one value for all, or one per run."""
    each = [reached] * len(ratios) if isinstance(reached, bool) else reached
    runs = tuple(
        {"ratio": ratio, "reached": did, "is_early": is_early and not did}
        for ratio, did in zip(ratios, each, strict=True)
    )
    return Cell(
        grammar="rot",
        runs=runs,
        mean=sum(ratios) / len(ratios) if mean is None else mean,
        half_width=half_width,
        num_censored=each.count(False),
    )


@pytest.mark.parametrize(
    ("what", "text", "style"),
    [
        (cell(2.0, 3.0, half_width=0.5), "2.50\n±0.50", "green"),
        (cell(6.66), "6.66", "green"),
        (cell(6.67), "6.67", ""),
        (cell(12.34, half_width=1.25), "12.3\n±1.2", ""),
        (cell(123.4, half_width=10.6), "123\n±11", ""),
        (cell(20.0, 20.0, reached=False, half_width=0.0), ">20", "red"),
        (cell(5.0, 5.0, reached=False, is_early=True), "stopped early", "red"),
        (cell(5.0, 20.0, reached=[True, False]), "≥12.5\n1/2 capped", ""),
        (cell(1.0, 5.0, 5.0, reached=[True, False, False], is_early=True), "≥3.67\n2/3 stopped", ""),
        (cell(0.0, 0.0, half_width=0.0), "0.00\n±0.00", "green"),
    ],
)
def test_text_and_colour_of_a_cell(what, text, style):
    assert (what.text(20.0), what.style(20.0)) == (text, style)


def test_colours_depend_on_the_cap():
    """Green is less than a third of the cap: 1.5 of 6, not of 3."""
    assert cell(1.5).style(6.0) == "green"
    assert cell(1.5).style(3.0) == ""
    assert cell(3.0, reached=False).text(3.0) == ">3"
    assert cell(2.5, reached=False).text(2.5) == ">2.5"


def test_ratios_are_of_runs_with_the_same_seed(recorded_jobs):
    (row,) = measured("perm")
    (perm,) = row.cells
    assert [run["ratio"] for run in perm.runs] == pytest.approx([1.1, 0.95, 1.2])
    assert perm.mean == pytest.approx(3.25 / 3)
    deviation = sqrt(sum((value - 3.25 / 3) ** 2 for value in (1.1, 0.95, 1.2)) / 2)
    assert perm.half_width == pytest.approx(4.3026527 * deviation / sqrt(3))
    assert row.concat_steps["mean"] == pytest.approx(350 / 3)
    assert [run["steps"] for run in row.concat_steps["runs"]] == [100, 200, 50]
    assert row.seeds == (1, 2, 3)


def test_the_paper_rounds_every_ratio_and_its_interval_is_narrower(recorded_jobs):
    (row,) = measured("perm", protocol=PAPER)
    (perm,) = row.cells
    ratios = [1.1, 0.9, 1.2]  # 190 / 200 = 0.95 is less than that in binary
    assert [run["ratio"] for run in perm.runs] == ratios
    mean = sum(ratios) / 3
    assert perm.mean == pytest.approx(mean)
    assert perm.half_width == pytest.approx(1.96 * sqrt(sum((x - mean) ** 2 for x in ratios) / 3) / sqrt(3))


def test_stopped_runs_give_a_lower_bound(recorded_jobs):
    (row,) = measured("rot", "hol")
    rot, hol = row.cells
    assert (rot.num_censored, rot.mean, rot.half_width) == (1, pytest.approx((10 + 20 + 6) / 3), None)
    assert (hol.num_censored, hol.mean, hol.half_width) == (3, 20, None)
    assert [run["reached"] for run in rot.runs] == [True, False, True]
    assert (rot.text(20), hol.text(20)) == ("≥12.0\n1/3 capped", ">20")


def test_protocol_paper_takes_the_mean_of_all_runs(recorded_jobs):
    (row,) = measured("rot", "hol", protocol=PAPER)
    rot, hol = row.cells
    mean = 12
    assert rot.half_width == pytest.approx(1.96 * sqrt(((10 - mean) ** 2 + 8**2 + 6**2) / 3) / sqrt(3))
    assert (hol.mean, hol.half_width) == (20, 0)


def test_each_seed_has_the_cap_of_its_own_concat(recorded_jobs):
    measured("rot", protocol=replace(EXACT, cap_ratio=2.5))
    caps = {(run.grammar, run.seed): run.cap for _, runs in recorded_jobs for run in runs}
    assert caps == {
        ("concat", 1): caps["concat", 1], ("concat", 2): caps["concat", 2], ("concat", 3): caps["concat", 3],
        ("rot", 1): 250, ("rot", 2): 500, ("rot", 3): 125,
    }  # fmt: skip


def test_early_stops_and_caps_are_distinguished(recorded_jobs):
    (row,) = measured("hol", protocol=replace(EXACT, early_verdict=True))
    (hol,) = row.cells
    assert hol.is_early
    assert (hol.text(20), hol.style(20), hol.mean) == ("stopped early", "red", 5)
    assert any(
        line.startswith("lstm HOL: 3 of 3 runs stopped early (early_verdict), at accuracy 0.500 ")
        for line in notes([row], replace(EXACT, early_verdict=True))
    )


@pytest.mark.parametrize("concat", [0, 1])
def test_zero_steps_on_concat_cause_no_division_by_zero(recorded_jobs, monkeypatch, concat):
    """The published program's first measurement may come before any step."""
    monkeypatch.setitem(STEPS, "concat", dict.fromkeys((1, 2, 3), concat))
    (row,) = measured("perm", protocol=replace(PAPER, cap_ratio=1000))
    assert all(run["ratio"] >= 0 for run in row.cells[0].runs)
    json.dumps(row.to_json(), allow_nan=False)


def test_one_seed_has_no_interval(recorded_jobs):
    (row,) = measured("perm", seeds=(1,))
    assert (row.cells[0].mean, row.cells[0].half_width) == (pytest.approx(1.1), None)
    assert row.concat_steps["half_width"] is None
    assert row.cells[0].text(20) == "1.10"
    assert "±" not in notes([row], EXACT)[0]


@pytest.mark.parametrize(
    ("seeds", "text"),
    [
        ((1,), "one seed (1), "),
        ((1, 2), "2 seeds (1 to 2), "),
        ((3, 1, 2), "3 seeds (3, 1, 2), "),
        ((1, 3), "2 seeds (1, 3), "),
    ],
)
def test_notes_begin_with_the_seeds(recorded_jobs, seeds, text):
    rows = measured("perm", seeds=seeds)
    assert notes(rows, EXACT)[0].startswith(text + "protocol exact: updates to accuracy 0.8, ")


def test_notes_name_stopped_runs_and_the_floor(recorded_jobs):
    lines = notes(measured("rot", "hol"), EXACT)
    assert lines[1] == (
        "lstm ROT: 1 of 3 runs stopped at 20 x CONCAT, at accuracy 0.500 (always the most frequent symbol: 0.250)."
    )
    assert lines[2].startswith("lstm HOL: 3 of 3 runs stopped at 20 x CONCAT, ")
    assert lines[3].startswith("lstm: icy|sender:lstm|2x3|w2|V4|seeds:1,2,3|exact|target:0.8|cap:20|")
    assert len(lines) == 4


def test_notes_name_the_chance_level_of_receivers(recorded_jobs):
    lines = notes(measured("rot", role="receiver"), EXACT)
    assert lines[1].endswith("at accuracy 0.500 (chance level: 0.250).")


def test_notes_have_held_out_accuracy_also_of_concat(recorded_jobs):
    protocol = replace(EXACT, held_out=0.25)
    lines = notes(measured("perm", protocol=protocol), protocol)
    assert "lstm, accuracy on held-out meanings at the end: CONCAT 0.700, PERM 0.700." in lines
    assert not any("held-out meanings" in line for line in notes(measured("perm"), EXACT))


def printed(rows, protocol=EXACT, width=150):
    buffer = io.StringIO()
    Console(file=buffer, width=width).print(make_table(rows, protocol))
    return buffer.getvalue()


def test_the_table_s_figures_are_those_of_the_json(recorded_jobs):
    rows = measured("perm", "rot", "hol", models=("lstm", "husendz:dgsend"))
    data = json.loads(json.dumps([row.to_json() for row in rows], allow_nan=False))
    lines = [line.split() for line in printed(rows).splitlines() if line.split()]
    assert lines[0] == ["model", "params", "CONCAT", "PERM", "ROT", "HOL"]
    for row, line, below in zip(data, lines[2::2], lines[3::2], strict=True):
        perm, rot, hol = row["cells"]
        assert line == [
            row["model"], f"{row['parameters']:,}", f"{row['concat_steps']['mean']:.0f}", f"{perm['mean']:.2f}",
            f"≥{rot['mean']:.1f}", ">20",
        ]  # fmt: skip
        assert below == [
            f"±{row['concat_steps']['half_width']:.0f}",
            f"±{perm['half_width']:.2f}",
            "1/3",
            "capped",
        ]
        assert hol["num_censored"] == len(hol["runs"]) == 3


def test_grammars_and_models_keep_the_requested_order(recorded_jobs):
    rows = measured("rot", "perm", models=("gru", "fc1l", "lstm"))
    assert [row.model for row in rows] == ["gru", "fc1l", "lstm"]
    assert all([cell.grammar for cell in row.cells] == ["rot", "perm"] for row in rows)


def test_models_have_their_canonical_names(recorded_jobs):
    (row,) = measured("perm", models=("RNNAutoReg:LSTM",))
    assert row.model == "lstm"
    assert row.signature.startswith("icy|sender:lstm|")


def test_the_paper_s_figures_are_shown_for_the_standard_geometry(recorded_jobs):
    rows = measured("perm", "rot", "hol", geometry=Geometry())
    assert rows[0].published == ACQUISITION["table15"]["lstm"]
    lines = [line.split() for line in printed(rows).splitlines() if line.split()]
    assert lines[-2:] == [["the", "paper", "1.08", "6.3", ">20"], ["±0.1", "±1"]]
    (other,) = measured("perm", geometry=Geometry(), table="table12")
    assert other.published == ACQUISITION["table12"]["lstm"]


def test_a_lower_cap_of_ours_does_not_cap_the_paper(recorded_jobs):
    protocol = replace(EXACT, cap_ratio=3)
    rows = measured("rot", "hol", geometry=Geometry(), protocol=protocol)
    assert [line.split() for line in printed(rows, protocol).splitlines() if "the paper" in line] == [
        ["the", "paper", "6.3", ">20"]
    ]


@pytest.mark.parametrize(
    "changes",
    [
        {"geometry": SMALL},
        {"protocol": replace(EXACT, hidden_size=1280)},
        {"protocol": replace(EXACT, target=0.9)},
        {"models": ("transformer-3l",)},
        {"role": "receiver"},
    ],
    ids=["geometry", "width", "target", "model", "role"],
)
def test_the_paper_s_figures_are_hidden_for_other_settings(recorded_jobs, changes):
    rows = measured("perm", **{"geometry": Geometry(), **changes})
    assert rows[0].published == {}
    assert "the paper" not in printed(rows)


def test_a_grammar_that_the_paper_did_not_measure_has_an_empty_cell(recorded_jobs, monkeypatch):
    monkeypatch.setitem(STEPS, "pairsum", {1: 300, 2: 300, 3: 300})
    rows = measured("pairsum", "perm", geometry=Geometry())
    assert [line.split() for line in printed(rows).splitlines() if "the paper" in line] == [
        ["the", "paper", "1.08"]
    ]


@pytest.mark.parametrize("num_workers", [1, 2])
@pytest.mark.parametrize("model", ["lstm", "fc1l", "hashtable"])
def test_every_seed_of_every_grammar_is_in_exactly_one_job(recorded_jobs, monkeypatch, num_workers, model):
    """For any grouping of runs; the test does not need the two worker processes."""
    monkeypatch.setattr(JobRunner, "_run_in_pool", JobRunner._run_here)
    seeds = tuple(range(1, 8))
    for grammar in ("concat", "perm"):
        monkeypatch.setitem(STEPS, grammar, dict.fromkeys(seeds, 100))
    with JobRunner(num_workers=num_workers, folder=None, progress=lambda *what: None) as runner:
        (row,) = measure_rows(
            (model,),
            role="sender",
            geometry=SMALL,
            grammars=("perm",),
            seeds=seeds,
            protocol=EXACT,
            runner=runner,
        )
    done = [(run.grammar, run.seed) for _, runs in recorded_jobs for run in runs]
    assert sorted(done) == sorted((grammar, seed) for grammar in ("concat", "perm") for seed in seeds)
    assert [run["seed"] for run in row.cells[0].runs] == list(seeds)


def test_cached_results_are_reused_unless_a_setting_changes(recorded_jobs, tmp_path):
    def measure(num_runs, **changes):
        recorded_jobs.clear()
        given = {"models": ("lstm",), "geometry": SMALL, "protocol": EXACT, "role": "sender"} | changes
        with JobRunner(num_workers=1, folder=tmp_path, progress=lambda *what: None) as runner:
            found = measure_rows(grammars=("perm",), seeds=(1,), runner=runner, **given)
        assert sum(len(runs) for _, runs in recorded_jobs) == num_runs
        return [row.to_json() for row in found]

    first = measure(2)
    assert measure(0) == first
    measure(0, models=("LSTM",))
    for changes in (
        {"models": ("gru",)},
        {"role": "receiver"},
        {"geometry": replace(SMALL, word_length=3)},
        {"protocol": replace(EXACT, hidden_size=64)},
        {"protocol": replace(EXACT, clip=5.0)},
        {"protocol": PAPER},
        {"save_corpora": tmp_path / "said"},
    ):
        measure(2, **changes)
    assert measure(0) == first


def test_unknown_names_are_rejected_before_training(recorded_jobs):
    with pytest.raises(ConfigError, match="unknown sender 'lstn'"):
        measured("perm", models=("gru", "lstn"))
    assert not recorded_jobs
