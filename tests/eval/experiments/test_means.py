"""Tables over settings: means and intervals by hand, all forms, and records of sweeps and of run folders."""

import csv
import io
import json

import numpy as np
import pytest
from compared_sources import run
from scipy import stats

from ecsuite.eval.results.results import Results
from ecsuite.eval.views.comparison import means_table, noise_notes
from ecsuite.files.checksums import sealed_text
from ecsuite.runtime.errors import ConfigError, DamagedError


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


def test_means_have_students_intervals():
    table = Results(RECORDS).means()
    assert table.keys == ("channel.kind", "channel.vocab_size") and table.figures == ("accuracy", "topsim")
    assert [row.settings for row in table.rows] == [("gumbel", 5), ("gumbel", 20), ("reinforce", 5)]
    cell = table.rows[0].cells[1]
    # 12.706 is the 97.5 % point of Student's t with one degree of freedom; the standard error is 0.1.
    assert cell.mean == pytest.approx(0.2) and cell.half_width == pytest.approx(1.2706, abs=1e-4)
    assert table.rows[1].cells[1].half_width is None is table.rows[2].cells[1].mean
    assert (table.rows[2].num_runs, table.rows[2].num_failed) == (1, 1)


def test_rows_are_means_over_all_settings_that_are_not_named():
    table = Results(RECORDS).means(by=["channel.kind"], figures=["topsim", "loss"])
    assert [row.settings for row in table.rows] == [("gumbel",), ("reinforce",)]
    assert (
        table.rows[0].cells[0].mean == pytest.approx((0.2 + 0.5) / 2)
        and table.rows[0].cells[0].num_values == 3
    )
    assert Results(RECORDS).means(by=[]).rows[0].num_runs == 4


def test_forms():
    table = means_table(Results(RECORDS).means())
    assert table.markdown().splitlines()[:3] == [
        "| channel.kind | channel.vocab_size | runs | accuracy | topsim |",
        "| --- | --- | ---: | ---: | ---: |",
        "| gumbel | 5 | 2 | 0.500 ± 0.000 | 0.200 ± 1.271 |",
    ]
    latex = table.latex().splitlines()
    assert latex[1] == r"\begin{tabular}{llrrr}" and latex[-1] == r"\end{tabular}"
    assert r"channel.vocab\_size" in latex[3] and r"0.200 $\pm$ 1.271 \\" in latex[5]
    rows = list(csv.DictReader(io.StringIO(table.csv())))
    assert (
        float(rows[0]["topsim_low"]) == pytest.approx(0.2 - 1.2706, abs=1e-4) and rows[0]["topsim_n"] == "2"
    )
    assert rows[1]["topsim_low"] == "" and rows[2]["topsim"] == "" and rows[2]["runs_failed"] == "1"
    assert "1 (1 failed)" in str(table)
    assert json.loads(json.dumps(Results(RECORDS).means().to_json()))["rows"][2]["num_failed"] == 1


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


def test_seeds_that_formed_a_protocol_are_counted():
    """Of 100 rounds with chance .25, the exact interval of .34 begins at .2482, that of .35 at .2573."""
    assert [each.has_protocol for each in protocols(0.25, 0.34, 0.35, 1.0, 0.0)] == [
        False,
        False,
        True,
        True,
        False,
    ]
    means = Results(protocols(0.25, 0.26, 0.9, 0.95, 0.99)).means()
    [row] = means.to_json()["rows"]
    assert row["formed"] == {
        "number": 3,
        "of": 5,
        "share": 0.6,
        "ci95": pytest.approx([0.1466, 0.9473], abs=1e-4),
    }
    shown = means_table(means)
    assert "3 of 5 [15%, 95%]" in str(shown) and "the mean may be far from all seeds" in str(shown)
    assert next(iter(csv.DictReader(io.StringIO(shown.csv()))))["protocol_high"][:4] == "0.94"
    assert "the mean may be far" not in str(means_table(Results(protocols(0.9, 0.95)).means()))


def test_a_protocol_is_not_known_of_runs_that_are_not_whole_or_have_no_chance_level():
    stopped, failed = (
        protocols(0.9, **more) for more in ({"stopped": "minutes"}, {"failure": "the loss is inf"})
    )
    assert [each.has_protocol for each in (*stopped, *failed, *protocols(0.9, chance=None))] == [None] * 3
    assert "protocol" not in str(means_table(Results(RECORDS).means()))
    assert "formed" not in Results(RECORDS).means().to_json()["rows"][0]
    naming = run(
        "n", {"evaluation.num_valid": 9}, 1, {"accuracy": 1.0}, {}, training={"chance": {"accuracy": 0.1}}
    )
    assert naming.has_protocol is None


def test_agents_that_guess_form_no_protocol_more_often_than_the_rule_says():
    rng = np.random.default_rng(0)
    guesses = rng.binomial(200, 0.25, 2000) / 200
    assert 0.005 < np.mean([each.has_protocol for each in protocols(*guesses, rounds=200)]) <= 0.025 + 0.01


def marked(rows, score="topsim"):
    """Which rows of values are marked in a table."""
    records = [
        run(f"{name}{seed}", {"row": name}, seed, {}, {score: value})
        for name, values in zip("abcdefgh", rows, strict=False)
        for seed, value in enumerate(values)
    ]
    return [row.cells[0].is_best for row in Results(records).means(figures=[score]).rows]


def test_the_best_rows_are_those_that_no_test_tells_apart():
    near, far, one = [0.8, 0.82, 0.81], [0.1, 0.12, 0.11], [0.5]
    assert marked([near, [0.79, 0.84, 0.8], far, one]) == [True, True, False, False]
    assert marked([near, far, [0.11, 0.11]], "loss") == [False, True, True]
    assert marked([near, far], "num_symbols") == [False, False] == marked([near, [None] * 3])
    table = Results(
        [
            record(kind, 5, seed, value)
            for kind, values in (("a", near), ("b", far))
            for seed, value in enumerate(values)
        ]
    ).means()
    assert [row.cells[1].is_best for row in table.rows] == [True, False]
    shown = means_table(table)
    assert "**0.810 ± 0.025**" in shown.markdown() and r"\textbf{0.810 $\pm$ 0.025}" in shown.latex()
    assert "*" not in str(shown)
    assert [row.cells[0].is_best for row in table.rows] == [False, False]  # accuracy is shown, not compared


def test_single_runs_are_never_marked():
    """The larger of two runs was bold, in LaTeX too."""
    assert marked([[0.9], [0.1]]) == [False, False] == marked([[0.9], [0.1, 0.11, 0.12]])
    assert marked([[0.85], [0.8, 0.9, 0.7, 0.84], [0.1, 0.11, 0.1]]) == [False, True, False]


def test_equal_values_of_one_row_do_not_tell_it_apart_from_one_with_a_spread():
    """Of rows at their ceiling one is often without a spread; the others may still be as good."""
    assert marked([[1.0] * 5, [1.0, 1.0, 0.98, 1.0, 0.99], [0.2, 0.21, 0.19]]) == [True, True, False]
    assert marked([[0.1, 0.1, 0.1], [0.3, 0.3, 0.3]]) == [
        False,
        False,
    ]  # no spread, from which no noise is known


def test_main_effects_are_over_the_other_settings_and_seeds():
    """In 36 pairs of settings 35 were not significant, while the effect of one of the settings was clear."""
    rng = np.random.default_rng(0)
    runs = [
        run(f"{length}{size}{seed}", {"max_len": length, "size": size}, seed, {},
            {"topsim": 0.1 * length + 0.3 * size + rng.normal(scale=0.08)})
        for length in (1, 2) for size in range(4) for seed in range(3)
    ]  # fmt: skip
    pairs = Results(runs).compare(["topsim"])
    assert len(pairs.differences) == 28
    assert not any(each.is_clear for each in pairs.differences if each.source[-1] == each.baseline[-1])
    [effect] = Results(runs).compare(["topsim"], by=["max_len"]).differences
    cells = np.array([each.scores["topsim"] for each in runs]).reshape(2, 4, 3)
    error = np.sqrt((cells.var(2, ddof=1) / 3).sum() / 16)
    freedom = (cells.var(2, ddof=1) / 3).sum() ** 2 / ((cells.var(2, ddof=1) / 3) ** 2 / 2).sum()
    t = (cells[1].mean() - cells[0].mean()) / error
    assert (effect.source, effect.mean) == ("max_len=2", pytest.approx(cells[1].mean() - cells[0].mean()))
    assert effect.p_value == pytest.approx(2 * stats.t.sf(t, freedom)) and effect.is_clear
    assert effect.basis == "mean over 4 combinations of other settings"
    table = Results(runs).means(by=["max_len"])
    assert [row.cells[0].mean for row in table.rows] == pytest.approx(cells.mean((1, 2)))
    assert [row.cells[0].is_best for row in table.rows] == [False, True]
    missing = [each for each in runs if each.name != "200"]  # each combination weighs the same
    [effect] = Results(missing).compare(["topsim"], by=["max_len"]).differences
    assert effect.mean == pytest.approx(np.mean([
        cells[1, size, (1 if size == 0 else 0):].mean() - cells[0, size].mean() for size in range(4)
    ]))  # fmt: skip
    single = [each for each in runs if each.seed == 0]
    [effect] = Results(single).compare(["topsim"], by=["max_len"]).differences
    assert effect.basis == "paired by 4 combinations of other settings"


def test_rows_do_not_depend_on_runs_that_do_not_count():
    """Of many settings, those of a row were others among the runs that count, and cells were empty."""

    def one(name, seed, first, second, **more):
        settings = {key: first for key in "abcd"} | {"e": second}
        return run(name, settings, seed, {"accuracy": 0.5}, {"topsim": first + second + seed / 100}, **more)

    runs = [one(f"{first}{seed}", seed, first, first) for first in (1, 2) for seed in (1, 2)]
    table = Results([*runs, one("late", 1, 1, 9, stopped="minutes")]).means(figures=["topsim"])
    assert [row.num_runs for row in table.rows] == [2, 2, 0]
    assert [row.cells[0].mean for row in table.rows] == [pytest.approx(2.015), pytest.approx(4.015), None]


def test_only_combinations_that_all_have_are_compared():
    """Settings without any in common were called better; bold was the worse where a combination was missing."""

    def runs(cells):
        return [
            run(f"{length}{size}{seed}", {"max_len": length, "size": size}, seed, {"accuracy": 0.5},
                {"topsim": value + seed / 100})
            for (length, size), value in cells.items() for seed in (1, 2, 3)
        ]  # fmt: skip

    [score] = Results(runs({(1, 10): 0.2, (2, 20): 0.6})).compare(["topsim"], by=["max_len"]).scores
    assert score.differences == () and score.reason.endswith(
        "have no combination of other settings in common"
    )
    missing = runs({(1, 10): 0.9, (1, 20): 0.3, (2, 20): 0.5})
    [score] = Results(missing).compare(["topsim"], by=["max_len"]).scores
    assert score.difference("max_len=2", "max_len=1").mean == pytest.approx(0.2)
    assert [sample.score for sample in score.samples.values()] == pytest.approx([0.32, 0.52])
    assert [row.cells[1].is_best for row in Results(missing).means(by=["max_len"]).rows] == [False, True]
    more = [*missing, *runs({(3, 99): 0.1})]
    [score] = Results(more).compare(["topsim"], by=["max_len"]).scores
    assert [each.is_clear for each in score.differences].count(True) == 1 and score.reason is None
    measured = Results(missing).compare(["accuracy"], by=["max_len"])
    assert measured.without == {} and measured.scores[0].differences[0].conclusion == "not significant"


def test_a_mean_of_some_of_the_runs_says_of_how_many():
    table = means_table(
        Results([record("a", 5, seed, value) for seed, value in enumerate((0.1, 0.3, None))]).means()
    )
    assert "0.200 ± 1.271 (n = 2)" in str(table) and "n: seeds in the mean" in table.latex()
    assert "0.500 ± 0.000 (n" not in str(table) and "(n =" not in table.csv()
    assert "n:" not in str(means_table(Results(RECORDS[:3]).means()))


def test_unknown_names_are_told():
    with pytest.raises(ConfigError, match=r"unknown setting 'channel.kid'; did you mean 'channel.kind'\?"):
        Results(RECORDS).means(by=["channel.kid"])
    with pytest.raises(ConfigError, match=r"unknown figure 'topsym'; did you mean 'topsim'\?"):
        Results(RECORDS).means(figures=["topsym"])


def test_run_folders_of_any_origin(tmp_path):
    for name, size, seed in (("a", 20, 1), ("b", 5, 1), ("c", 5, 2)):
        folder = tmp_path / name
        folder.mkdir()
        config = f"name: mine\nchannel: {{kind: gumbel, vocab_size: {size}}}\ntraining: {{seed: {seed}}}\n"
        (folder / "config.yaml").write_text(config)
        training = {"step": 3, "stopped": "epochs", "accuracy": 0.25}
        (folder / "metadata.json").write_text(json.dumps({"training": training}))
    records = Results.read([tmp_path]).runs()
    assert [(dict(each.settings), each.seed) for each in records] == [
        ({"channel.vocab_size": 5}, 1), ({"channel.vocab_size": 5}, 2), ({"channel.vocab_size": 20}, 1),
    ]  # fmt: skip
    assert records[0].measures == {"accuracy": 0.25} and records[0].stopped == "epochs"
    assert [row.num_runs for row in Results(records).means().rows] == [2, 1]


def test_of_many_settings_those_have_a_column_from_which_the_others_follow():
    def records(num_others):
        return [
            run(
                name=name, seed=1, measures={"accuracy": 0.5}, scores={},
                settings={"name": name, "channel.max_len": size, "channel.vocab_size": size + vocab}
                | {f"world.other{number}": size for number in range(num_others)},
            )
            for name, size, vocab in (("a", 2, 0), ("a", 2, 1), ("b", 3, 0))
        ]  # fmt: skip

    assert len(Results(records(1)).means().keys) == 4
    table = Results(records(2)).means()
    assert table.keys == ("name", "channel.vocab_size") and len(table.rows) == 3


def test_an_edited_config_is_not_used(tmp_path):
    config = tmp_path / "config.yaml"
    config.write_bytes(sealed_text(b"name: mine\n").replace(b"mine", b"ours"))
    with pytest.raises(DamagedError, match="damaged or edited"):
        Results.read([tmp_path]).runs()


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("sweep.json", "{", "sweep.json"),
        ("sweep.json", '{"format": 1, "runs": [{"seed": "x"}]}', "not a sweep file"),
        ("sweep.json", "[]", "not a sweep file"),
        ("config.yaml", "a: [", "not YAML"),
        ("config.yaml", "- 1", "can't be read as a run folder"),
        ("other.txt", "", "no run, corpus or scores"),
    ],
)
def test_damaged_files_are_one_line(tmp_path, name, text, message):
    (tmp_path / name).write_text(text)
    with pytest.raises(ConfigError, match=message):
        Results.read([tmp_path]).runs()
    with pytest.raises(ConfigError, match="no such file or folder"):
        Results.read([tmp_path / "nowhere"]).runs()


@pytest.mark.parametrize(
    ("noise", "expected"),
    [
        (({"channel.noise.kind": "deletion", "evaluation.noise": False},), "without the noise"),
        (({"channel.noise.kind": "deletion", "evaluation.noise": True},), "with the noise"),
        (
            (
                {"channel.noise.kind": "deletion", "evaluation.noise": True},
                {"channel.noise": "erasure", "evaluation.noise": False},
            ),
            "some runs with the noise",
        ),
        (({"channel.noise": None},), None),
    ],
)
def test_a_table_says_with_what_noise_its_figures_are(noise, expected):
    sources = [run("a", settings, 1, {"accuracy": 0.5}, {"topsim": 0.1}) for settings in noise]
    lines = noise_notes(sources, ["accuracy", "topsim"])
    assert lines == [] if expected is None else lines[0].startswith(f"accuracy: {expected}")
    assert noise_notes(sources, ["topsim"]) == []
