"""Corpora of different sizes: one grammar is not better than itself, another is; and what stays not comparable."""

import json
import shutil
from dataclasses import replace

import numpy as np
import pytest
from compared_sources import source

import ecsuite as ec
from ecsuite.eval.results.equal_sizes import NUM_DRAWS, EqualSizes, is_exhaustive, mean_of, moved
from ecsuite.eval.results.results import Results

SIZED = ["ncnpmi", "residual_entropy", "ami", "posdis", "conflict_count"]


def grammar(num_messages, seed=0, noise=0.2, num_values=(8, 8)):
    """Messages with a word for each attribute, some of which are drawn at random."""
    rng = np.random.default_rng(seed)
    meanings = np.stack([rng.integers(values, size=num_messages) for values in num_values], axis=1)
    is_noise = rng.random(meanings.shape) < noise
    words = np.where(is_noise, rng.integers(num_values[0], size=meanings.shape), meanings)
    return ec.Corpus((words + np.array([0, num_values[0]])).tolist(), meanings=meanings.tolist())


def scored(folder, corpus, metrics=SIZED):
    ec.write_corpus(corpus, folder)
    card = ec.score(ec.read_corpus(folder), metrics)
    (folder / "scores.json").write_text(json.dumps(card.to_json()))
    return folder


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    place = tmp_path_factory.mktemp("sizes")
    return {
        "small": scored(place / "small", grammar(200)),
        "large": scored(place / "large", grammar(2000, seed=1)),
        "noisy": scored(place / "noisy", grammar(2000, seed=2, noise=0.8)),
    }


@pytest.mark.slow
def test_one_grammar_in_two_sizes_is_inside_the_noise(folders):
    """It was better by size alone in four of these scores."""
    found = Results.read([folders["small"], folders["large"]]).compare(SIZED)
    for score in found.scores:
        [difference] = score.differences
        assert difference.conclusion != "higher" and difference.conclusion != "lower", score.name
        assert score.size == 200, score.name


@pytest.mark.slow
def test_another_grammar_is_told_apart_in_another_size(folders):
    found = Results.read([folders["small"], folders["noisy"]]).compare(["posdis", "residual_entropy"])
    assert [score.differences[0].is_clear for score in found.scores] == [True, True]


def test_each_speaker_is_drawn_from(tmp_path):
    """A score is the mean over speakers, and its size that of one of them."""
    paths = []
    for size in (200, 400):
        one, other = grammar(size), grammar(size, seed=5)
        both = ec.Corpus(
            [*map(list, one.messages), *map(list, other.messages)],
            meanings=np.concatenate([one.meanings, other.meanings]).tolist(),
            columns={"speaker": np.repeat([0, 1], size)},
        )
        paths.append(scored(tmp_path / str(size), both, ["posdis", "ncnpmi"]))
    found = Results.read(paths).compare(["posdis", "ncnpmi"])
    assert [score.reason for score in found.scores] == [None, None]
    for score in found.scores:
        assert score.size == 200 and not score.differences[0].is_clear
        drawn = {name: sample.score for name, sample in score.samples.items()}
        assert score.differences[0].mean == pytest.approx(abs(drawn["200"] - drawn["400"])) or (
            score.differences[0].mean == pytest.approx(-abs(drawn["200"] - drawn["400"]))
        )


def test_scores_that_do_not_depend_on_size_are_compared_as_they_are(tmp_path):
    paths = [scored(tmp_path / str(size), grammar(size), ["topsim"]) for size in (200, 400)]
    [score] = Results.read(paths).compare().scores
    assert score.size is None


def test_what_can_not_be_compared_says_why(tmp_path, folders):
    every = np.array([[a, b] for a in range(8) for b in range(8)])
    exhaustive = scored(
        tmp_path / "all", ec.Corpus((every + np.array([0, 8])).tolist(), meanings=every.tolist()), ["posdis"]
    )
    small = scored(tmp_path / "few", grammar(40), ["posdis"])
    assert is_exhaustive(ec.read_corpus(exhaustive)) and not is_exhaustive(ec.read_corpus(small))
    [score] = Results.read([exhaustive, small]).compare(["posdis"]).scores
    assert score.reason.endswith("has each meaning of its world once, so its size is the size of the world")
    shutil.copy(folders["large"] / "scores.json", tmp_path / "alone.json")
    scores = Results.read([small, tmp_path / "alone.json"]).compare(["posdis"]).scores
    assert scores[0].reason is None  # the file says where the corpus is
    text = (tmp_path / "alone.json").read_text().replace(str(folders["large"]), str(tmp_path / "gone"))
    (tmp_path / "alone.json").write_text(text)
    [score] = Results.read([small, tmp_path / "alone.json"]).compare(["posdis"]).scores
    assert score.reason.startswith("gone cannot be compared at 40 messages: the corpus of gone is missing")


def test_a_corpus_that_changed_is_not_drawn_from(tmp_path):
    first, second = (
        scored(tmp_path / "a", grammar(200), ["posdis"]),
        scored(tmp_path / "b", grammar(400), ["posdis"]),
    )
    ec.write_corpus(grammar(400, seed=9), second)
    [score] = Results.read([first, second]).compare(["posdis"]).scores
    assert score.reason.endswith("has changed since it was scored")


def test_each_metric_is_computed_once_at_a_size(folders):
    seen = []
    sizes = EqualSizes(progress=lambda label, done, total: seen.append((label, done)))
    sources = Results.read([folders["small"], folders["large"], folders["noisy"]])
    Results(sources).compare(["posdis"], sizes=sizes)
    assert len(seen) == 2 * NUM_DRAWS  # of both larger corpora, at the size of the small one


def test_the_interval_moves_with_the_mean_and_widens_by_the_error_of_draws():
    mean, width = mean_of([0.5 - 0.1, 0.5 + 0.1]), 0.1 * 1.959964  # an error of .1
    low, high = moved((0.5, 0.9), 0.6, mean)
    assert low == pytest.approx(0.5 - np.hypot(0.1, width)) and high == pytest.approx(
        0.5 + np.hypot(0.3, width)
    )
    assert (mean.mean, mean.half_width, mean.num_values) == pytest.approx((0.5, width, 2))
    assert mean_of([0.1, None]).mean is None


def test_sizes_by_speaker_are_refused():
    one, other = (source(name, [0.5], targets=["posdis"]) for name in "ab")
    samples = [replace(one, sizes=("60+300",)), replace(other, sizes=("200",))]
    _, reasons = EqualSizes().at_one_size(samples, "posdis")
    assert reasons == {"a": "a cannot be compared at 200 messages: its sizes differ (60+300)"}
