"""Pictures of sweeps: what they say, and how settings are told apart."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from compared_sources import run
from ecsuite.eval.experiments.pictures import (
    OVER_BLOCKS,
    curve_of,
    over_setting,
    score_heat_map,
    score_intervals,
    settings_side_by_side,
    sweep_curves,
)
from ecsuite.eval.metrics.score import Score
from ecsuite.eval.results.results import Results
from ecsuite.eval.results.sources import Source
from ecsuite.eval.views.figures.canvas import axis_label
from ecsuite.eval.views.figures.curves import draw_learning_curves, learning_curves
from ecsuite.eval.views.figures.intervals import SPLIT
from ecsuite.tables.cells import OF_MARKS

Text = pytest.importorskip("matplotlib.text").Text


def write_run(folder, config, accuracies, accuracy):
    """A run folder with accuracies from step to step, and the last one."""
    folder.mkdir(parents=True)
    (folder / "config.yaml").write_text(f"name: a\n{config}")
    lines = [{"step": step, "valid": {"accuracy": value}} for step, value in enumerate(accuracies, 1)]
    (folder / "log.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (folder / "metadata.json").write_text(json.dumps({"training": {"accuracy": accuracy}}))
    return folder


@pytest.fixture
def study(tmp_path):
    """Eight run folders: two channels, two sizes of vocabulary, two seeds."""
    for kind in ("gumbel", "reinforce"):
        for size in (5, 20):
            for seed in (1, 2):
                run = tmp_path / "study" / f"{kind}-{size}-{seed}"
                config = f"channel: {{kind: {kind}, vocab_size: {size}}}\ntraining: {{seed: {seed}}}\n"
                write_run(run, config, [(seed + step) / 10 for step in range(1, 3 + seed)], size / 100 + seed / 10)
    return tmp_path / "study"


def test_a_curve_is_the_mean_with_its_interval_over_seeds_until_the_first_one_ends(study):
    """12.706 is the 97.5 % point of Student's t with one degree of freedom, .05 the standard error."""
    curve = curve_of([study / "gumbel-5-1", study / "gumbel-5-2"], "accuracy")
    assert curve.x == [1, 2, 3] and curve.y == pytest.approx((0.25, 0.35, 0.45))
    assert curve.low == [0, 0, 0] and curve.high == pytest.approx([0.25 + 12.706 * 0.05, 0.9853, 1], abs=1e-3)
    assert curve_of([study / "gumbel-5-1"], "accuracy").low is None, "one seed has no interval"
    assert curve_of([study / "gumbel-5-1"], "no such measure") is None


def test_all_kinds_of_figures(ecsuite, study, tmp_path, no_layout):
    code, out, err = ecsuite("compare", "table", study, "--plot", "curves.svg")
    told = "accuracy of 8 runs, 4 lines with bands, in curves.svg"
    assert (code, err, out.splitlines()[-1]) == (0, "", told)
    text = words(tmp_path / "curves.svg")
    assert {"channel", "vocabulary size: 5", "vocabulary size: 20", "gumbel", "accuracy"} <= text
    assert ecsuite("compare", "table", study, "--kind", "heat", "--plot", "heat.svg")[0] == 0
    assert {"gumbel", "20", "0.35", "channel", "vocabulary size"} <= words(tmp_path / "heat.svg")
    assert ecsuite("compare", "table", study, "--kind", "parallel", "--plot", "all.svg")[0] == 0
    assert {"channel", "vocabulary size", "accuracy ↑", "1.", "0.35"} <= words(tmp_path / "all.svg")


def test_labels_are_words_or_the_user_s(ecsuite, study, tmp_path, no_layout):
    assert axis_label("sender.hidden_size") == "hidden size (sender)" and axis_label("topsim ↑") == "topsim ↑"
    assert axis_label("channel.noise.probability") == "noise probability (channel)"
    table = ("compare", "table", study, "--kind", "over", "--plot", "a.svg")
    given = ("--label", "channel.vocab_size=number of symbols", "--label", "accuracy=success")
    assert ecsuite(*table, *given)[0] == 0
    assert {"number of symbols", "success ↑", "channel"} <= words(tmp_path / "a.svg")
    for given, said in (("accuracy", "expected NAME=TEXT"), ("acuracy=a", "did you mean 'accuracy'")):
        code, _, err = ecsuite(*table, "--label", given)
        assert code == 2 and said in err and err.count("\n") == 1


def sources(values, seeds=(1, 2)):
    """Runs of settings with an accuracy that the first setting gives."""
    return [
        Source(name=f"{settings} {seed}", file=Path("config.yaml"), is_run=True, settings=settings, seed=seed,
               records=(Score(name="accuracy", value=accuracy + seed / 10, is_measure=True),))
        for settings, accuracy in values for seed in seeds
    ]  # fmt: skip


def test_intervals_of_an_accuracy_stay_within_0_and_1():
    _, [line] = over_setting(sources([({"rate": rate}, 0.7) for rate in (1, 2)]), "accuracy")
    assert line.high == [1, 1] and line.low == pytest.approx([0.85 - 12.706 * 0.05] * 2, abs=1e-3)


def test_runs_of_a_row_are_those_of_the_table():
    """A diverged run is neither in the mean nor in the figure, and True is not the setting 1."""
    runs = sources([({"rate": 1, "on": 1}, 0.3), ({"rate": 2, "on": 1}, 0.3), ({"rate": 1, "on": True}, 0.5)])
    runs += [replace(run, status="diverged", seed=3) for run in runs[:1]]
    rows = Results(runs).means(figures=["accuracy"]).rows
    assert [[run.seed for run in row.runs] for row in rows] == [[1, 2], [1, 2], [1, 2]]
    figure = score_intervals(Results(runs).means(figures=["accuracy"]), "accuracy", "higher")
    marks = [len(line.get_xdata()) for line in figure.axes[0].lines if line.get_marker() == "|"]
    assert marks == [2, 2, 2]


def test_no_picture_has_a_mean_of_runs_of_which_some_formed_a_protocol():
    runs = [
        run(f"{seed}", {"a": a, "b": 2}, seed, {"accuracy": accuracy, "loss": 1.0}, {},
            training={"chance": {"accuracy": 0.25}}, fixed={"evaluation.num_valid": 100})
        for a, accuracies in ((1, (0.25, 0.9, 0.95)), (2, (0.5, 0.6))) for seed, accuracy in enumerate(accuracies)
    ]  # fmt: skip
    for figure, missing in (
        (score_heat_map(runs, "accuracy", ["a", "b"]), [[True], [False]]),
        (settings_side_by_side(runs, "accuracy"), [[False] * 3, [False, False, True]]),
    ):
        assert {"2 of 3", "0.55"} <= {text.get_text() for text in figure.axes[0].texts}
        assert figure.axes[0].collections[0].get_array().mask.reshape(2, -1).tolist() == missing
        assert any(SPLIT in text.get_text() for text in figure.findobj(Text))


def test_marks_of_seeds_are_at_the_size_of_the_comparison():
    """The figure has the values whose mean it shows, as drawn from larger corpora, and not those of the runs."""
    means = Results(sources([({"rate": rate}, 0.3) for rate in (1, 2)])).means(figures=["accuracy"])
    [first, other] = means.rows
    drawn = replace(first, cells=(replace(first.cells[0], values=(0.1, 0.2)),))
    figure = score_intervals(replace(means, rows=(drawn, other)), "accuracy", "higher")
    marks = [list(line.get_xdata()) for line in figure.axes[0].lines if line.get_marker() == "|"]
    assert marks == [[0.1, 0.2], pytest.approx([0.4, 0.5])]


def test_a_band_over_other_settings_is_that_of_the_table(tmp_path):
    """Two sizes with accuracies .2, .3 and .7: the means .25 and .7 have equal weight, and no interval over seeds."""
    for size, seed, value in ((5, 1, 0.2), (5, 2, 0.3), (20, 1, 0.7)):
        for kind in ("gumbel", "reinforce"):
            config = f"channel: {{kind: {kind}, vocab_size: {size}}}\ntraining: {{seed: {seed}}}\n"
            write_run(tmp_path / "runs" / f"{kind}-{size}-{seed}", config, [value, value], value)
    runs = Results.read([tmp_path / "runs"])
    figure, lines = sweep_curves(runs, "accuracy", ["channel.kind"])
    [cell] = runs.means(by=["channel.kind"], figures=["accuracy"]).rows[0].cells
    assert lines[0].y == pytest.approx([0.475] * 2) and cell.mean == pytest.approx(0.475)
    assert (lines[0].low[0], lines[0].high[0]) == pytest.approx(cell.ci95) and cell.num_blocks == 2
    assert any(OVER_BLOCKS in text.get_text() for text in figure.findobj(Text))


def words(file):
    """The texts of a picture, which matplotlib writes beside their outlines."""
    return set(re.findall(r"<!-- (.*?) -->", file.read_text()))


def test_what_cannot_be_drawn_is_refused_in_a_line(ecsuite, study, tmp_path, no_layout):
    for arguments, said in (
        (["--kind", "heatmap"], "did you mean 'heat'"),
        (["--measure", "topsim"], "not in the logs of these runs"),
        (["--kind", "heat", "--by", "channel.kind"], "expected two settings for a heat map"),
        (["--kind", "parallel", "--measure", "topsin"], "topsin"),
        (["--by", "channel.size"], "channel.size"),
        (["--over", "channel.size"], "did you mean"),
        (["--over", "channel.kind"], "expected a setting with several numbers"),
        (["--kind", "heat", "--over", "channel.kind"], "heat has no numeric axis"),
        (["--kind", "over", "--measure", "topsin"], "topsin"),
    ):
        code, out, err = ecsuite("compare", "table", study, *arguments, "--plot", "curves.svg")
        assert (code, out) == (2, "") and said in err and err.count("\n") == 1
    assert not (tmp_path / "curves.svg").exists()


def test_curves_have_the_marks_of_bounds(tmp_path):
    """Two runs whose accuracy is 1 in the end, of 40 evaluations."""
    finished = [
        write_run(tmp_path / f"run-{seed}", "", [min(1.0, seed / 10 + step / 20) for step in range(40)], 1.0)
        for seed in (1, 2)
    ]
    curve = curve_of(finished, "accuracy")
    first = 16  # .2 + 16 / 20 = 1 of the second
    assert curve.bounds == [None] * first + ["lower"] * (40 - first)  # a mean is one as soon as a seed is
    draw_learning_curves(finished[:1], tmp_path / "curve.svg")
    told = (tmp_path / "curve.svg").read_text()
    assert told.count("<!-- ≥ -->") == 2  # where they begin, and the last one
    assert OF_MARKS in (tmp_path / "curve.svg").read_text()
    assert learning_curves(finished[:1], "accuracy")[0][0].bounds[-1] == "lower"
