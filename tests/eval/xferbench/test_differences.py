"""Differences are paired by language; a conclusion needs a difference above the noise of languages and seeds."""

from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from compared_sources import LEVELS, TARGETS, source
from ecsuite.eval.statistics import bootstrap
from ecsuite.eval.xferbench.comparison import SeedNoise, difference, judge, seed_noise, with_reasons

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
    assert not any(found.details[key] for key in ("seed_error", "seed_threshold", "ci_reason"))
    why = "exceeds the spread over languages; one seed each, so it is one of these models"
    assert (found.conclusion, found.details["why"]) == ("lower", why)
    assert difference(source("noise", LEVELS - GAPS), NOTHING, None).conclusion == "higher"
    order = np.random.default_rng(0).permutation(8)
    shuffled = source("words", (LEVELS + GAPS)[order], targets=tuple(TARGETS[place] for place in order))
    found, expected = (difference(each, NOTHING, None) for each in (shuffled, source("words", LEVELS + GAPS)))
    assert found.details["by_target"] == expected.details["by_target"]
    assert found.ci95 == pytest.approx(expected.ci95, abs=1e-12)


def test_p_values_and_seed_noise():
    """Over languages the paired t test, over seeds the t test with the pooled deviation; the larger counts."""
    words = source("words", *(LEVELS + GAPS + shift for shift in (-0.01, 0.01)))
    nothing = source("nothing", LEVELS, LEVELS)
    by_languages = stats.ttest_1samp(GAPS, 0).pvalue
    assert difference(words, nothing, None).p_value == pytest.approx(by_languages)
    noise = seed_noise([words, nothing])
    by_seeds = 2 * stats.t.sf(0.04 / noise.error(2, 2), noise.degrees)
    assert by_seeds > by_languages
    assert difference(words, nothing, noise).p_value == pytest.approx(by_seeds)
    sources = [source("a", [1.0], [3.0], targets="a"), source("b", [5.0], [5.0], [5.0], targets="a")]
    noise = seed_noise([*sources, source("c", [9.0], targets="a")])
    assert noise == SeedNoise(sd=pytest.approx(np.sqrt(2 / 3)), degrees=3, origin="pooled over 2 sources")
    assert seed_noise([source("a", [1.0, 3.0], [3.0, 1.0], targets="ab")]).sd == 0
    assert SeedNoise(sd=0.01, degrees=1000, origin="").error(4, 4) == pytest.approx(0.01 * np.sqrt(0.5))
    assert SeedNoise(sd=0.01, degrees=1, origin="").factor == pytest.approx(12.706, abs=0.001)


def test_corrected_or_read_unequally_often_a_difference_is_none():
    spread = np.linspace(-1, 1, 8)
    one = difference(source("one", LEVELS - 0.01 - 0.013 * spread), NOTHING, None)
    assert one.conclusion == with_reasons([one])[0].conclusion == "lower"
    for each in with_reasons([one] * 9):
        assert each.p_holm == pytest.approx(9 * each.p_value) and each.conclusion == "not significant"
    rows = [LEVELS + GAPS, LEVELS + GAPS + 0.001]
    words, nothing = (source("words", *rows, passes=20.0), source("nothing", LEVELS, LEVELS + 0.001, passes=1.0))
    [apart] = with_reasons([difference(words, nothing, seed_noise([words, nothing]))])
    assert (apart.conclusion, apart.p_value, apart.p_holm) == ("unknown", None, None)
    assert apart.details["why"] == "passes per epoch differ: words 20, nothing 1"


INCLUDED = "its interval over languages includes 0"


@pytest.mark.parametrize(
    ("mean", "ci95", "threshold", "conclusion", "why"),
    [
        (-0.1, (-0.2, -0.05), 0.05, "lower", "exceeds the spread over languages and seed noise"),
        (0.1, (0.05, 0.2), 0.05, "higher", "exceeds the spread over languages and seed noise"),
        (0.1, (0.0, 0.2), 0.05, "not significant", INCLUDED),
        (0.1, (0.05, 0.2), 0.1, "not significant", "it is not larger than seed noise"),
        (0.1, (-1, 1), 0.2, "not significant", f"{INCLUDED} and it is not larger than seed noise"),
        (0.0, None, 0.0, "not significant", "it is not larger than seed noise"),
        (-0.1, None, None, "unknown", "one seed per source and fewer than 5 targets"),
    ],
)
def test_conclusions(mean, ci95, threshold, conclusion, why):
    assert judge(mean, ci95, threshold) == (conclusion, why)


def test_one_target_has_no_interval_but_may_exceed_seed_noise():
    words, nothing = (source("a", [level], [level + 0.02], targets="a") for level in (5.0, 5.5))
    found = difference(words, nothing, None)
    assert (found.ci95, found.details["ci_reason"]) == (None, "1 target, an interval needs at least 5")
    assert found.details["why"] == "one seed per source and fewer than 5 targets"
    noisy = difference(words, nothing, seed_noise([words, nothing]))
    assert (noisy.conclusion, noisy.details["why"]) == ("lower", "exceeds seed noise")


@pytest.mark.slow
def test_the_correction_holds_the_share_of_wrong_conclusions(monkeypatch):
    """Without it, half of the comparisons of eight equal sources have at least one better or worse pair."""
    monkeypatch.setattr(bootstrap, "NUM_RESAMPLES", 199)
    rng = np.random.default_rng(1)
    single = corrected_any = 0
    for _ in range(10):
        sources = [source(str(place), LEVELS + rng.normal(scale=0.02, size=8)) for place in range(8)]
        found = [difference(one, other, None) for one, other in combinations(sources, 2)]
        single += any(each.conclusion != "not significant" for each in found)
        corrected_any += any(each.conclusion != "not significant" for each in with_reasons(found))
    assert single >= 5 and corrected_any <= 1
