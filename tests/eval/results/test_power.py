"""How many seeds find a difference: known values, simulation, and mistakes."""

import pytest
from compared_sources import run, source
from scipy import stats

from ecsuite.eval.results.power import num_seeds, seeds_needed
from ecsuite.eval.results.results import Results


def games(*values):
    return [
        source(str(place), *([value] for value in row), targets=["a"]) for place, row in enumerate(values)
    ]


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


def test_only_runs_that_count_in_comparisons_count_in_plans():
    runs = [
        run(f"{kind}{seed}", {"kind": kind}, seed, {}, {"a": value}, stopped="minutes" if seed == 3 else "epochs")
        for kind, values in (("x", (1, 3, 90)), ("y", (0, 2, 70))) for seed, value in enumerate(values, 1)
    ]  # fmt: skip
    found = seeds_needed(Results(runs).samples("a"), "a", None, 0.8)
    assert (found.degrees, found.sd) == (2, pytest.approx(2**0.5))
