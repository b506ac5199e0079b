"""Findings hold for the paper's figures, and fail for changed ones."""

import pytest

from ecsuite.eval.concept_games.findings import Finding, check_findings
from ecsuite.eval.concept_games.result import MeasuredRow
from ecsuite.eval.concept_games.study import load_study


def rows(change=lambda name, figures: figures, seeds=1):
    """Table 1's rows with the published figures, changed."""
    study = load_study("paper/cbm_table1")
    return [
        MeasuredRow(
            row=row,
            runs=tuple(
                {"seed": seed, "values": change(row.name, dict(row.published))} for seed in range(seeds)
            ),
        )
        for row in study.rows
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
