"""How many seeds find a difference: known values, simulation, and mistakes."""

import numpy as np
import pytest
from compared_sources import run, source
from scipy import stats

from ecsuite.eval.results.comparison import compare_samples
from ecsuite.eval.results.power import num_seeds, power_of, seeds_needed, smallest_effect
from ecsuite.eval.results.results import Results
from ecsuite.runtime.errors import ConfigError


def games(*values):
    return [
        source(str(place), *([value] for value in row), targets=["a"]) for place, row in enumerate(values)
    ]


@pytest.mark.parametrize(("effect", "expected"), [(0.2, 394), (0.5, 64), (0.8, 26)])
def test_seeds_are_those_of_cohens_table(effect, expected):
    """Cohen (1988), Table 2.4.1: power .80, two-sided at .05: 393, 64, 26 (the first is 394 by the exact t)."""
    assert num_seeds(effect, 0.8) == expected
    assert power_of(effect, expected) >= 0.8 > power_of(effect, expected - 1)


def test_the_smallest_effect_is_the_inverse():
    for seeds in (2, 5, 50):
        assert power_of(smallest_effect(seeds, 0.8), seeds) == pytest.approx(0.8, abs=1e-3)


@pytest.mark.parametrize(("effect", "seeds"), [(4.0, 3), (2.0, 5), (3.0, 2), (1.0, 17)])
def test_power_is_the_share_of_comparisons_that_find_a_difference(effect, seeds):
    """The plan was for the pooled test, and comparisons of three seeds found 71 % for 80 %."""
    rng = np.random.default_rng(0)
    first, second = rng.normal(size=(2, 4000, seeds))
    found = stats.ttest_ind(first + effect, second, axis=1, equal_var=False).pvalue < 0.05
    assert found.mean() == pytest.approx(power_of(effect, seeds), abs=0.02)
    found = stats.ttest_1samp(first + effect, 0, axis=1).pvalue < 0.05
    assert found.mean() == pytest.approx(power_of(effect, seeds, is_paired=True), abs=0.02)


def test_the_planned_test_is_that_of_the_comparison():
    """Drawn as planned, 80 % of the comparisons by the package find the difference, or a little more."""
    rng = np.random.default_rng(1)
    seeds = num_seeds(3.0, 0.8)
    clear = 0
    for _ in range(400):
        first, second = games(rng.normal(3, 1, seeds), rng.normal(0, 1, seeds))
        [score] = compare_samples({"a": [first, second]})
        clear += score.differences[0].is_clear
    assert power_of(3.0, seeds) - 0.06 < clear / 400 < power_of(3.0, seeds) + 0.06


def test_the_spread_is_pooled_over_sources():
    """Sources of 2 and 3 seeds: squares 2 + 8 = 10 over 3 degrees of freedom."""
    found = seeds_needed(games([1, 3], [0, 2, 4]), "topsim", 5.0, 0.8)
    assert found.sd == pytest.approx((10 / 3) ** 0.5) and (found.degrees, found.num_sources) == (3, 2)
    assert found.sd_ci95[0] == pytest.approx((10 / stats.chi2.ppf(0.975, 3)) ** 0.5)
    low, high = found.seeds_range
    assert low <= found.seeds <= high and found.seeds == num_seeds(5 / found.sd, 0.8)
    assert f"A difference of 5 needs {found.seeds} seeds per source ({low} to {high})" in found.notes()[0]
    least = seeds_needed(games([1, 3], [0, 2, 4]), "topsim", 1e-9, 0.8)
    assert "needs more than 100,000 seeds per source" in least.notes()[0]
    differences = [row[1] for row in found.smallest]
    assert differences == sorted(differences, reverse=True)


@pytest.mark.parametrize(
    ("values", "message"),
    [([[1], [2]], "no source has two seeds"), ([[1, 1]], "all seeds of a source have equal scores")],
)
def test_no_spread_is_told(values, message):
    with pytest.raises(ConfigError, match=message):
        seeds_needed(games(*values), "topsim", None, 0.8)


def test_a_difference_that_no_plan_finds_has_an_end():
    assert num_seeds(1e-9, 0.8) == 100_000


def test_only_runs_that_count_in_comparisons_count_in_plans():
    runs = [
        run(f"{kind}{seed}", {"kind": kind}, seed, {}, {"a": value}, stopped="minutes" if seed == 3 else "epochs")
        for kind, values in (("x", (1, 3, 90)), ("y", (0, 2, 70))) for seed, value in enumerate(values, 1)
    ]  # fmt: skip
    found = seeds_needed(Results(runs).samples("a"), "a", None, 0.8)
    assert (found.degrees, found.sd) == (2, pytest.approx(2**0.5))


def test_power_of_clear_effects_is_a_number():
    """With scipy 1.17.1 the far tail of the noncentral t distribution is NaN (statsmodels 0.14.5: power NaN)."""
    assert power_of(2.0, 50) > 0.9999 and power_of(9.0, 2) > power_of(8.0, 2) > 0.6
    powers = [power_of(effect, seeds) for effect in (1, 3, 6, 8.5, 11, 30) for seeds in (2, 3, 10, 50)]
    assert np.isfinite(powers).all() and max(powers) <= 1
