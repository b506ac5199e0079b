"""Metrics side by side: same scores, in the order of their names, and users' code alone."""

import threading

import pytest

from ecsuite.corpus import Corpus
from ecsuite.eval.metrics import load_metric, side_by_side
from ecsuite.eval.metrics.score import Options, Score, unscored
from ecsuite.grammars.making import make_corpus
from ecsuite.jobs.graph import Runner

SECONDS = 60


@pytest.fixture(autouse=True)
def _two_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(side_by_side, "num_threads", lambda: 2)


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return make_corpus("concat", num_attributes=2, num_values=4, word_length=2, vocab_size=4)


def score_of(name: str) -> list[Score]:
    return [unscored(name, "a test", 1)(value=1.0)]


def test_two_metrics_run_at_once_and_their_scores_are_in_order(corpus: Corpus) -> None:
    both = threading.Barrier(2)

    def meet(corpus: Corpus, options: Options) -> list[Score]:
        both.wait(SECONDS)  # fails if they run one after another
        return score_of("met")

    told: list[str] = []
    options = Options(runner=Runner(progress=lambda label, done, total: told.append(label)))
    metrics = {"a": meet, "own": lambda *_: score_of(threading.current_thread().name), "b": meet}
    found = side_by_side.computed(metrics, corpus, options, alone=frozenset({"own"}))
    assert [score.name for scores in found for score in scores] == [
        "met",
        threading.current_thread().name,
        "met",
    ]
    assert told == ["a", "own", "b"]


def test_scores_are_those_of_one_after_another(corpus: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    metrics = {name: load_metric(name) for name in ("posdis", "topsim", "hce")}
    together = list(side_by_side.computed(metrics, corpus, Options(), alone=frozenset()))
    monkeypatch.setattr(side_by_side, "num_threads", lambda: 1)
    assert together == list(side_by_side.computed(metrics, corpus, Options(), alone=frozenset()))


def test_large_corpora_have_one_metric_at_a_time(corpus: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(side_by_side, "MAX_SYMBOLS", 1)
    metrics = {"a": lambda *_: score_of(threading.current_thread().name)}
    [[score]] = side_by_side.computed(metrics, corpus, Options(), alone=frozenset())
    assert score.name == threading.current_thread().name


def test_a_request_to_stop_ends_it_before_the_next_metric(corpus: Corpus) -> None:
    runner = Runner(should_stop=lambda: "preempted")
    metrics = {"a": lambda *_: score_of("a")}
    with pytest.raises(SystemExit, match="75"):
        list(side_by_side.computed(metrics, corpus, Options(runner=runner), alone=frozenset()))


def test_the_error_of_a_metric_is_raised(corpus: Corpus) -> None:
    def fails(corpus: Corpus, options: Options) -> list[Score]:
        raise ValueError("of the metric")

    with pytest.raises(ValueError, match="of the metric"):
        list(side_by_side.computed({"a": fails}, corpus, Options(), alone=frozenset()))
