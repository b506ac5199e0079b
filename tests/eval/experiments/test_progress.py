"""What is shown of a sweep while it runs."""

import pytest

from ecsuite.eval.experiments.jobs import plan
from ecsuite.eval.experiments.result import FollowedRun, ProgressText
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
