"""Findings hold for the paper's figures, and fail for changed ones."""

from dataclasses import replace

from ecsuite.eval.experiments.cbm import check_findings, load_table, make_table, rows_of


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


def test_a_seed_that_failed_is_not_known():
    measured = [
        replace(row, runs=row.runs[:1], failures={1: "diverged"}) if row.name == "shape_qt" else row
        for row in rows(seeds=2)
    ]
    line = str(check_findings(measured)[0])
    assert line.startswith("holds, in 1 of 2 seeds, 1 unknown: SHAPE, l=1: QT is at least as accurate as GS")


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
