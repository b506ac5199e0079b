"""Jobs of a study: runs are trained once, scored as by `score`, resumed after a stop, and left out if they diverge."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from ecsuite.eval.experiments.cbm import CbmTables, TableRow, report, rows_of
from ecsuite.eval.metrics import find_metric
from ecsuite.eval.metrics.score import Options
from ecsuite.formats import read_corpus
from ecsuite.games.config.experiment import override
from ecsuite.games.config.sections import with_training
from ecsuite.games.runs.result import RunResult
from ecsuite.games.training import train as training_jobs
from ecsuite.jobs.graph import Runner
from ecsuite.runtime.errors import DivergedError


def measured(study, runner):
    """The rows of a table whose folder is that of the runner."""
    return rows_of(study, CbmTables(folder=runner.folder).measure(study, runner))


@pytest.mark.slow
def test_rows_have_the_scores_of_their_corpora_and_are_not_trained_again(small_table, tmp_path, monkeypatch):
    threads = torch.get_num_threads()
    runner = Runner(folder=tmp_path / "runs")
    rows = measured(small_table, runner)
    assert torch.get_num_threads() == threads
    assert [row.name for row in rows] == ["thing_gs", "thing_qt"]
    assert [[run["seed"] for run in row.runs] for row in rows] == [[1, 2], [1, 2]]
    for row in rows:
        for run in row.runs:
            corpus = read_corpus(tmp_path / "runs" / run["folder"].rpartition("/")[2])
            assert len(corpus.messages) == 150
            for name in ("cbm", "ami", "topsim"):
                score = find_metric(name)(corpus, Options())[0]
                assert (run["values"][name], run["signatures"][name]) == (score.value, score.signature)
            training = corpus.metadata["training"]
            assert run["values"]["accuracy"] == training["accuracy"] > 0
            assert run["values"]["set_accuracy"] == training["set_accuracy"]
            values = run["values"]
            edges = [values[f"{name}_edges"] for name in ("good", "ambiguous", "paraphrase")]
            assert sum(edges) == values["total_edges"] == 150
            assert values["cbm"] == edges[0] / 150 and values["unique_concepts"] == 20
            assert run["sensitivity"]["sizes"] == [100, 150]
        values = row.values("cbm")
        assert row.mean("cbm") == pytest.approx(np.mean(values))
        assert row.deviation("cbm") == pytest.approx(abs(values[0] - values[1]) / np.sqrt(2))
    monkeypatch.setattr(training_jobs, "train", None)
    assert measured(small_table, runner) == rows
    assert json.loads(json.dumps(rows[0].to_json()))["mean"]["cbm"] == rows[0].mean("cbm")


def test_a_measure_that_a_seed_lacks_has_no_mean(small_table):
    row = rows_of(small_table)[0]
    runs = ({"seed": 1, "values": {"ami": None}}, {"seed": 2, "values": {"ami": 0.5}})
    row = replace(row, runs=runs)
    assert row.mean("ami") is row.deviation("ami") is None
    one = TableRow(name="a", experiment=row.experiment, runs=runs[1:])
    assert (one.mean("ami"), one.deviation("ami")) == (0.5, None)


def with_experiment(study, change):
    """A table whose first row has other settings."""
    first, *others = study.variants
    return replace(study, variants=(replace(first, experiment=change(first.experiment)), *others))


def test_other_settings_are_other_runs(small_table, tmp_path):
    longer = with_experiment(small_table, lambda experiment: with_training(experiment, num_epochs=2))
    one, other = (CbmTables(folder=tmp_path).runs(study)[0] for study in (small_table, longer))
    assert one.training.digest != other.training.digest and other.training.work == 2 * one.training.work
    assert one.folder != other.folder


def test_a_run_that_was_stopped_goes_on(small_table, tmp_path, monkeypatch):
    ended = RunResult(stopped="preempted", step=1, num_steps=2, measures={}, chance={}, extra_evaluations={})
    given = []
    monkeypatch.setattr(training_jobs, "train", lambda *_, **options: given.append(options) or ended)
    asked = iter([None, "preempted"])
    with pytest.raises(SystemExit):
        measured(small_table, Runner(folder=tmp_path / "runs", should_stop=lambda: next(asked, "preempted")))
    assert [options["resume"] for options in given] == [True]
    assert not list(tmp_path.glob("runs/results/*"))


def test_a_run_that_diverges_is_named_and_the_others_are_shown(small_table, tmp_path):
    """A study could not be finished once one of its runs had diverged."""
    study = with_experiment(small_table, lambda experiment: override(experiment, ["optimizer.lr=1e30"]))
    runner = Runner(folder=tmp_path / "runs")
    diverged, whole = measured(study, runner)
    assert diverged.runs == () and whole.mean("cbm") is not None
    assert sorted(diverged.failures) == [1, 2] and "the loss is nan" in diverged.failures[1]
    data = report(study, [diverged, whole]).data
    assert data["rows"][0]["failures"] == {str(seed): text for seed, text in diverged.failures.items()}
    assert any(
        note.startswith("thing_gs, seed 1: left out: ") for note in report(study, [diverged, whole]).notes
    )
    with pytest.raises(DivergedError, match=r"^train thing_gs, seed 1: "):
        measured(replace(study, variants=study.variants[:1]), runner)


def test_a_tiny_run_has_the_figures_of_its_version(small_table, tmp_path):
    """Other figures need another version."""
    tables = CbmTables(folder=tmp_path)
    run = tables.runs(small_table)[0]
    measures = Runner(folder=tmp_path).run([run.training])[run.training].value["measures"]
    assert [job.key["version"] for job in run.jobs] == [2, 3, [4, 3]]
    assert [measures["accuracy"], measures["loss"]] == pytest.approx([0.52148, 0.69229], rel=1e-3)


def test_rows_are_a_sweep(ecsuite):
    """A study with rows is run by `ecsuite sweep`, too, by the same jobs."""
    text = "seeds: 1\nscore: [topsim]\nset: {training.num_epochs: 1, training.num_examples: 64}\nrows:\n"
    text += "- {name: one, base: disc_tiny}\n- {name: two, base: disc_tiny, set: {channel.vocab_size: 5}}\n"
    Path("mine.yaml").write_text(text)
    code, out, err = ecsuite("sweep", "mine.yaml", "--on", "here")
    assert code == 0, err
    assert [line.split()[0] for line in out.splitlines()[2:4]] == ["one", "two"]
    Path("mine.yaml").write_text(text + "published: table1\n")
    code, _, err = ecsuite("sweep", "mine.yaml")
    assert (code, err) == (2, "mine.yaml:7: published: not read by `ecsuite sweep`; read by `ecsuite cbm`\n")
    Path("mine.yaml").write_text(text + "vary: {channel.vocab_size: [5]}\n")
    code, _, err = ecsuite("sweep", "mine.yaml")
    assert (code, err) == (
        2,
        "mine.yaml:7: vary: not allowed together with rows; each row has its own base and set\n",
    )
