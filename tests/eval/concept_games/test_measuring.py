"""Measuring: runs are trained once, scored as by `score`, and resumed after a stop."""

import json

import numpy as np
import pytest
import torch

from ecsuite.config import DivergedError
from ecsuite.corpus import Corpus, Ragged
from ecsuite.eval.concept_games import measuring
from ecsuite.eval.concept_games.measuring import job, measure_rows, topsim_published, train_and_score
from ecsuite.eval.metrics import load_metric
from ecsuite.eval.metrics.score import Options
from ecsuite.formats import read_corpus
from ecsuite.games.experiment import with_training
from ecsuite.games.training import Result
from ecsuite.jobs.runner import JobRunner


def measure(study, folder):
    with JobRunner(num_workers=1, folder=folder / "results", progress=lambda *_: None) as runner:
        return measure_rows(study, runner=runner, folder=folder, device="cpu"), runner.num_kept


def test_rows_have_the_scores_of_their_corpora_and_are_not_trained_again(small, tmp_path, monkeypatch):
    threads = torch.get_num_threads()
    rows, num_kept = measure(small, tmp_path / "runs")
    assert torch.get_num_threads() == threads and num_kept == 0
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
    monkeypatch.setattr(measuring, "train", None)
    again, num_kept = measure(small, tmp_path / "runs")
    assert again == rows and num_kept == 4
    assert json.loads(json.dumps(rows[0].to_json()))["mean"]["cbm"] == rows[0].mean("cbm")


def test_a_measure_that_a_seed_lacks_has_no_mean(small):
    row = measuring.MeasuredRow(row=small.rows[0], runs=({"values": {"ami": None}}, {"values": {"ami": 0.5}}))
    assert row.mean("ami") is row.deviation("ami") is None
    one = measuring.MeasuredRow(row=small.rows[0], runs=({"values": {"ami": 0.5}},))
    assert (one.mean("ami"), one.deviation("ami")) == (0.5, None)


def test_other_settings_are_other_runs(small, tmp_path):
    one = small.rows[0].experiment
    same, other = job(one, tmp_path, "cpu"), job(with_training(one, num_epochs=2), tmp_path, "cpu")
    assert job(one, tmp_path, "auto" if not torch.cuda.is_available() else "cpu").digest == same.digest
    assert same.digest != other.digest and same.inputs["folder"] != other.inputs["folder"]
    assert other.work == 2 * same.work


@pytest.mark.parametrize(("stopped", "error"), [("interrupt", KeyboardInterrupt), ("preempted", SystemExit)])
def test_a_run_that_was_stopped_stops_the_study(small, tmp_path, monkeypatch, stopped, error):
    ended = Result(stopped=stopped, step=1, num_steps=2, measures={}, chance={}, extra_evaluations={})
    given = []
    monkeypatch.setattr(measuring, "train", lambda *_, **options: given.append(options) or ended)
    with pytest.raises(error):
        measure(small, tmp_path / "runs")
    assert [options["resume"] for options in given] == [True]
    assert not list(tmp_path.glob("runs/results/*"))


def test_a_run_that_diverges_is_named(small, tmp_path, monkeypatch):
    def diverge(*_, **__):
        raise DivergedError("step 3: the loss is nan", {"step": 3})

    monkeypatch.setattr(measuring, "train", diverge)
    with pytest.raises(DivergedError, match=r"^thing_gs, seed 1: step 3: the loss is nan$") as error:
        train_and_score(
            experiment=small.rows[0].experiment,
            folder=tmp_path / "run",
            device="cpu",
            report_progress=lambda *_: None,
        )
    assert error.value.outcome == {"step": 3}


def spoken(messages, concepts):
    return Corpus(messages=Ragged.from_rows(messages), concepts=Ragged.from_rows(concepts))


def test_the_paper_s_topsim_of_three_messages():
    """Levenshtein 2, 1, 3 of the pairs against cosine distances 1/2, 1/2, 1: ranks 2, 1, 3 and 1.5, 1.5, 3."""
    corpus = spoken([[1, 2], [3, 4], [1, 2, 4]], [[0, 1], [1, 2], [0, 3]])
    assert topsim_published(corpus).value == pytest.approx(np.corrcoef([2, 1, 2], [1.5, 1.5, 3])[0, 1])


def test_the_paper_s_topsim_does_not_depend_on_names_and_is_perfect_for_a_perfect_code():
    rng = np.random.default_rng(0)
    phrases = np.stack([rng.integers(0, 5, 60), 5 + rng.integers(0, 5, 60)], axis=1)
    assert topsim_published(spoken(phrases + 1, phrases)).value == pytest.approx(1)
    renamed = rng.permutation(10)[phrases]
    assert topsim_published(spoken(renamed + 1, phrases)).value == pytest.approx(1)


def test_the_paper_s_topsim_is_not_defined_where_nothing_differs():
    same = topsim_published(spoken([[1]] * 4, [[0], [1], [2], [0]]))
    assert (same.value, same.reason) == (None, "all messages are equally far apart")
    same = topsim_published(spoken([[1], [2], [3], [1]], [[0]] * 4))
    assert (same.value, same.reason) == (None, "all phrases are equally far apart")
    few = topsim_published(spoken([[1], [2]], [[0], [1]]))
    assert few.reason == "expected at least three messages with concepts"
