"""Metrics side by side have the same scores; corpora of several speakers have means of their scores."""

import os
import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from ecsuite.corpus import Corpus
from ecsuite.eval.metrics import computing, find_metric
from ecsuite.eval.metrics.computing import by_speaker, compute_parallel
from ecsuite.eval.metrics.conclusions import conclusions, p_value
from ecsuite.eval.metrics.score import Options, Score, unscored
from ecsuite.eval.metrics.traits import Metric, Traits
from ecsuite.eval.views.scorecard import score_corpus
from ecsuite.grammars.making import make_corpus
from ecsuite.jobs.graph import Runner
from ecsuite.jobs.signals import stop_signals
from ecsuite.runtime.ragged import Ragged
from metrics_in_processes import load


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
def test_another_process_takes_the_last_unless_corpora_are_large(
    corpus: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    (first, here), (own, own_place), (last, elsewhere) = processes(["first", "own", "last"], corpus, "own")
    assert (first, own, last) == ("first", "own", "last") and here == own_place == os.getpid() != elsewhere
    monkeypatch.setattr(computing, "MAX_SYMBOLS", 1)
    assert processes(["a", "last"], corpus) == [("a", os.getpid()), ("last", os.getpid())]


@pytest.mark.sample(1)
@pytest.mark.usefixtures("_here")
@pytest.mark.parametrize("name", ["fails", "ends"])
def test_what_another_process_fails_to_compute_is_computed_here(name: str, corpus: Corpus) -> None:
    assert processes(["first", name], corpus) == [("first", os.getpid()), (name, os.getpid())]


@pytest.mark.parametrize("num_processes", [1, 2])
def test_a_request_to_stop_ends_it_before_the_next_metric(num_processes: int, corpus: Corpus) -> None:
    metrics = {name: load(name) for name in ("a", "b")}
    how = {"runner": Runner(should_stop=lambda: "preempted"), "num_processes": num_processes, "load": load}
    with pytest.raises(SystemExit, match="75"):
        list(compute_parallel(metrics, corpus, Options(), **how))


def only(metric: Callable[[Corpus, Options], list[Score]]) -> dict[str, Metric]:
    return {"a": Metric(metric, (Traits(name="a", about="a test"),))}


def test_a_metric_ends_by_its_error_and_at_the_first_signal(corpus: Corpus) -> None:
    def fails(corpus: Corpus, options: Options) -> list[Score]:
        raise ValueError("of the metric")

    with pytest.raises(ValueError, match="of the metric"):
        list(compute_parallel(only(fails), corpus, Options()))
    ended = []

    def slow(corpus: Corpus, options: Options) -> list[Score]:
        signal.raise_signal(signal.SIGTERM)
        ended.append(True)
        return []

    with stop_signals() as should_stop, pytest.raises(SystemExit) as raised:
        list(compute_parallel(only(slow), corpus, Options(), runner=Runner(should_stop=should_stop)))
    assert (raised.value.code, ended) == (75, [])


def test_products_have_one_thread_whatever_the_machine_has(corpus: Corpus) -> None:
    def threads(corpus: Corpus, options: Options) -> list[Score]:
        numbers = [each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"]
        return [unscored(Traits(name="a", about="most threads of a product"))(value=max(numbers))]

    with threadpool_limits(2, "blas"):
        [[score]] = compute_parallel(only(threads), corpus, Options())
    assert score.value == 1


def scored(name, corpus):
    return by_speaker(find_metric(name), corpus, Options())


def random_corpus(seed, num_messages=120, num_speakers=4):
    rng = np.random.default_rng([77, seed])
    return Corpus(
        [rng.integers(0, 6, rng.integers(1, 7)).tolist() for _ in range(num_messages)],
        meanings=rng.integers(0, 4, (num_messages, 3)),
        columns={"speaker": rng.integers(0, num_speakers, num_messages)},
    )


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", ["ami", "hce", "cbm", "zla"])
def test_random_languages_of_speakers_are_as_by_chance(name):
    """With the ends of each speaker's skewed level, 69 % of `ami` were below chance."""
    cards = [scored(name, random_corpus(seed)) for seed in range(12)]
    differing = [each.relation in ("above", "below") for card in cards for each in conclusions(card, 120)]
    assert sum(differing) <= 1


def test_meanings_of_several_speakers_count_once():
    """Copies of a speaker are no further meanings, so they do not turn "can't tell" into "as by chance"."""
    rng = np.random.default_rng(1)
    messages, meanings = rng.integers(1, 4, (24, 3)).tolist(), rng.integers(0, 3, (24, 3))
    number = len(np.unique(meanings, axis=0))
    for shift, num_distinct in ((0, number), (3, 2 * number)):  # the other speaker's meanings: the same, or others
        corpus = Corpus(messages * 2, meanings=np.concatenate([meanings, meanings + shift]),
                        columns={"speaker": np.repeat([0, 1], 24)})  # fmt: skip
        [score] = by_speaker(find_metric("topsim"), corpus, Options())
        assert score.chance.num_meanings == num_distinct


def test_a_mean_of_some_of_the_speakers_says_so():
    corpus = random_corpus(0)
    (score,) = scored("topsim", corpus)
    alone = [find_metric("topsim")(corpus.where("speaker", speaker), Options())[0] for speaker in range(4)]
    assert score.value == pytest.approx(np.mean([each.value for each in alone]))
    assert score.chance.draws == pytest.approx(np.mean([each.chance.draws for each in alone], axis=0))
    assert 0 < p_value(score) <= 1
    # Who always says the same has no topsim; the mean of the others is no mean over all.
    corpus = random_corpus(0)
    who = corpus.columns["speaker"].tolist()
    messages = [[1] if speaker == 3 else row for row, speaker in zip(corpus.messages, who, strict=True)]
    card = score_corpus(replace(corpus, messages=Ragged.from_rows(messages)), ["topsim", "ami"])
    score = next(score for score in card.scores if score.name == "topsim")
    assert score.details["by_speaker"]["3"] is None is not score.value
    assert "has no score and is not in the mean: " in " ".join(card.full(200).split())
    assert "Means over some of the speakers: topsim (3 of 4)" in str(card)
    assert "Means over some" not in str(score_corpus(corpus, ["topsim"]))


def test_sizes_of_all_speakers_are_in_the_signature():
    rng = np.random.default_rng(0)
    messages, meanings = rng.integers(0, 5, (480, 3)).tolist(), rng.integers(0, 4, (480, 2))
    corpus = Corpus(messages, meanings=meanings, columns={"speaker": np.repeat([0, 1, 2], [60, 120, 300])})
    (score,) = scored("posdis", corpus)
    assert score.signature == "posdis|past_end:blank|eos:strip|n:60+120+300|v:3|speakers:3"
    halves = Corpus(messages[180:], meanings=meanings[180:], columns={"speaker": np.arange(300) % 2})
    assert "|n:150|" in scored("posdis", halves)[0].signature


def test_the_interval_of_a_mean_ends_where_the_scores_do():
    # Of two speakers whose languages differ, Student's interval is several times as wide as the score's range.
    meanings = [(a, b) for a in range(4) for b in range(4)]
    perfect, poor = [list(pair) for pair in meanings], [[a, 0] for a, _ in meanings]
    corpus = Corpus(
        [*perfect, *poor], meanings=np.array([*meanings, *meanings]), columns={"speaker": np.repeat([0, 1], 16)}
    )
    (score,) = scored("topsim", corpus)
    assert score.ci95[1] == 1 and score.ci95[0] < score.value < 1


@pytest.mark.parametrize("place", [0, 1], ids=["word_entropy", "concept_entropy"])
def test_the_interval_of_a_mean_ends_where_the_scores_of_these_corpora_do(place):
    """One speaker has a word for each of eight concepts, one draws words: bits from 0 to 3, or 2 of four words."""
    concepts = np.tile(np.arange(8), 8)
    words = np.concatenate([concepts[:32], np.random.default_rng(0).integers(0, 4, 32)])
    columns = {"speaker": np.repeat([0, 1], 32)}
    corpus = Corpus(words[:, None].tolist(), meanings=concepts[:, None], columns=columns)
    score = scored("word_entropy", corpus)[place]
    assert score.ci95 == (0.0, 3.0) and 0 < score.value < 3


def told(corpus, options):
    """A metric that says something of every speaker, and of some, and has no score of one."""
    speaker = corpus.columns["speaker"][0]
    details = {"note": "reduced"} | ({"warning": "left out: seed 1"} if speaker == "a" else {})
    value, reason = (None, "no symbols") if speaker == "c" else (1.0, None)
    return [Score(name="told", value=value, reason=reason, about="", signature="told|v:1", details=details)]


def test_what_is_said_of_speakers_is_said_of_the_mean():
    corpus = Corpus([[1], [2], [3]], columns={"speaker": np.array(["a", "b", "c"])})
    (score,) = by_speaker(Metric(told, (Traits(name="told"),)), corpus, Options())
    assert score.value == 1.0 and score.details["note"] == "reduced"
    warning = "speaker a: left out: seed 1; speaker c: has no score and is not in the mean: no symbols"
    assert score.details["warning"] == warning
    columns = {"speaker": np.array([*"aabb"])}
    corpus = Corpus([[1], [2], [3], [3]], meanings=[[0], [0], [0], [1]], columns=columns)
    score = scored("ami", corpus)[0]
    assert score.reason.startswith("speaker a: no message occurs twice")
    assert "; speaker b: there is only one distinct message" in score.reason


def test_speakers_of_one_language_show_no_spread_over_speakers():
    meanings = np.repeat([[0, 0], [0, 1], [1, 0], [1, 1]], 2, axis=0)
    corpus = Corpus((meanings + np.array([1, 3])).tolist(), meanings=meanings, columns={"speaker": ["a", "b"] * 4})
    [score] = by_speaker(find_metric("topsim"), corpus, Options())
    assert (score.value, score.ci95) == (pytest.approx(1.0), None)
