"""Metrics side by side: same scores, in the order of their names, and users' code in this process alone."""

import os
import signal
from pathlib import Path

import pytest
from metrics_in_processes import load
from threadpoolctl import threadpool_info, threadpool_limits

from ecsuite.corpus import Corpus
from ecsuite.eval.metrics import computing, find_metric
from ecsuite.eval.metrics.computing import compute_parallel
from ecsuite.eval.metrics.score import Options, Score, unscored
from ecsuite.eval.metrics.traits import Metric, Traits
from ecsuite.grammars.making import make_corpus
from ecsuite.jobs.graph import Runner
from ecsuite.jobs.signals import stop_signals


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return make_corpus("concat", num_attributes=2, num_values=4, word_length=2, vocab_size=4)


@pytest.fixture
def _here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TEST_PROCESS", str(os.getpid()))
    monkeypatch.setenv("TEST_FOLDER", str(tmp_path))


def processes(names: list[str], corpus: Corpus, alone: str = "") -> list[tuple[str, int]]:
    """Each metric in the order of the results, with the process that computed it."""
    metrics = {name: load(name) for name in names}
    found = compute_parallel(metrics, corpus, Options(), num_processes=2, load=load, alone=frozenset({alone}))
    return [(score.name, int(score.value or 0)) for scores in found for score in scores]


def test_scores_of_two_processes_are_those_of_one(corpus: Corpus) -> None:
    metrics = {name: find_metric(name) for name in ("posdis", "topsim", "hce")}
    together = list(compute_parallel(metrics, corpus, Options(), num_processes=2, load=find_metric))
    assert together == list(compute_parallel(metrics, corpus, Options()))


@pytest.mark.usefixtures("_here")
def test_another_process_takes_the_last_and_scores_are_in_order(corpus: Corpus) -> None:
    (first, here), (own, own_place), (last, elsewhere) = processes(["first", "own", "last"], corpus, "own")
    assert (first, own, last) == ("first", "own", "last")
    assert here == own_place == os.getpid() != elsewhere


@pytest.mark.sample(1)
@pytest.mark.usefixtures("_here")
@pytest.mark.parametrize("name", ["fails", "ends"])
def test_what_another_process_fails_to_compute_is_computed_here(name: str, corpus: Corpus) -> None:
    assert processes(["first", name], corpus) == [("first", os.getpid()), (name, os.getpid())]


@pytest.mark.usefixtures("_here")
def test_large_corpora_have_one_process(corpus: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(computing, "MAX_SYMBOLS", 1)
    assert processes(["a", "last"], corpus) == [("a", os.getpid()), ("last", os.getpid())]


@pytest.mark.parametrize("num_processes", [1, 2])
def test_a_request_to_stop_ends_it_before_the_next_metric(num_processes: int, corpus: Corpus) -> None:
    runner = Runner(should_stop=lambda: "preempted")
    metrics = {name: load(name) for name in ("a", "b")}
    with pytest.raises(SystemExit, match="75"):
        list(
            compute_parallel(
                metrics, corpus, Options(), runner=runner, num_processes=num_processes, load=load
            )
        )


def test_the_error_of_a_metric_is_raised(corpus: Corpus) -> None:
    def fails(corpus: Corpus, options: Options) -> list[Score]:
        raise ValueError("of the metric")

    with pytest.raises(ValueError, match="of the metric"):
        list(compute_parallel({"a": Metric(fails, (Traits(name="a"),))}, corpus, Options()))


def test_products_have_one_thread_whatever_the_machine_has(corpus: Corpus) -> None:
    def threads(corpus: Corpus, options: Options) -> list[Score]:
        numbers = [each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"]
        return [unscored(traits)(value=max(numbers))]

    traits = Traits(name="threads", about="most threads of a product")

    with threadpool_limits(2, "blas"):
        [[score]] = compute_parallel({"a": Metric(threads, (traits,))}, corpus, Options())
    assert score.value == 1


def test_a_metric_ends_at_the_first_signal():
    """It keeps nothing that would be lost; `cbm` of a large table went on for a minute."""
    ended = []

    def slow(corpus, options):
        signal.raise_signal(signal.SIGTERM)
        ended.append(True)
        return []

    with stop_signals() as should_stop, pytest.raises(SystemExit) as raised:
        list(
            compute_parallel(
                {"slow": Metric(slow, (Traits(name="slow"),))},
                make_corpus("concat", num_attributes=2, num_values=2, word_length=1, vocab_size=2),
                Options(),
                runner=Runner(should_stop=should_stop),
            )
        )
    assert (raised.value.code, ended) == (75, [])
