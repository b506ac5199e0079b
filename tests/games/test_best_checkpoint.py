"""The best state and patience: what the corpus is of, when a run stops, and what a continued run remembers."""

import signal

import pytest

from ecsuite.games.plays import signalling
from ecsuite.games.runs.run import load_run
from ecsuite.runtime.errors import DamagedError

BEST = ("training.keep_best=accuracy",)
PATIENT = (*BEST, "training.patience=2")


@pytest.fixture
def scripted(monkeypatch):
    """Makes evaluations have these accuracies, by the step of the evaluation; 0.5 at others and at the end."""

    def scripted(accuracies):
        evaluate, known = signalling.evaluate, {}

        def told(players, world, experiment, split="valid"):
            found = evaluate(players, world, experiment, split)
            key = float(sum(parameter.detach().double().sum() for parameter in players.parameters()))
            if key not in known:
                step = 4 * (len(known) + 1)
                known[key] = accuracies.get(step, 0.5)
            return {**found, "accuracy": known[key]}

        monkeypatch.setattr(signalling, "evaluate", told)

    return scripted


@pytest.mark.slow
def test_a_stopped_run_goes_on_to_the_same_bytes(tmp_path, small, run, kill, contents):
    """With its best state and the evaluations since."""
    settings = small("training.keep_best=-length", "training.patience=3", "evaluation.metrics=topsim")
    run(settings, tmp_path / "whole")
    for at in (2, 9, 10, 13):
        run(settings, tmp_path / "parts", resume=True, progress=kill(signal.SIGTERM, at))
    run(settings, tmp_path / "parts", resume=True)
    first, second = contents(tmp_path / "parts"), contents(tmp_path / "whole")
    for files in (first, second):  # the checkpoint before the last is the one at the stop
        for name in [name for name in files if name.startswith("checkpoint")][:-1]:
            del files[name]
    names = [name for name in first if not name.startswith("checkpoint")]
    assert {name: first[name] for name in names} == {name: second[name] for name in names}


def test_a_run_killed_before_its_corpus_stops_where_it_stopped(tmp_path, small, run, scripted, contents):
    scripted({8: 0.9})
    run(small(*PATIENT), tmp_path)
    before = contents(tmp_path)
    for product in ("corpus.jsonl", "meanings.jsonl", "metadata.json"):
        (tmp_path / product).unlink()
    assert run(small(*PATIENT), tmp_path, resume=True).stopped == "patience"
    assert contents(tmp_path) == before


def test_a_damaged_best_state_is_refused(tmp_path, small, run, scripted):
    scripted({8: 0.9})
    run(small(*PATIENT), tmp_path)
    (tmp_path / "best-000000008.safetensors").write_bytes(b"")
    with pytest.raises(DamagedError, match="the best state of this run can't be read"):
        load_run(tmp_path).pair  # noqa: B018


@pytest.mark.slow
def test_the_best_score_of_a_metric_may_be_the_lowest(tmp_path, small, run):
    """As its direction says."""
    run(small("training.keep_best=metrics.word_entropy", "evaluation.metrics=word_entropy"), tmp_path / "run")
    found = load_run(tmp_path / "run")
    values = found.log["metrics.word_entropy"]
    best = found.corpus.metadata["training"]["best_step"]
    assert best == 4 * (1 + int(values.argmin())) and values.min() < values.max()
