"""Training learns and repeats to the byte; the corpus is of the best state, and patience ends a run."""

import signal

import pytest
import torch

from ecsuite.formats import read_corpus
from ecsuite.games.config.experiment import load_experiment
from ecsuite.games.plays import signalling
from ecsuite.games.runs.run import load_run
from ecsuite.runtime.errors import DamagedError


@pytest.mark.slow
def test_disc_tiny_is_learned(tmp_path, run, log_of):
    result = run(load_experiment("disc_tiny"), tmp_path / "run")
    assert result.stopped == "epochs" and result.step == result.num_steps == 512
    assert result.measures["accuracy"] > 0.9 > result.chance["accuracy"] == 0.25
    accuracies = [line["valid"]["accuracy"] for line in log_of(tmp_path / "run")]
    assert len(accuracies) == 8 and accuracies[0] < accuracies[-1]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("task", "channel", "bar"),
    [("discrimination", "soft", 0.6), ("discrimination", "reinforce", 0.6), ("reconstruction", "gumbel", 0.3)],
)
def test_every_channel_and_task_is_learned_somewhat(tmp_path, run, task, channel, bar):
    """Half the epochs; measured over seeds: 0.79 to 0.86, 0.86 to 0.90, 0.53 to 0.86."""
    parts = (f"task.kind={task}", f"channel.kind={channel}")
    more = ("training.num_epochs=2", "optimizer.lr=0.01", "training.precision=fp32")
    assert run(load_experiment("disc_tiny", [*parts, *more]), tmp_path).measures["accuracy"] > bar


@pytest.mark.slow
def test_the_written_config_and_its_seed_decide_everything(tmp_path, small, run, whole, contents):
    torch.rand(3)  # a global random state that someone else moved must not matter
    run(load_experiment(str(whole / "config.yaml")), tmp_path / "again")
    run(small("training.seed=2"), tmp_path / "two")
    one, again, two = (contents(folder) for folder in (whole, tmp_path / "again", tmp_path / "two"))
    assert one == again
    assert one["corpus.jsonl"] != two["corpus.jsonl"] and one["log.jsonl"] != two["log.jsonl"]


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


def test_the_corpus_is_of_the_best_state_and_patience_ends_the_run(tmp_path, small, run, scripted, contents):
    scripted({8: 0.9})
    result = run(small(*PATIENT), tmp_path)
    assert (result.stopped, result.step, result.best_step) == ("patience", 16, 8)
    corpus, found, before = read_corpus(tmp_path), load_run(tmp_path), contents(tmp_path)
    assert corpus.metadata["training"]["best_step"] == 8 and found.measures["accuracy"] == 0.9
    said = [[each for each in row.tolist() if each] for row in corpus.content()]
    assert found.speak(corpus.meanings) == said
    for product in ("corpus.jsonl", "meanings.jsonl", "metadata.json"):  # as if it was killed before
        (tmp_path / product).unlink()
    assert run(small(*PATIENT), tmp_path, resume=True).stopped == "patience"
    assert contents(tmp_path) == before
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
