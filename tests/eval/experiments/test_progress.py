"""What is shown of a sweep while it runs."""

from dataclasses import replace

import pytest

from ecsuite.eval.experiments.jobs import PRUNED, plan
from ecsuite.eval.experiments.result import MOST_ENDED, MOST_RUNNING, FollowedRun, ProgressText
from ecsuite.eval.experiments.study import load_study
from ecsuite.jobs.job import Result


@pytest.fixture
def runs(small, tmp_path):
    small["score"] = ["elcc"]
    return [FollowedRun.of(run) for run in plan(load_study(small), tmp_path)]


def trained(accuracy, stopped="epochs"):
    return Result(value={"stopped": stopped, "measures": {"accuracy": accuracy}})


def test_runs_are_counted_and_named(runs):
    standing = ProgressText(lambda: runs)
    first, second, third, fourth = runs[:4]
    assert standing.text({}, {}) == "0 of 8 runs done, 0 running"
    results = {
        first.training: trained(0.5),
        first.scores[0]: Result(value=[]),
        second.training: trained(0.75),
        third.training: Result(value=None, failure="the loss is not finite"),
    }
    latest = {second.scores[0]: "elcc of a", fourth.training: "disc_tiny 1: epoch 2/8  accuracy 83.2%"}
    assert standing.text(results, latest).splitlines() == [
        "1 of 8 runs done, 2 running, 1 failed, mean accuracy 50.0%",
        "  kind=gumbel, vocab_size=3, seed 2: elcc of a",
        "  kind=gumbel, vocab_size=5, seed 2: epoch 2/8  accuracy 83.2%",
        "  kind=gumbel, vocab_size=5, seed 1: failed: the loss is not finite",
        "  kind=gumbel, vocab_size=3, seed 1: done, accuracy 50.0%",
    ]


def test_of_many_runs_some_lines_are_shown(runs):
    ended = {
        job: trained(1.0) if job is run.training else Result(value=[]) for run in runs for job in run.jobs
    }
    text = ProgressText(lambda: runs).text(ended, {})
    assert text.startswith("8 of 8 runs done, 0 running, mean accuracy 100.0%\n")
    assert text.count("\n") == MOST_ENDED
    text = ProgressText(lambda: runs).text({}, {run.training: "a: b" for run in runs})
    assert text.endswith("\n  and 2 more running") and text.count("\n") == MOST_RUNNING + 1


def test_a_pruned_run_has_ended_without_scores(runs):
    results = {runs[0].training: trained(0.1, PRUNED)}
    assert runs[0].how_it_ended(results) == "pruned, accuracy 10.0%"
    assert replace(runs[0], scores=()).how_it_ended({}) is None


def test_a_log_has_lines_with_the_counts(ecsuite, small, monkeypatch):
    import yaml

    from ecsuite.eval.views.console import Reporter

    monkeypatch.setattr(Reporter, "SECONDS_BETWEEN_LINES", 0.0)
    with open("study.yaml", "w") as file:
        file.write(yaml.safe_dump({**small, "score": []}))
    code, _, err = ecsuite("sweep", "study.yaml", "--on", "here")
    lines = [line for line in err.splitlines() if " runs done, " in line]
    assert code == 0 and lines and all("% " in line for line in lines)
    # The time left is known once a twentieth was done since the first report, however late that came.
    known = [" left  " in line for line in lines]
    assert any(known) and all(known[known.index(True) :])
