"""Findings hold for the paper's figures, and fail for changed ones."""

from dataclasses import replace

import pytest

from ecsuite.eval.experiments.cbm import Finding, check_findings, load_table, make_table, rows_of


def rows(change=lambda name, figures: figures, seeds=1):
    """Table 1's rows with the published figures, changed."""
    return [
        replace(
            row,
            runs=tuple(
                {"seed": seed, "values": change(row.name, dict(row.published))} for seed in range(seeds)
            ),
        )
        for row in rows_of(load_table("paper/cbm_table1"))
    ]


def test_the_paper_s_figures_obey_all_findings():
    findings = check_findings(rows(seeds=3))
    assert len(findings) == 4 + 2 + 1 + 2
    assert all(finding.holds and finding.num_holding == finding.num_seeds == 3 for finding in findings)
    lines = [str(finding) for finding in findings]
    assert lines[0] == (
        "holds, in 3 of 3 seeds: SHAPE, l=1: QT is at least as accurate as GS (accuracy 0.870 against 0.840)"
    )
    assert (
        "holds, in 3 of 3 seeds: THING, l=1: GS leaves concepts without a word, QT does not (unmatched 0.550 and 0.000)"
        in lines
    )
    assert (
        "holds, in 3 of 3 seeds: THING, GS: the match falls from rules of one pair to rules of four"
        in lines[-2]
    )


BREAKERS = {
    ("shape_qt_l4", "accuracy", 0.77): "SHAPE, l=4: QT is at least as accurate as GS",
    ("shape_gs", "unmatched", 0.0): "SHAPE, l=1: GS leaves concepts without a word, QT does not",
    ("thing_qt", "unmatched", 0.01): "THING, l=1: GS leaves concepts without a word, QT does not",
    ("thing_gs", "cbm", 0.73): "THING, l=1: QT has a better match than GS",
    ("thing_qt_l4", "cbm", 0.73): "THING, QT: the match falls from rules of one pair to rules of four",
}


@pytest.mark.sample(2)
@pytest.mark.parametrize("breaker", BREAKERS)
def test_each_finding_can_fail_alone(breaker):
    name, measure, value = breaker
    findings = check_findings(rows(lambda row, figures: figures | ({measure: value} if row == name else {})))
    failed = [finding for finding in findings if not finding.holds]
    assert [finding.claim for finding in failed] == [BREAKERS[breaker]]
    assert str(failed[0]).startswith(f"DOES NOT HOLD: {BREAKERS[breaker]} (")


def test_equal_accuracy_is_enough():
    findings = check_findings(rows(lambda name, figures: figures | {"accuracy": 0.9}))
    assert all(finding.holds for finding in findings)


def test_rows_without_a_partner_tell_nothing():
    assert check_findings(rows()[:1]) == []
    assert check_findings(rows()[5:6]) == []


def test_a_finding_that_fails_says_where_it_holds():
    some = Finding(
        claim="QT is ahead", holds=False, num_holding=2, num_seeds=6, figures="cbm 0.3 against 0.4"
    )
    assert str(some) == "DOES NOT HOLD (it does in 2 of 6 seeds): QT is ahead (cbm 0.3 against 0.4)"


def test_an_undefined_measure_is_not_0():
    """Before, "QT has a better match than GS (cbm 0.450 against 0.000)"."""
    changed = rows(lambda name, figures: figures | ({"cbm": None} if name == "thing_gs" else {}), seeds=2)
    unknown = [finding for finding in check_findings(changed) if finding.holds is None]
    assert [str(finding) for finding in unknown] == [
        "UNKNOWN (it does in 0 of 2 seeds, 2 unknown): THING, l=1: QT has a better match than GS "
        "(cbm 0.730 against none)",
        "UNKNOWN (it does in 0 of 2 seeds, 2 unknown): THING, GS: the match falls from rules of one pair to rules "
        "of four (cbm none against 0.240)",
    ]


def test_a_seed_that_failed_is_not_known():
    measured = [
        replace(row, runs=row.runs[:1], failures={1: "diverged"}) if row.name == "shape_qt" else row
        for row in rows(seeds=2)
    ]
    line = str(check_findings(measured)[0])
    assert line.startswith("holds, in 1 of 2 seeds, 1 unknown: SHAPE, l=1: QT is at least as accurate as GS")


def test_every_pair_of_rows_of_equal_settings_is_checked():
    """Before, the last row stood for all."""
    measured = rows()
    first = next(row for row in measured if row.name == "thing_qt")
    worse = replace(
        first,
        name="thing_qt_small",
        runs=({"seed": 0, "values": first.runs[0]["values"] | {"accuracy": 0.1}},),
    )
    lines = [str(finding) for finding in check_findings([worse, *measured])]
    about = [line for line in lines if "THING, l=1: QT is at least as accurate as GS" in line]
    assert [line.partition(": ")[0] for line in about] == ["DOES NOT HOLD", "holds"]
    assert "GS, thing_qt_small and thing_gs (" in about[0] and "GS, thing_qt and thing_gs (" in about[1]
    assert len(lines) == 9 + 4


def test_a_finding_that_rests_on_censored_accuracies_is_not_known():
    """An accuracy of 1 is at least as good as any other; of two of them nobody knows which is better."""
    claim = "SHAPE, l=1: QT is at least as accurate as GS"

    def found(quantized, gumbel):
        accuracies = {"shape_qt": quantized, "shape_gs": gumbel}
        changed = rows(lambda name, figures: figures | {"accuracy": accuracies.get(name, 0.5)})
        return changed, next(each for each in check_findings(changed) if each.claim == claim)

    for quantized, gumbel, holds in ((1.0, 0.9, True), (1.0, 1.0, None), (0.9, 1.0, False), (0.0, 0.0, None)):
        changed, finding = found(quantized, gumbel)
        assert (finding.holds, finding.num_unknown) == (holds, int(holds is None))
    table = make_table(changed, {"accuracy": "acc", "unmatched": "unm"})
    [first] = [row for row in table.rows if row.cells[0].text == "shape_qt" and row.cells[1].text == "here"]
    assert first.cells[2].text.startswith("≤") and not first.cells[3].text.startswith("≤")
