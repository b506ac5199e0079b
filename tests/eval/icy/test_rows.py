"""Rows: ratios, rounding, intervals and censoring of given runs, and their table and notes."""

import json
from math import sqrt

import pytest
from scipy import stats

from ecsuite.eval.icy.benchmark import Icy
from ecsuite.eval.icy.jobs import plan
from ecsuite.eval.icy.protocol import ACQUISITION
from ecsuite.eval.icy.single_agents import cell_text
from ecsuite.eval.icy.study import StudyConfig, resolve
from ecsuite.eval.statistics.estimates import NO_INTERVAL
from ecsuite.jobs.job import Result
from ecsuite.runtime.errors import ConfigError

SMALL = {"num_attributes": 2, "num_values": 3, "word_length": 2}
STEPS = {
    "concat": {1: 100, 2: 200, 3: 50},
    "perm": {1: 110, 2: 190, 3: 60},
    "rot": {1: 1000, 2: 4000, 3: 300},
    "hol": {1: 2000, 2: 4000, 3: 1000},
    "pairsum": dict.fromkeys((1, 2, 3), 300),
}
"""By grammar and seed; seed 2 of ROT, and all of HOL, reach the cap of 20."""


def collected(*grammars, steps=STEPS, failures=(), **settings):
    """The result of a study whose runs take these steps, unless the cap or an early stop ends them."""
    given = {"models": ("lstm",), "grammars": grammars, "seeds": (1, 2, 3), **SMALL, **settings}
    study = resolve(StudyConfig(**given))
    results = {}
    for (_, _, grammar, seed), job in plan(study).items():
        if (grammar, seed) in failures or ("concat", seed) in failures:
            results[job] = Result(value=None, failure=f"concat, seed {seed}: the loss is not finite")
            continue
        cap = job.inputs["cap"] * (steps["concat"][seed] if job.inputs["basis"] else 1)
        taken = steps[grammar][seed]
        reached = taken < cap
        is_early = job.inputs["protocol"].early_stop and not reached
        value = {
            "is_trained": True, "grammar": grammar, "seed": seed, "reached": reached, "is_early": is_early,
            "steps": taken if reached else int(cap) // 4 if is_early else int(cap), "floor": 0.25,
            "accuracy": 0.81 if reached else 0.5,
            "held_out": 0.5 + seed / 10 if study.training.held_out else None,
        }  # fmt: skip
        results[job] = Result(value=value, seconds=1.0)
    return Icy().collect(study, results)


def report_of(result):
    return Icy().report(result.study, result)


def only_row(*grammars, **settings):
    (row,) = collected(*grammars, **settings).rows
    return row


def notes(*grammars, **settings):
    return report_of(collected(*grammars, **settings)).notes


def shown(what, cap=20.0):
    found = cell_text(what, cap)
    return "\n".join(found.lines), found.role


def test_equal_accuracies_have_the_exact_interval_and_equal_ratios_none():
    found = report_of(collected("perm", protocol="budget"))
    low = stats.beta.ppf(0.025, 2.43, 3 - 2.43 + 1)  # 2.43 of 3, Clopper and Pearson
    assert f"[{low:.3f}, 1.000]" in str(found.tables[0])
    assert found.data["rows"][0]["cells"][0]["half_width"] == pytest.approx(0.81 - low)
    twice = {"concat": STEPS["concat"], "perm": {seed: 2 * steps for seed, steps in STEPS["concat"].items()}}
    for settings in ({}, {"protocol": "paper"}):
        found = report_of(collected("perm", steps=twice, **settings))
        assert NO_INTERVAL in found.notes and found.data["rows"][0]["cells"][0]["half_width"] is None
        assert "±0.0" not in str(found.tables[0])
    assert NO_INTERVAL not in notes("perm") + notes("rot")


def test_ratios_are_of_runs_with_the_same_seed():
    row = only_row("perm")
    (perm,) = row.cells
    assert [run["ratio"] for run in perm.runs] == pytest.approx([1.1, 0.95, 1.2])
    assert perm.mean == pytest.approx(3.25 / 3) and row.basis.mean == pytest.approx(350 / 3)
    deviation = sqrt(sum((value - 3.25 / 3) ** 2 for value in (1.1, 0.95, 1.2)) / 2)
    assert perm.half_width == pytest.approx(4.3026527 * deviation / sqrt(3))
    (perm,) = only_row("perm", protocol="paper").cells
    ratios = [1.1, 0.9, 1.2]  # 190 / 200 = 0.95 is less than that in binary
    assert [run["ratio"] for run in perm.runs] == ratios
    mean = sum(ratios) / 3
    assert perm.mean == pytest.approx(mean)
    assert perm.half_width == pytest.approx(1.96 * sqrt(sum((x - mean) ** 2 for x in ratios) / 3) / sqrt(3))


def test_runs_that_failed_are_left_out_and_named():
    result = collected("perm", "rot", failures=[("concat", 2), ("rot", 3)])
    row = result.rows[0]
    assert [[run["seed"] for run in cell.runs] for cell in row.cells] == [[1, 3], [1]]
    assert row.seeds == (1, 3) and "|seeds:1,3|" in row.signature
    assert report_of(result).notes[0] == "3 of 9 runs left out: concat, seed 2: the loss is not finite"
    result = collected("perm", "rot", failures=[("rot", seed) for seed in (1, 2, 3)])
    assert shown(result.rows[0].cells[1])[0] == "none"
    assert report_of(result).tables
    json.dumps(result.to_json(), allow_nan=False)
    steps = STEPS | {"concat": {1: 100, 2: 10**6, 3: 50}}
    with pytest.raises(ConfigError) as error:
        collected("perm", steps=steps)
    assert str(error.value) == (
        "lstm does not reach accuracy 0.8 on CONCAT in 100,000 updates (seed 2): lower --target or raise --hidden-size"
    )


def test_stopped_runs_give_a_lower_bound():
    rot, hol = only_row("rot", "hol").cells
    assert (rot.num_left_out, rot.mean, rot.half_width) == (1, pytest.approx((10 + 20 + 6) / 3), None)
    assert (hol.num_left_out, hol.mean, hol.half_width) == (3, 20, None)
    assert [run["reached"] for run in rot.runs] == [True, False, True]
    assert (shown(rot)[0], shown(hol)[0]) == ("≥12.0\n(1/3 capped)", ">20")
    rot, hol = only_row("rot", "hol", protocol="paper").cells
    mean = 12
    assert rot.half_width == pytest.approx(1.96 * sqrt(((10 - mean) ** 2 + 8**2 + 6**2) / 3) / sqrt(3))
    assert (hol.mean, hol.half_width) == (20, None)
    row = only_row("perm", seeds=(1,))
    assert (row.cells[0].mean, row.cells[0].half_width) == (pytest.approx(1.1), None)
    assert row.basis.half_width is None
    assert shown(row.cells[0])[0] == "1.10"
    assert "±" not in notes("perm", seeds=(1,))[0]


def test_notes_name_stopped_runs_and_accuracies():
    lines = notes("rot", "hol")
    assert lines[1] == (
        "lstm ROT: 1 of 3 runs stopped at 20 x CONCAT, at accuracy 0.500 (always the most frequent symbol: 0.250)."
    )
    assert lines[2].startswith("lstm HOL: 3 of 3 runs stopped at 20 x CONCAT, ")
    assert lines[3].startswith("lstm: icy|sender:lstm|2x3|w2|V4|seeds:1,2,3|exact|target:0.8|cap:20|")
    assert len(lines) == 4
    told = "lstm, accuracy on held-out meanings at the end: CONCAT 0.700, PERM 0.700."
    assert told in notes("perm", held_out=0.25)
    assert not any("held-out meanings" in line for line in notes("perm"))


@pytest.fixture
def lines_of(printed):
    """The words of each line of the table."""

    def lines_of(*grammars, **settings):
        text = printed(report_of(collected(*grammars, **settings)).tables[0])
        return [line.split() for line in text.splitlines() if line.split()]

    return lines_of


def test_the_table_s_figures_are_those_of_the_json(lines_of):
    given = {"models": ("lstm", "husendz:dgsend")}
    result = collected("perm", "rot", "hol", **given)
    data = json.loads(json.dumps(result.to_json(), allow_nan=False))["rows"]
    lines = lines_of("perm", "rot", "hol", **given)
    assert lines[0] == ["model", "params", "CONCAT", "PERM", "ROT", "HOL"]
    for row, line, below in zip(data, lines[2::2], lines[3::2], strict=True):
        perm, rot, hol = row["cells"]
        assert line == [
            row["model"], f"{row['parameters']:,}", f"{row['concat_steps']['mean']:.0f}", f"{perm['mean']:.2f}",
            f"≥{rot['mean']:.1f}", ">20",
        ]  # fmt: skip
        widths = [row["concat_steps"]["half_width"], perm["half_width"]]
        assert below == [f"±{widths[0]:.0f}", f"±{widths[1]:.2f}", "(1/3", "capped)"]
        assert hol["num_censored"] == len(hol["runs"]) == 3


PUBLISHED_SIZES = {"num_attributes": 5, "num_values": 10, "word_length": 4}


def test_the_paper_s_figures_are_shown_for_the_standard_geometry(lines_of):
    row = only_row("perm", "rot", "hol", **PUBLISHED_SIZES)
    assert row.published == ACQUISITION["table15"]["lstm"]
    lines = lines_of("perm", "rot", "hol", **PUBLISHED_SIZES)
    assert lines[-2:] == [["the", "paper", "1.08", "6.3", ">20"], ["±0.1", "±1"]]
    other = only_row("perm", published="table12", **PUBLISHED_SIZES)
    assert other.published == ACQUISITION["table12"]["lstm"]
    lines = lines_of("rot", "hol", cap_ratio=3, **PUBLISHED_SIZES)
    assert [line for line in lines if line[0] == "the"] == [["the", "paper", "6.3", ">20"]]


@pytest.mark.parametrize(
    "changes",
    [SMALL, {"hidden_size": 1280}, {"target": 0.9}, {"models": ("transformer-3l",)}, {"role": "receiver"}],
    ids=["geometry", "width", "target", "model", "role"],
)
def test_the_paper_s_figures_are_hidden_for_other_settings(lines_of, changes):
    given = PUBLISHED_SIZES | changes
    assert only_row("perm", **given).published == {}
    assert not any(line[:2] == ["the", "paper"] for line in lines_of("perm", **given))
