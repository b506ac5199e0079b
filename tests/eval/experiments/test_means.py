"""Tables over settings: means and intervals by hand, all forms, and records of sweeps and of run folders."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from msgspec import structs
from scipy import stats

from compared_sources import run
from ecsuite.eval.metrics.score import Score
from ecsuite.eval.results.results import Results
from ecsuite.eval.statistics.estimates import NO_INTERVAL
from ecsuite.eval.views.comparison import OVER_BLOCKS
from ecsuite.eval.views.means import OF_SOME, means_table, noise_notes
from ecsuite.runtime.errors import ConfigError


def record(kind, size, seed, topsim, **more):
    settings = {"channel.kind": kind, "channel.vocab_size": size}
    return run(
        name=f"{kind}-{size}-{seed}", settings=settings, seed=seed, measures={"accuracy": 0.5, "loss": 1.0},
        scores={"topsim": topsim}, **more,
    )  # fmt: skip


RECORDS = [
    record("gumbel", 5, 1, 0.1), record("gumbel", 5, 2, 0.3), record("gumbel", 20, 1, 0.5),
    record("reinforce", 5, 1, None), record("reinforce", 5, 2, None, failure="the loss is inf"),
]  # fmt: skip


def protocols(*accuracies, chance=0.25, rounds=100, **more):
    """Runs of one setting with these accuracies."""
    return [
        run(
            f"{seed}", {"channel.vocab_size": 5, "evaluation.num_valid": rounds}, seed,
            {"accuracy": accuracy, "loss": 1.0}, {"topsim": accuracy},
            training={"chance": {"accuracy": chance}}, **more,
        )
        for seed, accuracy in enumerate(accuracies)
    ]  # fmt: skip


def test_means_have_students_intervals():
    """12.706 is the 97.5 % point of Student's t with one degree of freedom; the standard error is 0.1."""
    table = Results(RECORDS).means()
    assert table.keys == ("channel.kind", "channel.vocab_size") and table.figures == ("accuracy", "topsim")
    cell = table.rows[0].cells[1]
    assert cell.mean == pytest.approx(0.2) and cell.half_width == pytest.approx(1.2706, abs=1e-4)
    assert table.rows[1].cells[1].half_width is None is table.rows[2].cells[1].mean
    assert (table.rows[2].num_runs, table.rows[2].num_failed) == (1, 1)
    [row, _] = Results(RECORDS).means(by=["channel.kind"], figures=["topsim"]).rows
    assert row.cells[0].mean == pytest.approx((0.2 + 0.5) / 2) and row.cells[0].num_values == 3
    assert row.cells[0].num_blocks == 2  # as one of two combinations has one run
    by_kind = Results(RECORDS).means(by=["channel.kind"], figures=["topsim"])
    assert OVER_BLOCKS in means_table(by_kind).notes and OVER_BLOCKS not in means_table(table).notes
    with pytest.raises(ConfigError, match=r"unknown setting 'channel.kid'; did you mean 'channel.kind'\?"):
        Results(RECORDS).means(by=["channel.kid"])
    with pytest.raises(ConfigError, match=r"unknown figure 'topsym'; did you mean 'topsim'\?"):
        Results(RECORDS).means(figures=["topsym"])


def test_intervals_end_at_the_possible_values_and_equal_values_have_none():
    values = {"a": (0.9, 0.96), "b": (0.4, 0.4), "c": (87, 93)}
    runs = [run(f"{row}{seed}", {"row": row}, seed, {"accuracy": value}, {})
            for row, pair in values.items() for seed, value in enumerate(pair)]  # fmt: skip
    first, equal, percent = (row.cells[0] for row in Results(runs).means(figures=["accuracy"]).rows)
    assert first.ci95 == (pytest.approx(0.93 - 12.706 * 0.03, abs=1e-4), 1.0) and equal.ci95 is None
    assert percent.ci95 == pytest.approx((90 - 12.706 * 3, 90 + 12.706 * 3), abs=1e-2)  # not shares
    [score] = Results(runs[:4]).compare(["accuracy"]).scores
    assert score.difference("row=a", "row=b").ci95[1] == pytest.approx(0.53 + 12.706 * 0.03, abs=1e-4)
    far = [
        run(f"{row}{seed}", {"row": row}, seed, {"accuracy": row / 2 + seed / 5}, {})
        for row in (0, 1)
        for seed in (0, 1)
    ]
    [difference] = Results(far).compare(["accuracy"]).differences
    assert difference.ci95 == (pytest.approx(0.5 - 4.302653 * 0.02**0.5, abs=1e-4), 1.0)


def test_seeds_that_formed_a_protocol_are_counted():
    """Of 100 rounds with chance .25, the exact interval of .34 begins at .2482, that of .35 at .2573."""
    found = [each.has_protocol for each in protocols(0.25, 0.34, 0.35, 1.0, 0.0)]
    assert found == [False, False, True, True, False]
    means = Results(protocols(0.25, 0.26, 0.9, 0.95, 0.99)).means()
    [row] = means.to_json()["rows"]
    interval = pytest.approx([0.1466, 0.9473], abs=1e-4)
    assert row["formed"] == {"number": 3, "of": 5, "share": 0.6, "ci95": interval}
    assert "3 of 5 [15%, 95%]" in str(means_table(means))
    guesses = np.random.default_rng(0).binomial(200, 0.25, 2000) / 200
    assert 0.005 < np.mean([each.has_protocol for each in protocols(*guesses, rounds=200)]) <= 0.025 + 0.01
    stopped, failed = (protocols(0.9, **more) for more in ({"stopped": "minutes"}, {"failure": "the loss is inf"}))
    assert [each.has_protocol for each in (*stopped, *failed, *protocols(0.9, chance=None))] == [None] * 3
    assert "protocol" not in str(means_table(Results(RECORDS).means()))
    assert "formed" not in Results(RECORDS).means().to_json()["rows"][0]


NEAR, FAR = [0.8, 0.82, 0.81], [0.1, 0.12, 0.11]


@pytest.mark.parametrize(
    ("rows", "score", "marked"),
    [
        ([NEAR, [0.79, 0.84, 0.8], FAR, [0.5]], "topsim", [True, True, False, False]),  # no test tells them apart
        ([NEAR, FAR, [0.11, 0.11]], "loss", [False, True, True]),
        ([NEAR, FAR], "num_symbols", [False, False]),
        ([NEAR, [None] * 3], "topsim", [False, False]),
        ([[0.9], [0.1]], "topsim", [False, False]),  # single runs are never marked
        ([[0.85], [0.8, 0.9, 0.7, 0.84], FAR], "topsim", [False, True, False]),
        ([[1.0] * 5, [1.0, 1.0, 0.98, 1.0, 0.99], [0.2, 0.21, 0.19]], "topsim", [True, True, False]),
        ([[0.1] * 3, [0.3] * 3], "topsim", [False, False]),  # no spread, from which no noise is known
    ],
)
def test_the_best_rows_are_marked(rows, score, marked):
    records = [run(f"{name}{seed}", {"row": name}, seed, {}, {score: value})
               for name, values in enumerate(rows) for seed, value in enumerate(values)]  # fmt: skip
    assert [row.cells[0].is_best for row in Results(records).means(figures=[score]).rows] == marked


def test_main_effects_are_over_the_other_settings_and_seeds():
    rng = np.random.default_rng(0)
    runs = [
        run(f"{length}{size}{seed}", {"max_len": length, "size": size}, seed, {},
            {"topsim": 0.1 * length + 0.3 * size + rng.normal(scale=0.08)})
        for length in (1, 2) for size in range(4) for seed in range(3)
    ]  # fmt: skip
    [effect] = Results(runs).compare(["topsim"], by=["max_len"]).differences
    cells = np.array([each.scores["topsim"] for each in runs]).reshape(2, 4, 3)
    errors = cells.var(2, ddof=1) / 3
    error, freedom = np.sqrt(errors.sum() / 16), errors.sum() ** 2 / (errors**2 / 2).sum()
    mean = cells[1].mean() - cells[0].mean()
    assert (effect.source, effect.mean) == ("max_len=2", pytest.approx(mean)) and effect.is_clear
    assert effect.p_value == pytest.approx(2 * stats.t.sf(mean / error, freedom))
    table = Results(runs).means(by=["max_len"])
    assert [row.cells[0].mean for row in table.rows] == pytest.approx(cells.mean((1, 2)))
    assert [row.cells[0].is_best for row in table.rows] == [False, True]
    missing = [each for each in runs if each.name != "200"]  # each combination weighs the same
    [effect] = Results(missing).compare(["topsim"], by=["max_len"]).differences
    by_size = [cells[1, size, (size == 0) :].mean() - cells[0, size].mean() for size in range(4)]
    assert effect.mean == pytest.approx(np.mean(by_size))


def test_only_combinations_that_all_have_are_compared():
    cells = {(1, 10): 0.9, (1, 20): 0.3, (2, 20): 0.5}
    runs = [
        run(f"{length}{size}{seed}", {"max_len": length, "size": size}, seed, {}, {"topsim": value + seed / 100})
        for (length, size), value in cells.items() for seed in (1, 2, 3)
    ]  # fmt: skip
    [score] = Results(runs).compare(["topsim"], by=["max_len"]).scores
    assert score.difference("max_len=2", "max_len=1").mean == pytest.approx(0.2)
    assert [row.cells[0].is_best for row in Results(runs).means(by=["max_len"]).rows] == [False, True]


def test_a_row_with_several_signatures_has_the_mean_of_one():
    """Distances of Hamming in three runs of each row, Euclidean ones in two."""
    runs = []
    for distance, seeds, value in (("hamming", (1, 2, 3), 0.2), ("euclid", (1, 2), 0.5)):
        for row, seed in product("ab", seeds):
            score = Score(name="topsim", value=value + seed / 100, signature=f"topsim|meaning_distance:{distance}|v:4")
            each = run(f"{row}{distance}{seed}", {"row": row, "world": distance}, seed, {}, {})
            runs.append(replace(each, records=(score,)))
    means = Results(runs).means(by=["row"])
    assert [(row.cells[0].mean, row.cells[0].num_values) for row in means.rows] == [(pytest.approx(0.22), 3)] * 2
    assert len(means.comparison.differences) == 1 and OF_SOME in means_table(means).notes


@pytest.mark.parametrize(
    ("noise", "expected"),
    [
        ([{"channel.noise.kind": "deletion", "evaluation.noise": False}], "without the noise"),
        ([{"channel.noise.kind": "deletion", "evaluation.noise": True}], "with the noise"),
        ([{"channel.noise.kind": "deletion", "evaluation.noise": True},
          {"channel.noise": "erasure", "evaluation.noise": False}], "some runs with the noise"),
        ([{"channel.noise": None}], None),
    ],
)  # fmt: skip
def test_a_table_says_with_what_noise_its_figures_are(noise, expected):
    sources = [run("a", settings, 1, {"accuracy": 0.5}, {"topsim": 0.1}) for settings in noise]
    lines = noise_notes(sources, ["accuracy", "topsim"])
    assert lines == [] if expected is None else lines[0].startswith(f"accuracy: {expected}")
    assert noise_notes(sources, ["topsim"]) == []


def test_forms_of_a_table():
    table = means_table(Results(RECORDS).means())
    assert table.markdown().splitlines()[2] == r"| gumbel | 5 | 2 | 0.500 | 0.200 \[-1.000, 1.000\] |"
    latex = table.latex().splitlines()
    assert latex[1] == r"\begin{tabular}{llrrr}" and r"\end{tabular}" in latex
    assert r"channel.vocab\_size" in latex[3] and r"0.200 {[}$-$1.000, 1.000{]} \\" in latex[5]
    assert NO_INTERVAL in table.notes and table.to_frame()["topsim_low"][0] == -1
    assert "1 (1 failed)" in str(table)


def test_undefined_scores_have_their_reason():
    runs = [run(f"{seed}", {"row": "a"}, seed, {}, {"topsim": value}) for seed, value in ((1, None), (2, 0.5))]
    undefined = replace(runs[0], records=(structs.replace(runs[0].records[0], reason="all distances are equal"),))
    table = means_table(Results([undefined, runs[1]]).means())
    assert "Undefined in some runs: topsim: all distances are equal." in table.notes


def test_all_columns_of_a_row_are_over_the_same_runs():
    """One score of the third run failed: the run counts neither in the accuracy nor in the other scores."""
    runs = [
        run(f"{row}{seed}", {"row": row}, seed, {"accuracy": 0.5 + seed / 10}, {"topsim": seed / 10}, failure=why)
        for row in "ab" for seed, why in ((1, None), (2, None), (3, "cbm: no memory"))
    ]  # fmt: skip
    for row in Results(runs).means().rows:
        assert (row.num_runs, row.num_failed) == (2, 1)
        assert [(cell.mean, cell.num_values) for cell in row.cells] == [
            (pytest.approx(0.65), 2),
            (pytest.approx(0.15), 2),
        ]
    with pytest.raises(ConfigError, match="a3: cbm: no memory"):
        Results([runs[2]]).compare(["topsim"])


def test_a_short_table_has_the_first_scores_of_each_question():
    names = ["topsim", "posdis", "bosdis", "cbm", "context_independence", "has", "zla", "Line Count", "hce"]
    runs = [
        run(f"{size}-{seed}", {"max_len": size}, seed, {"accuracy": 0.5}, dict.fromkeys(names, size + seed / 100))
        for size in (2, 5) for seed in (1, 2, 3)
    ]  # fmt: skip
    means = Results(runs).means()
    text = str(means_table(means, is_short=True))
    headings = text.splitlines()[0].split()
    assert headings[:3] == ["max_len", "runs", "accuracy"]
    assert {*headings[3:]} == {"topsim", "cbm", "has", "posdis", "zla"}
    assert "4 more scores, 3 with a best value: add --all" in text
    table = means_table(means)
    assert all(name.replace("_", " ") in str(table).replace("_", " ") for name in names) and "--all" not in str(table)
    assert means_table(means, is_short=True).csv() == table.csv()
