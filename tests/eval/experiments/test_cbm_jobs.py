"""Jobs of a study: runs are trained once, scored as by `score`, resumed after a stop, and left out if they diverge."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch

from ecsuite.eval.experiments.cbm import ConceptGames, MeasuredRow, plan, report
from ecsuite.eval.metrics import load_metric
from ecsuite.eval.metrics.score import Options
from ecsuite.formats import read_corpus
from ecsuite.games import training_jobs
from ecsuite.games.experiment import override
from ecsuite.games.sections import with_training
from ecsuite.games.training_result import Result
from ecsuite.jobs.graph import Runner
from ecsuite.runtime.errors import DivergedError


@pytest.mark.slow
def test_rows_have_the_scores_of_their_corpora_and_are_not_trained_again(small_table, tmp_path, monkeypatch):
    threads = torch.get_num_threads()
    runner = Runner(folder=tmp_path / "runs")
    rows = ConceptGames().measure(small_table, runner)
    assert torch.get_num_threads() == threads
    assert [row.row.name for row in rows] == ["thing_gs", "thing_qt"]
    assert [[run["seed"] for run in row.runs] for row in rows] == [[1, 2], [1, 2]]
    for row in rows:
        for run in row.runs:
            corpus = read_corpus(tmp_path / "runs" / run["folder"].rpartition("/")[2])
            assert len(corpus.messages) == 150
            for name in ("cbm", "ami", "topsim"):
                score = load_metric(name)(corpus, Options())[0]
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
    assert ConceptGames().measure(small_table, runner) == rows
    assert json.loads(json.dumps(rows[0].to_json()))["mean"]["cbm"] == rows[0].mean("cbm")


def test_a_measure_that_a_seed_lacks_has_no_mean(small_table):
    row = MeasuredRow(
        row=small_table.rows[0],
        runs=({"seed": 1, "values": {"ami": None}}, {"seed": 2, "values": {"ami": 0.5}}),
    )
    assert row.mean("ami") is row.deviation("ami") is None
    one = MeasuredRow(row=small_table.rows[0], runs=({"seed": 1, "values": {"ami": 0.5}},))
    assert (one.mean("ami"), one.deviation("ami")) == (0.5, None)


def test_other_settings_are_other_runs(small_table, tmp_path):
    (one, *_), others = (
        list(plan(replace(small_table, rows=(replace(row, experiment=experiment),))).values())
        for row in small_table.rows[:1]
        for experiment in (row.experiment, with_training(row.experiment, num_epochs=2))
    )
    other = others[0]
    assert one.digest != other.digest and other.work == 2 * one.work
    folders = {job.inputs["game"].folder_name for job in (one, other)}
    assert len(folders) == 2


def test_a_run_that_was_stopped_goes_on(small_table, tmp_path, monkeypatch):
    ended = Result(stopped="preempted", step=1, num_steps=2, measures={}, chance={}, extra_evaluations={})
    given = []
    monkeypatch.setattr(training_jobs, "train", lambda *_, **options: given.append(options) or ended)
    asked = iter([None, "preempted"])
    with pytest.raises(SystemExit):
        ConceptGames().measure(
            small_table, Runner(folder=tmp_path / "runs", should_stop=lambda: next(asked, "preempted"))
        )
    assert [options["resume"] for options in given] == [True]
    assert not list(tmp_path.glob("runs/results/*"))


def test_a_run_that_diverges_is_named_and_the_others_are_shown(small_table, tmp_path):
    """A study could not be finished once one of its runs had diverged."""
    rows = (
        replace(
            small_table.rows[0], experiment=override(small_table.rows[0].experiment, ["optimizer.lr=1e30"])
        ),
        small_table.rows[1],
    )
    study, runner = replace(small_table, rows=rows), Runner(folder=tmp_path / "runs")
    diverged, measured = ConceptGames().measure(study, runner)
    assert diverged.runs == () and measured.mean("cbm") is not None
    assert sorted(diverged.failures) == [1, 2] and "the loss is nan" in diverged.failures[1]
    data = report(study, [diverged, measured]).data
    assert data["rows"][0]["failures"] == {str(seed): text for seed, text in diverged.failures.items()}
    assert any(
        note.startswith("thing_gs, seed 1: left out: ") for note in report(study, [diverged, measured]).notes
    )
    with pytest.raises(DivergedError, match=r"^thing_gs, seed 1: "):
        ConceptGames().measure(replace(study, rows=rows[:1]), runner)


def test_a_tiny_run_has_the_figures_of_its_version(small_table, tmp_path):
    """Other figures need another version."""
    job = next(iter(plan(small_table).values()))
    values = Runner(folder=tmp_path).run([job])[job].value["values"]
    assert job.key["version"] == [3, 3, 4, 3]
    assert [values["accuracy"], values["loss"]] == pytest.approx([0.52148, 0.69229], rel=1e-3)
