"""Topographic similarity: constructed languages, comparison with SciPy, sampling, distances."""

import itertools
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from languages import grid, score_of
from scipy.spatial.distance import pdist
from scipy.stats import spearmanr

from ecsuite.eval.metrics import topsim as module
from ecsuite.eval.metrics.conclusions import p_value
from ecsuite.eval.metrics.topsim import topsim
from ecsuite.eval.statistics.resampling import few_draws
from ecsuite.runtime.ragged import Ragged

GRID = grid(3, 3)
COMPOSITIONAL = np.add(GRID, [10, 20]).tolist()
score = partial(score_of, topsim)


def levenshtein(first, second):
    """Edit distance by the recursion that defines it."""
    if not first or not second:
        return len(first) + len(second)
    return min(
        levenshtein(first[1:], second) + 1,
        levenshtein(first, second[1:]) + 1,
        levenshtein(first[1:], second[1:]) + (first[0] != second[0]),
    )


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_definition(seed):
    """Reference implementation of EGG's definition: Levenshtein over mean length, Hamming, Spearman."""
    rng = np.random.default_rng(seed)
    messages = [rng.integers(1, 4, rng.integers(0, 5)).tolist() for _ in range(8)]
    meanings = rng.integers(0, 3, (8, 3))
    result = score(messages, meanings)
    between_messages = [
        levenshtein(a, b) / ((len(a) + len(b)) / 2 or 1) for a, b in itertools.combinations(messages, 2)
    ]
    between_meanings = pdist(meanings, "hamming")
    if np.ptp(between_messages) == 0 or np.ptp(between_meanings) == 0:
        assert result.value is None
    else:
        assert result.value == pytest.approx(spearmanr(between_messages, between_meanings).statistic)


def test_ids_that_hash_alike_or_fall_among_surrogates_stay_apart():
    every = np.arange(60_000)[:, None]
    assert score(every, every).reason == "all distances between messages are equal"


def test_features_are_compared_by_angle():
    angles = np.linspace(0, 1.5, 6)
    features = np.stack([np.cos(angles), np.sin(angles)], axis=1) * np.arange(1, 7)[:, None]
    result = score([[1] * i + [2] * (5 - i) for i in range(6)], features)
    assert result.value == pytest.approx(1)
    assert "mdist:cosine" in result.signature


def test_a_zero_feature_vector_is_far_from_all():
    result = score([[1, 1], [1, 2], [3, 4]], [[1.0, 0.0], [1.0, 0.1], [0.0, 0.0]])
    assert result.value == pytest.approx(1)


def test_concepts_alone():
    """Of three sets, the first two share one of three members; the third shares none."""
    result = score([[1, 2], [1, 3], [4, 5]], concepts=[[0, 1, 1], [2, 1], [3, 4]])
    assert result.value == pytest.approx(1)
    assert "mdist:jaccard" in result.signature


def test_empty_after_eos():
    reason = "all distances between messages are equal"
    assert score([[0, 1], [0, 2], [0]], [[0], [1], [2]], eos=0).reason == reason


def noisy(num_rows, num_noise, seed=3):
    """Meanings of three attributes, and messages of which half of the symbols are one of some others."""
    rng = np.random.default_rng(seed)
    meanings = rng.integers(0, 4, (num_rows, 3))
    noise = rng.integers(90, 90 + num_noise, meanings.shape)
    return np.where(rng.random(meanings.shape) < 0.5, np.add(meanings, [0, 4, 8]), noise), meanings


def test_sampled_pairs(monkeypatch):
    monkeypatch.setattr(module, "NUM_SAMPLED_PAIRS", 40_000)
    monkeypatch.setattr(module, "NUM_ROWS_ALL_PAIRS", 300)
    messages, meanings = noisy(600, num_noise=40)
    first, again, other = (score(messages, meanings, seed=seed) for seed in (1, 1, 2))
    assert first == again
    assert first.value != other.value
    assert first.value == pytest.approx(other.value, abs=0.015)
    assert "pairs:40000|seed:1|v:4" in first.signature
    assert "pairs:40000|seed:2|v:4" in other.signature
    everything = spearmanr(pdist(messages, "hamming"), pdist(meanings, "hamming")).statistic
    assert first.value == pytest.approx(everything, abs=0.015)
    assert first.ci95[0] < everything < first.ci95[1]


@pytest.mark.sample(1)
@pytest.mark.parametrize("kind", ["attributes", "features", "concepts"])
def test_few_different_messages_are_counted_instead_of_drawn(kind, monkeypatch):
    """Comparison with SciPy over all pairs of messages, equal ones among them."""
    monkeypatch.setattr(module, "NUM_ROWS_ALL_PAIRS", 400)
    messages, meanings = noisy(500, num_noise=1)
    vectors = np.reshape([np.eye(4)[row] for row in meanings], (len(meanings), 12))
    given = {
        "attributes": {"meanings": meanings},
        "features": {"meanings": vectors},
        "concepts": {"concepts": np.add(meanings, [0, 4, 8]).tolist()},
    }[kind]
    first, other = (score(messages, **given, seed=seed) for seed in (1, 2))
    between = {"attributes": "hamming", "features": "cosine", "concepts": "jaccard"}[kind]
    everything = spearmanr(
        pdist(messages, "hamming"), pdist(vectors if kind != "attributes" else meanings, between).round(9)
    ).statistic
    assert first.value == pytest.approx(everything, abs=1e-12)
    assert (other.value, other.signature) == (first.value, first.signature)
    assert other.ci95 == pytest.approx(first.ci95, abs=0.01)
    assert "pairs:all|v:4" in first.signature
    assert first.details["num_pairs"] == 500 * 499 // 2


def test_counted_and_compared_pairs_give_the_same(monkeypatch):
    messages, meanings = noisy(500, num_noise=1)
    compared = score(messages, meanings)
    monkeypatch.setattr(module, "NUM_ROWS_ALL_PAIRS", 400)
    counted = score(messages, meanings)
    assert counted.value == pytest.approx(compared.value, abs=1e-12)
    assert counted.ci95 == pytest.approx(compared.ci95, abs=0.004)


def test_one_message_of_thousands_has_no_distances():
    meanings = np.tile(GRID, (600, 1))
    reason = "all distances between messages are equal"
    assert score([[1, 2]] * len(meanings), meanings).reason == reason


@pytest.mark.slow
@pytest.mark.parametrize("num_noise", [1, 40], ids=["counted", "drawn"])
def test_the_interval_of_many_messages_covers_in_95_percent(num_noise):
    with few_draws():
        scores = [score(*noisy(5_000, num_noise, seed)) for seed in range(100)]
    mean = np.mean([each.value for each in scores])
    assert 90 <= sum(each.ci95[0] <= mean <= each.ci95[1] for each in scores) <= 99


@pytest.mark.slow
def test_the_interval_covers_the_language_that_was_sampled():
    rng = np.random.default_rng(0)
    meanings = rng.integers(0, 4, (4_000, 3))
    noisy = np.where(rng.random(meanings.shape) < 0.5, np.add(meanings, [0, 4, 8]), 99)
    whole = spearmanr(pdist(noisy[:2_000], "hamming"), pdist(meanings[:2_000], "hamming")).statistic
    intervals = [score(noisy[i : i + 100], meanings[i : i + 100]).ci95 for i in range(0, 4_000, 100)]
    covered = sum(low <= whole <= high for low, high in intervals)
    assert 34 <= covered <= 40


def test_the_seed_of_the_interval_is_no_part_of_the_signature():
    first, other = (score(COMPOSITIONAL[:5], GRID[:5], seed=seed) for seed in (1, 2))
    assert (first.value, first.signature) == (other.value, other.signature)


def test_null_of_a_compositional_and_of_a_scrambled_language(all_draws):
    rng = np.random.default_rng(0)
    meanings = rng.permutation(list(itertools.product(range(4), repeat=3)))[:60]
    clear, scrambled = np.add(meanings, [0, 4, 8]), rng.permutation(np.add(meanings, [0, 4, 8]))
    result = score(clear, meanings)
    assert result.chance.level == pytest.approx(0, abs=0.02)
    assert result.chance.low < 0 < result.chance.high < 0.2
    assert p_value(result) < 1e-6
    assert p_value(score(scrambled, meanings)) > 0.05


@pytest.mark.parametrize("repetitions", [np.ones(9, int), np.full(9, 3), np.arange(1, 10)])
def test_the_null_is_that_of_exchanged_meanings(repetitions, all_draws):
    """Comparison with Spearman's correlation of exchanged meanings, with new ranks."""
    rng = np.random.default_rng(0)
    grid = np.array(list(itertools.product(range(3), repeat=2)))
    meaning = np.repeat(np.arange(9), repetitions)
    meanings, messages = grid[meaning], np.add(grid, [10, 20])[meaning]
    draws = [
        spearmanr(pdist(messages, "hamming"), pdist(grid[rng.permutation(9)][meaning], "hamming")).statistic
        for _ in range(300)
    ]
    nulls = [score(messages, meanings, seed=seed).chance for seed in range(5)]
    assert np.mean([null.level for null in nulls]) == pytest.approx(np.mean(draws), abs=0.02)
    found = np.concatenate([null.draws for null in nulls])
    assert found.std() == pytest.approx(np.std(draws), rel=0.15)


def test_the_null_of_many_different_messages_is_drawn_on_a_thousand():
    rng = np.random.default_rng(3)
    meanings = rng.integers(0, 4, (1_200, 3))
    result = score(np.add(meanings, [0, 4, 8]), meanings)
    assert result.value == pytest.approx(1)
    assert (result.chance.num_rows, result.chance.compared, result.chance.num_meanings) == (None, None, 64)
    meanings = rng.integers(0, 15, (1_500, 3))
    result = score(np.add(meanings, [0, 15, 30]), meanings)
    assert result.value == pytest.approx(1)
    assert abs(result.chance.level) < 0.005
    assert result.chance.num_rows == 1_000
    assert 600 < result.chance.num_meanings < len(np.unique(meanings, axis=0))


def test_wide_sets_of_concepts_are_compared_some_at_a_time(monkeypatch):
    rng = np.random.default_rng(0)
    sets = Ragged.from_rows([np.flatnonzero(rng.random(50) < 0.4).tolist() for _ in range(30)])
    members = [set(row.tolist()) for row in sets]
    monkeypatch.setattr(module, "_MOST_MEMBERS", 100)
    for left, right in (np.triu_indices(30, 1), rng.integers(0, 30, (2, 40))):
        found = module.jaccard_distance(sets)(left, right)
        pairs = [(members[one], members[other]) for one, other in zip(left, right, strict=True)]
        assert found == pytest.approx([1 - len(a & b) / len(a | b) for a, b in pairs])
