"""Chance levels: p-values of shuffles and of levels without spread, and means of them."""

import json

import numpy as np
import pytest
from scipy import stats

from ecsuite.eval.statistics.chance import Chance, prediction_interval

UNIT = (0.0, 1.0)


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
        assert Chance.from_permutations(draws, seed=0, bounds=None).p_value(0.3 * scale)[0] == pytest.approx(
            3 / 8
        )


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
        [
            Chance.from_permutations(row[1:], seed=0, bounds=(-99, 99)).p_value(row[0])[0] < 0.05
            for row in draws
        ]
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
    assert Chance.from_guesses(0.5, [1.0] * 5).p_value(1.0)[0] < 1e-6
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
    hits = [
        Chance.from_permutations(row[1:], seed=0, bounds=(0, 99)).p_value(row[0])[0] < 0.05 for row in draws
    ]
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
    assert Chance.from_permutations(draws, seed=0, bounds=None, num_pairings=720).p_value(50.0) == (
        1 / 720,
        "tail",
    )
