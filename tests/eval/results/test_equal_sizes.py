"""Corpora of different sizes: one grammar is not better than itself, another is; and what stays not comparable."""

import json

import numpy as np
import pytest

import ecsuite as ec
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


def test_a_corpus_that_changed_is_not_drawn_from(tmp_path):
    paths = [scored(tmp_path / str(size), grammar(size), ["posdis"]) for size in (50, 100)]
    ec.write_corpus(grammar(100, seed=9), paths[1])
    [score] = Results.read(paths).compare(["posdis"]).scores
    assert score.reason.endswith("has changed since it was scored")


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
