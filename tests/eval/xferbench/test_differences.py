"""Differences are paired by language; a conclusion needs a difference above the noise of languages and seeds."""

from itertools import combinations

import numpy as np
import pytest
from compared_sources import LEVELS, TARGETS, source
from scipy import stats

from ecsuite.eval.statistics import bootstrap
from ecsuite.eval.xferbench.comparison import difference, seed_noise, with_reasons

GAPS = np.array([-0.05, -0.03, -0.04, -0.06, -0.02, -0.05, -0.04, -0.03])
NOTHING = source("nothing", LEVELS)


def test_a_known_difference():
    found = difference(source("words", LEVELS + GAPS), NOTHING, None)
    assert (found.source, found.baseline) == ("words", "nothing")
    assert found.details["by_target"] == pytest.approx(dict(zip(TARGETS, GAPS, strict=True)))
    assert found.mean == pytest.approx(-0.04)
    low, high = found.ci95
    half = stats.t.ppf(0.975, 7) * GAPS.std(ddof=1) / np.sqrt(8)
    assert (low, high) == (pytest.approx(-0.04 - half, abs=0.003), pytest.approx(-0.04 + half, abs=0.003))
    assert (found.details["seed_error"], found.details["seed_threshold"], found.details["ci_reason"]) == (
        None,
        None,
        None,
    )
    assert (found.conclusion, found.details["why"]) == (
        "lower",
        "exceeds the spread over languages; one seed each, so it is one of these models",
    )
    assert difference(source("noise", LEVELS - GAPS), NOTHING, None).conclusion == "higher"


def test_the_order_of_languages_does_not_matter():
    order = np.random.default_rng(0).permutation(8)
    shuffled = source("words", (LEVELS + GAPS)[order], targets=tuple(TARGETS[place] for place in order))
    found, expected = (difference(each, NOTHING, None) for each in (shuffled, source("words", LEVELS + GAPS)))
    assert found.details["by_target"] == expected.details["by_target"]
    assert found.ci95 == pytest.approx(expected.ci95, abs=1e-12)


def test_one_target_has_no_interval_but_may_exceed_seed_noise():
    words, nothing = (
        source("words", [5.0], [5.02], targets="a"),
        source("nothing", [5.5], [5.52], targets="a"),
    )
    found = difference(words, nothing, None)
    assert (found.ci95, found.details["ci_reason"]) == (None, "1 target, an interval needs at least 5")
    assert (found.conclusion, found.details["why"]) == (
        "unknown",
        "one seed per source and fewer than 5 targets",
    )
    noisy = difference(words, nothing, seed_noise([words, nothing]))
    assert (noisy.conclusion, noisy.details["why"]) == ("lower", "exceeds seed noise")


@pytest.mark.slow
def test_the_correction_holds_the_share_of_wrong_conclusions(monkeypatch):
    """Before it, half of the comparisons of eight equal sources had at least one better or worse pair."""
    monkeypatch.setattr(bootstrap, "NUM_RESAMPLES", 199)
    rng = np.random.default_rng(1)
    single = corrected_any = 0
    for _ in range(10):
        sources = [source(str(place), LEVELS + rng.normal(scale=0.02, size=8)) for place in range(8)]
        found = [difference(one, other, None) for one, other in combinations(sources, 2)]
        single += any(each.conclusion != "not significant" for each in found)
        corrected_any += any(each.conclusion != "not significant" for each in with_reasons(found))
    assert single >= 5 and corrected_any <= 1
