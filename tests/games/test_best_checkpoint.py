"""The best state and patience: what the corpus is of, when a run stops, and what a continued run remembers."""

import json
import signal

import numpy as np
import pytest
import torch

from ecsuite.formats import read_corpus
from ecsuite.games.config.sections import TrainingOptions
from ecsuite.games.plays import signalling
from ecsuite.games.plays.population import make_population
from ecsuite.games.runs.checkpoints import Best
from ecsuite.games.runs.run import load_run
from ecsuite.games.worlds.world import make_world
from ecsuite.runtime.errors import ConfigError, DamagedError

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


def test_corpus_and_measures_are_of_the_best_state(tmp_path, small, run, scripted):
    scripted({8: 0.9, 16: 0.7})
    result = run(small(*BEST), tmp_path)
    assert (result.stopped, result.step, result.best_step) == ("epochs", 24, 8)
    assert result.measures["accuracy"] == 0.9
    assert result.summary().splitlines()[1] == "measures and corpus of the best state, after step 8"
    corpus = read_corpus(tmp_path)
    assert corpus.metadata["training"]["best_step"] == 8 and corpus.metadata["training"]["step"] == 24
    found = load_run(tmp_path)
    assert found.measures["accuracy"] == 0.9
    spoken = found.speak(corpus.meanings)
    assert spoken == [[each for each in row.tolist() if each] for row in corpus.content()]
    assert run(small(*BEST), tmp_path).best_step == 8  # already finished


def test_the_last_state_may_be_the_best(tmp_path, small, run, whole):
    result = run(small(*BEST), tmp_path)
    if result.best_step == 24:
        assert (tmp_path / "corpus.jsonl").read_bytes() == (whole / "corpus.jsonl").read_bytes()
    values = load_run(tmp_path).log["valid.accuracy"]
    assert result.best_step == 4 * (1 + int(np.argmax(values)))
    assert result.measures["accuracy"] == values.max()


def test_patience_ends_the_run(tmp_path, small, run, scripted):
    scripted({8: 0.9})
    result = run(small(*PATIENT), tmp_path)
    assert (result.stopped, result.step, result.best_step) == ("patience", 16, 8)
    again = run(small(*PATIENT), tmp_path, resume=True)
    assert again.was_done and again.stopped == "patience"
    assert not run(small(*BEST, "training.patience=4"), tmp_path, resume=True).was_done


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


@pytest.mark.parametrize(
    ("keep_best", "values", "best"),
    [
        ("accuracy", [0.1, 0.3, 0.3, 0.2], 2),
        ("loss", [3.0, 1.0, 2.0], 2),
        ("cost", [3.0, 1.0, 2.0], 2),
        ("reward", [1.0, 3.0, 2.0], 2),
        ("-accuracy", [0.3, 0.1, 0.2], 2),
        ("metrics.topsim", [None, 0.1, None], 2),
        ("metrics.topsim", [None], None),
    ],
)
def test_which_is_best(keep_best, values, best):
    figures = ("accuracy", "loss", "reward", "cost", "metrics.topsim")
    found = Best(TrainingOptions(keep_best=keep_best, patience=2), figures)
    for step, value in enumerate(values, 1):
        found.add(step, {keep_best.removeprefix("-"): value})
        saved = json.loads(json.dumps(found.to_json()))
        found = Best(TrainingOptions(keep_best=keep_best, patience=2), figures)
        found.restore(saved)
    assert found.step == best and found.num_since == len(values) - (best or 0)
    assert found.is_over == (found.num_since >= 2)


@pytest.mark.slow
def test_the_best_score_of_a_metric_may_be_the_lowest(tmp_path, small, run):
    """As its direction says."""
    run(small("training.keep_best=metrics.word_entropy", "evaluation.metrics=word_entropy"), tmp_path / "run")
    found = load_run(tmp_path / "run")
    values = found.log["metrics.word_entropy"]
    best = found.corpus.metadata["training"]["best_step"]
    assert best == 4 * (1 + int(values.argmin())) and values.min() < values.max()


def test_patience_without_a_figure_is_refused(small):
    with pytest.raises(ConfigError, match=r"training.patience: needs training.keep_best"):
        small("training.patience=2")


def test_only_two_best_states_are_kept(tmp_path, small, run):
    run(small("training.keep_best=loss"), tmp_path)
    kept = sorted(file.name for file in tmp_path.glob("best-*"))
    assert 1 <= len(kept) <= 2


def test_the_weights_are_those_of_the_best_step(tmp_path, small, run, scripted):
    scripted({8: 0.9})
    run(small(*BEST), tmp_path / "best")
    run(small("training.num_epochs=1"), tmp_path / "eight")  # 8 steps
    assert (tmp_path / "best" / "corpus.jsonl").read_bytes() == (
        tmp_path / "eight" / "corpus.jsonl"
    ).read_bytes()
    experiment = small()
    players = make_population(experiment, make_world(experiment))
    players.load_state_dict(load_run(tmp_path / "best").players.state_dict())
    others = load_run(tmp_path / "eight").players
    for mine, other in zip(players.parameters(), others.parameters(), strict=True):
        assert torch.equal(mine, other)
