"""The null distribution and the interval: given draws, and coverage and p-values on known languages."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecsuite.corpus import Corpus, Ragged
from ecsuite.eval.metrics.context_independence import context_independence
from ecsuite.eval.metrics.posdis_bosdis import Observations, posdis
from ecsuite.eval.metrics.score import Options
from ecsuite.eval.statistics import resampling
from ecsuite.eval.statistics.resampling import centred_interval, describe_null, num_draws, resample, take_rows


def noisy_corpus(rng, num_rows, noise):
    """Two attributes of four values, each with its own position and symbols; a share of the symbols is random."""
    meanings = rng.integers(0, 4, (num_rows, 2))
    clear = np.add(meanings, [0, 4])
    said = np.where(rng.random(clear.shape) < noise, rng.integers(0, 8, clear.shape), clear)
    return Corpus(messages=Ragged.from_rows(said), meanings=meanings)


def test_null_of_hand_made_draws():
    draws = np.array([0.0, 0.1, 0.2, 0.3])
    high = describe_null(0.2, draws, "high")
    assert high["null_mean"] == pytest.approx(0.15)
    assert (high["null_low"], high["null_high"]) == pytest.approx((0.0075, 0.2925))
    assert high["p_value"] == (1 + 2) / 5
    assert describe_null(0.2, draws, "low")["p_value"] == (1 + 3) / 5
    assert describe_null(0.4, draws, "high")["p_value"] == 1 / 5


def test_null_draws_that_differ_by_rounding_are_ties():
    assert describe_null(0.3, np.array([0.1 + 0.2 - 1e-13] * 3), "high")["p_value"] == 1


def test_null_draws_without_a_value_are_left_out():
    assert describe_null(1.0, np.array([np.nan, 0.0]), "high")["p_value"] == 1 / 2
    assert describe_null(1.0, np.array([np.nan]), "high") == {}


def test_interval_of_hand_made_halves():
    halves = np.linspace(0.3, 0.5, 201)  # mean 0.4, middle 95 % 0.305 … 0.495
    assert centred_interval(0.6, halves, 100, (0, 1)) == pytest.approx((0.505, 0.695))
    assert centred_interval(0.6, halves, 100, (0, 0.65)) == pytest.approx((0.505, 0.65))


def test_halves_of_an_odd_number_of_rows_are_a_little_small():
    halves = np.linspace(0.3, 0.5, 201)
    low, high = centred_interval(0.6, halves, 11, (0, 1))
    assert high - low == pytest.approx(0.19 * np.sqrt(5 / 6))


def test_smaller_samples_vary_more_and_are_scaled_down():
    parts = np.linspace(0.3, 0.5, 201)
    low, high = centred_interval(0.6, parts, 1_000, (0, 1), size=100)
    assert high - low == pytest.approx(0.19 / 3)


def test_draws_of_some_rows(all_draws):
    """Means of 30 of 1,000 numbers: the interval is for the mean of all, the null distribution for samples of 30."""
    numbers = np.random.default_rng(0).normal(size=1_000)
    sizes = set()

    def statistic(rows, partners):
        sizes.add(len(rows))
        assert sorted(partners) == rows.tolist()
        return np.array([numbers[rows].mean()])

    value = float(numbers.mean())
    how = {"num_rows": 1_000, "seed": 0, "work": 1, "tails": ["high"], "bounds": (-9, 9)}
    (found,) = resample(statistic, [value], max_rows=30, **how)
    assert sizes == {30}
    assert found.details["null_rows"] == 30
    assert found.details["null_value"] == pytest.approx(value, abs=0.06)
    width = found.ci95[1] - found.ci95[0]
    assert width == pytest.approx(2 * 1.96 * numbers.std() / np.sqrt(1_000), rel=0.25)
    (found,) = resample(statistic, [value], max_rows=500, **how)
    assert sizes == {30, 500, 1_000}
    assert "null_rows" not in found.details


def test_the_reference_value_is_compared_with_the_null(all_draws):
    def statistic(rows, partners):
        return np.array([0.5])

    how = {"num_rows": 20, "seed": 0, "work": 1, "tails": ["high"]}
    (found,) = resample(statistic, [0.6], reference_values=[0.4], **how)
    assert (found.details["null_value"], found.details["p_value"], found.ci95) == (0.4, 1, (0.6, 0.6))
    (found,) = resample(statistic, [0.6], **how)
    assert found.details["p_value"] == 1 / 101
    assert "null_value" not in found.details


def test_no_interval_without_halves_or_where_one_has_no_value():
    assert centred_interval(0.6, np.zeros(0), 9, (0, 1)) is None
    assert centred_interval(0.6, np.array([0.5, np.nan]), 50, (0, 1)) is None


@given(st.floats(0, 1), st.lists(st.floats(0, 1), min_size=1, max_size=9), st.integers(2, 99))
def test_the_score_is_never_outside_its_interval(value, halves, num_rows):
    low, high = centred_interval(value, np.array(halves), num_rows, (0, 1))
    assert 0 <= low <= value <= high <= 1


@given(st.lists(st.lists(st.integers(0, 9), max_size=4), min_size=1, max_size=8), st.data())
def test_take_rows(rows, data):
    chosen = data.draw(st.lists(st.integers(0, len(rows) - 1), max_size=9))
    taken = take_rows(Ragged.from_rows(rows), np.array(chosen, np.int64))
    assert [row.tolist() for row in (taken[i] for i in range(len(taken)))] == [rows[i] for i in chosen]


def test_slow_statistics_have_fewer_draws(all_draws):
    assert num_draws(100, 1) == num_draws(100, 0) == 100
    assert num_draws(100, resampling.WORK // 50) == 50
    assert num_draws(100, 10**12) == resampling.MIN_DRAWS


def test_arguments_of_a_statistic():
    """Null draws have all rows with shuffled partners; half-samples have ascending, unique rows and their partners."""
    calls = []

    def statistic(rows, partners):
        calls.append((rows, partners))
        return np.array([float(rows @ partners)])

    (found,) = resample(statistic, [0.5], num_rows=12, seed=0, work=1, tails=["high"], bounds=(-1e9, 1e9))
    shuffled = [(rows, partners) for rows, partners in calls if len(rows) == 12]
    halved = [(rows, partners) for rows, partners in calls if len(rows) == 6]
    assert len(shuffled) == found.details["permutations"] == 9
    assert len(halved) == found.details["subsamples"] == 9
    for rows, partners in shuffled:
        assert rows.tolist() == sorted(partners.tolist()) == list(range(12))
    assert len({tuple(partners) for _, partners in shuffled}) > 1
    for rows, partners in halved:
        assert rows.tolist() == partners.tolist() == sorted(set(rows.tolist()))


def test_few_rows_have_no_interval():
    (found,) = resample(
        lambda rows, partners: np.array([0.5]), [0.5], num_rows=9, seed=0, work=1, tails=["high"]
    )
    assert found.ci95 is None
    assert found.details["subsamples"] == 0
    assert found.details["p_value"] == 1


def test_the_seed_decides():
    corpus = noisy_corpus(np.random.default_rng(0), 60, 0.5)
    first, again, other = (posdis(corpus, Options(seed=seed))[0] for seed in (1, 1, 2))
    assert first == again
    assert first.ci95 != other.ci95
    assert (first.value, first.signature) == (other.value, other.signature)


@pytest.mark.parametrize("metric", [posdis, pytest.param(context_independence, marks=pytest.mark.slow)])
def test_the_interval_covers_the_mean_score_of_corpora_of_that_size(all_draws, monkeypatch, metric):
    monkeypatch.setattr(resampling, "NUM_PERMUTATIONS", 1)
    monkeypatch.setattr(resampling, "NUM_SUBSAMPLES", 100)
    monkeypatch.setattr(resampling, "MIN_DRAWS", 1)
    rng = np.random.default_rng(0)
    scores = [metric(noisy_corpus(rng, 100, 0.6), Options())[0] for _ in range(50)]
    mean = np.mean([score.value for score in scores])
    covered = sum(score.ci95[0] <= mean <= score.ci95[1] for score in scores)
    assert 45 <= covered
    width = np.mean([score.ci95[1] - score.ci95[0] for score in scores])
    assert 0.8 < width / (3.92 * np.std([score.value for score in scores])) < 1.4


def test_a_bootstrap_with_repeated_rows_is_too_high():
    """Reason for half-samples: in a random language, bootstrap samples have higher scores."""
    rng = np.random.default_rng(0)
    corpus = noisy_corpus(rng, 100, 1.0)
    score = posdis(corpus, Options())[0]
    said = corpus.messages.values.reshape(100, 2).astype(np.int64)
    repeats = []
    for _ in range(200):
        rows = rng.integers(100, size=100)
        place = np.arange(200)
        observations = Observations.of(place % 2, place // 2, said[rows].ravel(), num_rows=100)
        repeats.append(observations.disentanglement(corpus.meanings[rows])[0])
    fresh = [posdis(noisy_corpus(rng, 100, 1.0), Options())[0].value for _ in range(30)]
    assert np.mean(repeats) > 1.2 * np.mean(fresh)
    assert score.ci95[0] <= np.mean(fresh) <= score.ci95[1]


def test_p_values_of_random_languages_are_uniform(all_draws, monkeypatch):
    monkeypatch.setattr(resampling, "NUM_SUBSAMPLES", 1)
    monkeypatch.setattr(resampling, "MIN_DRAWS", 1)
    rng = np.random.default_rng(0)
    p_values = [posdis(noisy_corpus(rng, 40, 1.0), Options())[0].details["p_value"] for _ in range(100)]
    assert 0.4 < np.mean(p_values) < 0.6
    assert 3 <= sum(p <= 0.1 for p in p_values) <= 18
