"""Jobs of a study: runs are trained once, scored as by `score`, resumed after a stop, and left out if they diverge."""

import json

import numpy as np
import pytest
import torch

from ecsuite.eval.experiments.cbm import CbmTables, rows_of
from ecsuite.eval.metrics import find_metric
from ecsuite.eval.metrics.score import Options
from ecsuite.formats import read_corpus
from ecsuite.games.runs.result import RunResult
from ecsuite.games.training import train as training_jobs
from ecsuite.jobs.graph import Runner


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


def test_a_run_that_was_stopped_goes_on(small_table, tmp_path, monkeypatch):
    ended = RunResult(stopped="preempted", step=1, num_steps=2, measures={}, chance={}, extra_evaluations={})
    given = []
    monkeypatch.setattr(training_jobs, "train", lambda *_, **options: given.append(options) or ended)
    asked = iter([None, "preempted"])
    with pytest.raises(SystemExit):
        measured(small_table, Runner(folder=tmp_path / "runs", should_stop=lambda: next(asked, "preempted")))
    assert [options["resume"] for options in given] == [True]
    assert not list(tmp_path.glob("runs/results/*"))
