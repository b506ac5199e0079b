"""Null distributions, intervals and chance levels: given draws, and coverage and p-values on known languages."""

import json

import numpy as np
import pytest
from scipy import stats

from ecsuite.corpus import Corpus
from ecsuite.eval.metrics.associations import context_independence
from ecsuite.eval.metrics.conclusions import p_value
from ecsuite.eval.metrics.disentanglement import conflict_count, posdis
from ecsuite.eval.metrics.score import Options
from ecsuite.eval.statistics import resampling
from ecsuite.eval.statistics.cache import cached_per_corpus, corpus_cache
from ecsuite.eval.statistics.chance import Chance, prediction_interval
from ecsuite.eval.statistics.resampling import half_sample, jackknife_interval, num_draws, resample
from ecsuite.runtime.ragged import Ragged
from languages import corpus_of


def drawn(statistic, values=(0.5,), *, num_rows=20, **options):
    """What is found with a statistic of one figure that is called quickly."""
    (found,) = resample(statistic, values, num_rows=num_rows, seed=0, work=1, **options)
    return found


def always_half(rows, partners):
    return np.array([0.5])


def noisy_corpus(rng, num_rows, noise):
    """Two attributes of four values, each with its own position and symbols; a share of the symbols is random."""
    meanings = rng.integers(0, 4, (num_rows, 2))
    clear = np.add(meanings, [0, 4])
    said = np.where(rng.random(clear.shape) < noise, rng.integers(0, 8, clear.shape), clear)
    return Corpus(messages=Ragged.from_rows(said), meanings=meanings)


UNIT = (0.0, 1.0)


def test_jackknife_of_a_mean_is_student_s_interval():
    """The standard deviation over all half-samples of a mean is its standard error."""
    numbers = np.random.default_rng(0).normal(size=60)
    rng = np.random.default_rng(1)
    parts = np.array([numbers[half_sample(60, rng)].mean() for _ in range(20_000)])
    low, high = jackknife_interval(numbers.mean(), parts, 60, (-np.inf, np.inf))
    assert (low + high) / 2 == pytest.approx(numbers.mean())
    assert (high - low) / 2 == pytest.approx(1.96 * stats.sem(numbers), rel=0.02)


@pytest.mark.parametrize("draw", [np.random.Generator.normal, np.random.Generator.exponential])
@pytest.mark.parametrize("number", [5, 20, pytest.param(200, marks=pytest.mark.slow)])
def test_an_interval_from_few_half_samples_covers_as_often(number, draw):
    """Percentiles of 20 half-samples would cover the mean of a normal distribution in 88 %."""
    rng = np.random.default_rng(0)
    mean = 0 if draw is np.random.Generator.normal else 1
    covered = 0
    for _ in range(500):
        numbers = draw(rng, size=60)
        parts = np.array([numbers[half_sample(60, rng)].mean() for _ in range(number)])
        low, high = jackknife_interval(numbers.mean(), parts, 60, (-np.inf, np.inf))
        covered += low <= mean <= high
    assert 0.91 < covered / 500 < 0.975


def test_intervals_follow_the_size_of_samples_and_the_range_of_the_score():
    halves = np.array([0.3, 0.5])
    assert jackknife_interval(0.6, halves, 100, UNIT) == (0, 1)
    assert jackknife_interval(0.6, np.full(9, 0.4), 100, UNIT) == (0.6, 0.6)
    halves = np.linspace(0.3, 0.5, 201)
    even, odd = (np.ptp(jackknife_interval(0.5, halves, num_rows, UNIT)) for num_rows in (10, 11))
    assert odd == pytest.approx(even * np.sqrt(5 / 6))
    parts = np.linspace(0.3, 0.5, 201)
    half, tenth = (np.ptp(jackknife_interval(0.5, parts, 1_000, UNIT, size=size)) for size in (500, 100))
    assert tenth == pytest.approx(half / 3)
    for parts in ([], [0.5], [0.5, np.nan]):
        assert jackknife_interval(0.6, np.array(parts), 50, UNIT) is None


def test_draws_of_some_rows(all_draws):
    """Means of 30 of 1,000 numbers: the interval is for the mean of all, the null distribution for samples of 30."""
    numbers = np.random.default_rng(0).normal(size=1_000)
    sizes = set()

    def statistic(rows, partners):
        sizes.add(len(rows))
        assert sorted(partners) == rows.tolist()
        return np.array([numbers[rows].mean()])

    value = float(numbers.mean())
    found = drawn(statistic, [value], num_rows=1_000, bounds=(-9, 9), max_rows=30)
    assert sizes == {30} and found.chance.num_rows == 30
    assert found.chance.compared == pytest.approx(value, abs=0.06)
    width = found.ci95[1] - found.ci95[0]
    assert width == pytest.approx(2 * 1.96 * numbers.std() / np.sqrt(1_000), rel=0.25)
    found = drawn(statistic, [value], num_rows=1_000, bounds=(-9, 9), max_rows=500)
    assert sizes == {30, 500, 1_000} and found.chance.num_rows is None


def test_a_large_corpus_is_drawn_from_once_for_all_draws(all_draws, monkeypatch):
    """The mean of a quarter of the rows, and an interval as wide as that of all."""
    monkeypatch.setattr(resampling, "NUM_SUBSAMPLES", 2_000)
    data, seen = np.random.default_rng(1).normal(size=8_000), []

    def of_rows(some):
        seen.append(some)
        return lambda pairings: np.array([[data[some][rows].mean()] for rows, _ in pairings])

    value = float(data.mean())
    found = drawn(None, [value], num_rows=len(data), bounds=(-9, 9), max_rows=1_000, of_rows=of_rows)
    assert len(seen) == 1 and len(np.unique(seen[0])) == 2_000 and (np.diff(seen[0]) > 0).all()
    assert found.chance.num_rows == 1_000
    half_width = (found.ci95[1] - found.ci95[0]) / 2
    assert half_width == pytest.approx(1.96 * data.std() / np.sqrt(len(data)), rel=0.08)


def test_numbers_of_draws_and_the_reference_value(all_draws):
    assert num_draws(100, 1) == num_draws(100, 0) == 100 and num_draws(100, resampling.WORK // 50) == 50
    assert num_draws(100, 10**12) == resampling.MIN_DRAWS
    found = drawn(always_half, max_subsamples=30)
    assert (len(found.chance.draws), found.details["subsamples"]) == (100, 30)
    few = drawn(always_half, num_rows=9)
    assert (few.ci95, few.details["subsamples"], few.chance.p_value(0.5)[0]) == (None, 0, 1)
    for options, compared, distance in (({"reference_values": [0.4]}, 0.4, -0.1), ({}, None, 0.1)):
        found = drawn(always_half, [0.6], **options)
        assert (found.chance.compared, found.ci95) == (compared, (0.6, 0.6))
        assert found.chance.distance(0.6) == pytest.approx(distance)


def test_arguments_of_a_statistic():
    """Null draws have all rows with shuffled partners; half-samples have ascending, unique rows and their partners."""
    calls = []

    def statistic(rows, partners):
        calls.append((rows, partners))
        return np.array([float(rows @ partners)])

    found = drawn(statistic, num_rows=12, bounds=(-1e9, 1e9))
    shuffled = [(rows, partners) for rows, partners in calls if len(rows) == 12]
    halved = [(rows, partners) for rows, partners in calls if len(rows) == 6]
    assert len(shuffled) == len(found.chance.draws) == 9 and len(halved) == found.details["subsamples"] == 9
    for rows, partners in shuffled:
        assert rows.tolist() == sorted(partners.tolist()) == list(range(12))
    assert len({tuple(partners) for _, partners in shuffled}) > 1
    for rows, partners in halved:
        assert rows.tolist() == partners.tolist() == sorted(set(rows.tolist()))


@pytest.mark.sample(1)
@pytest.mark.parametrize("metric", [posdis, conflict_count, pytest.param(context_independence, marks=pytest.mark.slow)])
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


@pytest.mark.slow
def test_p_values_of_random_languages_are_uniform(all_draws, monkeypatch):
    monkeypatch.setattr(resampling, "NUM_SUBSAMPLES", 1)
    monkeypatch.setattr(resampling, "MIN_DRAWS", 1)
    rng = np.random.default_rng(0)
    p_values = [p_value(posdis(noisy_corpus(rng, 40, 1.0), Options())[0]) for _ in range(50)]
    assert 0.4 < np.mean(p_values) < 0.6 and 1 <= sum(p <= 0.1 for p in p_values) <= 11


def test_draws_of_a_large_corpus_have_fewer_messages(monkeypatch):
    monkeypatch.setattr(resampling, "MAX_ROWS", 100)
    rows = half_sample(1_000, np.random.default_rng(0), 100)
    assert len(rows) == 100 and (np.diff(rows) > 0).all() and rows[-1] < 1_000
    often = sum(
        np.isin(np.arange(1_000), half_sample(1_000, rng, 100)) for rng in map(np.random.default_rng, range(99))
    )
    assert 3 < np.percentile(often, 5) < np.percentile(often, 95) < 17  # 9.9 times each


def test_kept_draws_are_those_of_anew_and_of_the_corpus_that_is_scored(all_draws):
    # A second metric of a large corpus has the rows and partners of the first, and those of one alone.
    def pairings(**asked):
        found = []

        def statistic(rows, partners):
            found.append((rows.tolist(), partners.tolist()))
            return np.array([float(rows.sum())])

        options = {"num_rows": 100, "seed": 3, "work": 10**9, "max_rows": 20} | asked
        return found, resample(statistic, [0.0], **options)

    alone, others = pairings(), pairings(seed=4)
    corpus = corpus_of([[1]] * 100, [[0]] * 100)
    with corpus_cache(corpus):
        assert [pairings(), pairings(seed=4), pairings(), pairings(seed=4)] == [alone, others] * 2
    assert alone != others
    scored, other = (corpus_of([[1], [2]], [[0], [1]]) for _ in range(2))
    calls = []

    @cached_per_corpus
    def size(corpus):
        calls.append(corpus)
        return len(corpus.messages)

    with corpus_cache(scored):
        with corpus_cache(scored):  # as in a process that started as a copy
            assert size(scored) == size(scored) == 2
        assert size(scored) == 2 and len(calls) == 1 and size(other) == size(other) == 2 and len(calls) == 3
    size(scored)
    assert len(calls) == 4


def chance(draws, **options):
    return Chance.from_permutations(draws, seed=0, bounds=UNIT, **options)


def test_p_values_by_hand_and_of_ties():
    found = chance([0.0, 0.1, 0.2, 0.3])
    assert found.level == pytest.approx(0.15)
    assert found.p_value(0.2) == (1, "ranks")  # 0.16 is the mean of all five, and 0.2 the nearest to it
    assert found.p_value(0.0) == (pytest.approx((1 + 2) / 5), "ranks")  # 0 and 0.3 are as far from 0.12
    units = 0.35 / (np.std([0.0, 0.1, 0.2, 0.3], ddof=1) * np.sqrt(5 / 4))
    assert found.p_value(0.5) == (pytest.approx(2 * stats.t.sf(units, 3)), "tail")
    assert chance([0.1 + 0.2 - 1e-13] * 3).p_value(0.3) == (1, "ranks")
    # Draws that differ from the score by rounding alone are as far as it is.
    for scale in (1e-6, 1.0, 1e6):
        draws = np.array([0.3 * (1 + 1e-12), -0.3, 0.1, 0.0, -0.1, 0.2, -0.2]) * scale
        found = Chance.from_permutations(draws, seed=0, bounds=None)
        assert found.p_value(0.3 * scale)[0] == pytest.approx(3 / 8)


def test_draws_without_a_value_are_left_out():
    found = chance([np.nan, 0.1, 0.3, 0.2])
    assert (found.level, len(found.defined)) == (pytest.approx(0.2), 3)
    assert found.kept()["draws"] == [None, 0.1, 0.3, 0.2] and found.to_json(0.2)["defined"] == 3
    assert "draws" not in found.to_json(0.2) and chance([np.nan]) is None
    parts = [chance([0.0, np.nan, np.nan]), chance([1.0, 0.5, np.nan, 0.7])]
    found = Chance.average(parts, [0.4, 0.6], 0.1, 1)
    assert found.draws == (0.5, 0.5, None) and Chance.average([*parts, None], [0.4, 0.6, 0.5], 0.1, 2) is None
    compared = Chance.average([chance([0.1], compared=0.3), chance([0.2])], [0.4, 0.6], 0.1, 1)
    assert compared.compared == pytest.approx((0.3 + 0.6) / 2)


def test_prediction_intervals_by_hand():
    draws = np.random.default_rng(0).random(39)
    assert prediction_interval(draws) == pytest.approx((draws.min(), draws.max()))
    assert prediction_interval(np.arange(1.0, 80)) == pytest.approx((2, 78))
    draws = np.array([1.0, 2.0, 3.0])
    half_width = 4.302653 * np.sqrt(4 / 3)
    assert prediction_interval(draws) == pytest.approx((2 - half_width, 2 + half_width))
    found = Chance.from_permutations(draws, seed=0, bounds=(0, 5))
    assert (found.low, found.high) == found.interval == (0, 5)
    assert prediction_interval(np.full(3, 0.25)) == (0.25, 0.25)


@pytest.mark.sample(8)
@pytest.mark.parametrize("number", [20, 38, 39, 60, 100])
@pytest.mark.parametrize(
    "shape",
    [stats.norm(), stats.expon(), stats.chi2(5), stats.beta(8, 1)],
    ids=["normal", "exponential", "chi2", "beta"],
)
def test_a_further_draw_is_inside_in_95_percent(number, shape):
    """With quantiles of the draws it would be 86 % of 20 and 93 % of 100."""
    draws = shape.rvs((400, number), random_state=0)
    bounds = np.array([prediction_interval(row) for row in draws])
    inside = (shape.cdf(bounds[:, 1]) - shape.cdf(bounds[:, 0])).mean()
    assert 0.925 < inside < 0.96


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("number", "shape"),
    [(5, stats.norm()), (20, stats.norm()), (100, stats.norm()), (20, stats.expon()), (100, stats.expon())],
)
def test_a_further_draw_is_significant_in_5_percent(number, shape):
    draws = shape.rvs((2000, number + 1), random_state=1)
    found = np.mean(
        [Chance.from_permutations(row[1:], seed=0, bounds=(-99, 99)).p_value(row[0])[0] < 0.05 for row in draws]
    )
    assert 0.03 < found < 0.075


@pytest.mark.slow
@pytest.mark.parametrize("num_parts", [2, 4])
def test_means_of_skewed_levels_are_taken_draw_by_draw(num_parts):
    """Ends of skewed levels, averaged as if these were normal, called 69 % of random languages `below chance`."""
    rng = np.random.default_rng(2)
    hits = 0
    for _ in range(1000):
        values = rng.exponential(size=(num_parts, 101))
        parts = [Chance.from_permutations(row[1:], seed=0, bounds=(0, 99)) for row in values]
        mean = Chance.average(parts, values[:, 0].tolist(), 0.1, num_parts - 1)
        assert mean.level == pytest.approx(values[:, 1:].mean()) and mean.low <= mean.level <= mean.high
        hits += mean.p_value(values[:, 0].mean())[0] < 0.05
    assert 25 < hits < 65


def test_a_level_without_spread_is_compared_by_the_error_of_the_score():
    values = [0.6, 0.7, 0.8]
    expected = stats.ttest_1samp(values, 0.5).pvalue
    assert Chance.from_guesses(0.5, values).p_value(0.7) == (pytest.approx(expected), "error")
    assert Chance.from_guesses(0.5, [0.7]).p_value(0.7) == (None, "error")
    assert Chance.from_guesses(0.5, values).p_value(0.5) == (1, "theory")
    assert Chance.from_guesses(0.5, [1.0] * 5).p_value(1.0)[0] == pytest.approx(2 / 2**5)  # binomial
    theory = Chance(kind="theory", level=0.0, p_of_theory=0.03)
    assert theory.p_value(0.4) == (0.03, "theory") and theory.p_value(0.0) == (1, "theory")


def test_p_values_of_levels_without_spread_or_with_few_scores():
    # As of `tre7` of a compositional language: every shuffle has the worst score.
    worst = Chance.from_permutations([2.0] * 100, seed=0, bounds=(0, 2))
    assert worst.p_value(0.0)[0] < 1e-9 and worst.p_value(1.99)[0] == pytest.approx(1 / 101)
    assert chance([0.0] * 100).p_value(0.5) == (None, "ranks")
    # The mean of the draws, 0.003, is outside the range of most of them, which is 0.
    found = chance([0.0] * 99 + [0.3])
    assert found.low <= found.level <= found.high and found.p_value(0.0) == (1, "ranks")
    # Of 100 shuffles of some languages three have a score: unusual ones.
    assert chance([*[np.nan] * 97, 0.1, 0.2, 0.3]).p_value(0.9) == (None, "ranks")
    assert chance([*[np.nan] * 50, *np.linspace(0, 0.1, 50)]).p_value(0.9)[0] < 1e-9
    # With the number of all shuffles, 1 / 51 looked as if 0.98 of 100 were as far from chance as the score.
    half = [*[np.nan] * 50, *np.random.default_rng(0).normal(0.5, 0.01, 50)]
    p_value, basis = chance(half).p_value(0.9)
    assert p_value < 1e-9 and basis == "tail"


def test_a_skewed_level_of_few_values_is_reached_in_5_percent():
    """As of `ami` of short messages: nothing is below the most frequent value, so that the double of the smaller tail
    was at most 5 % in 1.3 % of random languages."""
    draws = np.random.default_rng(5).poisson(0.4, (2000, 101)).astype(float)
    hits = [Chance.from_permutations(row[1:], seed=0, bounds=(0, 99)).p_value(row[0])[0] < 0.05 for row in draws]
    exact = [row[0] >= np.sort(row)[-5] and (row >= row[0]).sum() <= 5 for row in draws]
    assert abs(np.mean(hits) - np.mean(exact)) < 0.01


@pytest.mark.parametrize(
    "level",
    [chance([0.1, np.nan, 0.3], compared=0.2, num_rows=7), Chance.from_guesses(0.25, [0.5, 1.0])],
    ids=["shuffles", "guesses"],
)
def test_what_is_kept_makes_the_level_again(level):
    assert Chance.of_json(json.loads(json.dumps(level.to_json(0.5) | level.kept()))) == level


def test_all_pairings_give_an_exact_p_value():
    """Of all pairings, that of the corpus among them, the share that is as far; none adds itself."""
    draws = (1.0,) * 8 + (-0.5,) * 16
    chance = Chance.from_permutations(draws, seed=0, bounds=(-1, 1), num_pairings=24)
    assert chance.is_exact and chance.p_value(1.0) == (pytest.approx(1 / 3), "ranks")
    drawn = Chance.from_permutations(draws, seed=0, bounds=(-1, 1))
    assert not drawn.is_exact and drawn.p_value(1.0)[0] == pytest.approx(9 / 25)
    assert Chance.from_permutations([0.4], seed=0, bounds=None, num_pairings=1).p_value(0.4)[0] == 1


def test_a_tail_is_no_surer_than_the_number_of_pairings():
    draws = np.random.default_rng(0).normal(size=100)
    assert Chance.from_permutations(draws, seed=0, bounds=None).p_value(50.0)[0] < 1e-20
    assert Chance.from_permutations(draws, seed=0, bounds=None, num_pairings=720).p_value(50.0) == (1 / 720, "tail")


def test_moved_draws_keep_their_order_and_range():
    draws, of = np.array([[0.0, 0.5], [0.2, 0.7], [0.6, 0.9]]), np.array([0.5, 0.8])
    shifted, scaled = resampling.moved(draws, of, np.array([0.75, 0.4]), (0.0, 1.0)).T
    assert shifted == pytest.approx([0.25, 0.45, 0.85])
    assert scaled == pytest.approx([0.1, 0.3, 0.5])  # all are moved by -0.4
    below = resampling.moved(draws, of, np.array([0.25, 0.2]), (0.0, 1.0)).T
    assert below[0] == pytest.approx([0, 0.1, 0.4]) and below[1] == pytest.approx([0.125, 0.175, 0.6])
