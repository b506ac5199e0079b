"""Differences are paired by language; a conclusion needs a difference above the noise of languages and seeds."""

from itertools import combinations

import numpy as np
import pytest
from compared_sources import LEVELS, TARGETS, source
from scipy import stats

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


def test_corpora_that_are_read_unequally_often_are_not_ranked():
    """Noise of 200,000 symbols was better than no pretraining, and than a grammar of two million."""
    rows = [LEVELS + GAPS, LEVELS + GAPS + 0.001]
    words, more = source("words", *rows, passes=20.0), source("more", *rows, passes=1.0)
    nothing = source("nothing", LEVELS, LEVELS + 0.001, passes=1.0)
    noise = seed_noise([words, more, nothing])
    apart, alike = with_reasons([difference(each, nothing, noise) for each in (words, more)])
    assert (apart.conclusion, apart.details["why"]) == (
        "unknown",
        "passes per epoch differ: words 20, nothing 1",
    )
    assert (apart.p_value, apart.p_holm) == (None, None) and apart.mean == alike.mean
    assert alike.conclusion == "lower" and alike.p_holm == alike.p_value


def test_how_hard_languages_are_does_not_matter():
    shift = np.linspace(-3, 3, 8)
    before = difference(source("words", LEVELS + GAPS), NOTHING, None)
    after = difference(source("words", LEVELS + shift + GAPS), source("nothing", LEVELS + shift), None)
    assert after.details["by_target"] == pytest.approx(before.details["by_target"])
    assert after.ci95 == pytest.approx(before.ci95)


def test_the_order_of_languages_does_not_matter():
    order = np.random.default_rng(0).permutation(8)
    shuffled = source("words", (LEVELS + GAPS)[order], targets=tuple(TARGETS[place] for place in order))
    found, expected = (difference(each, NOTHING, None) for each in (shuffled, source("words", LEVELS + GAPS)))
    assert found.details["by_target"] == expected.details["by_target"]
    assert found.ci95 == pytest.approx(expected.ci95, abs=1e-12)


def test_turned_round_a_difference_changes_its_sign():
    words = source("words", LEVELS + GAPS)
    one, other = difference(words, NOTHING, None), difference(NOTHING, words, None)
    assert other.mean == -one.mean
    assert (one.conclusion, other.conclusion) == ("lower", "higher")


def test_a_spread_about_zero_is_inside_the_noise():
    found = difference(source("words", LEVELS + GAPS - GAPS.mean() - 0.001), NOTHING, None)
    assert (found.conclusion, found.details["why"]) == (
        "not significant",
        "its interval over languages includes 0",
    )


def test_equal_results_are_inside_the_noise():
    found = difference(source("same", LEVELS), NOTHING, None)
    assert (found.mean, found.ci95, found.conclusion) == (0, (0, 0), "not significant")


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


def test_p_values():
    """Over languages the paired t test, over seeds the t test with the pooled deviation; the larger counts."""
    rows = [LEVELS + GAPS + shift for shift in (-0.01, 0.01)]
    words, nothing = source("words", *rows), source("nothing", LEVELS, LEVELS)
    by_languages = stats.ttest_1samp(GAPS, 0).pvalue
    assert difference(words, nothing, None).p_value == pytest.approx(by_languages)
    noise = seed_noise([words, nothing])
    by_seeds = 2 * stats.t.sf(0.04 / noise.error(2, 2), noise.degrees)
    assert by_seeds > by_languages
    assert difference(words, nothing, noise).p_value == pytest.approx(by_seeds)
    assert difference(source("a", [5.0], targets="a"), source("b", [5.1], targets="a"), None).p_value is None
    assert SeedNoise(sd=0.0, degrees=2, origin="").p_value(0.1, 1, 1) == 0


def test_the_correction_can_remove_a_difference():
    spread = np.linspace(-1, 1, 8)
    one = difference(source("one", LEVELS - 0.01 - 0.013 * spread), NOTHING, None)
    some = [one] * 9
    assert all(each.conclusion == "lower" and each.p_holm is None for each in some)
    [alone] = with_reasons(some[:1])
    assert (alone.conclusion, alone.p_holm) == ("lower", alone.p_value)
    for each in with_reasons(some):
        assert each.p_holm == pytest.approx(9 * each.p_value)
        assert each.conclusion == "not significant"
        assert each.details["why"] == f"its p-value, corrected for 9 comparisons, is {each.p_holm:.2f}"


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


def test_seed_noise_can_exceed_a_consistent_difference():
    rows = [LEVELS + GAPS + shift for shift in (-0.1, 0.1)]
    words, nothing = source("words", *rows), source("nothing", LEVELS, LEVELS)
    noise = seed_noise([words, nothing])
    found = difference(words, nothing, noise)
    assert found.ci95[1] < 0
    assert (found.conclusion, found.details["why"]) == (
        "not significant",
        "it is not larger than seed noise",
    )
    assert found.details["seed_error"] == pytest.approx(noise.sd)  # two seeds each
    assert found.details["seed_threshold"] == pytest.approx(noise.sd * stats.t.ppf(0.975, 2))


def test_seed_noise_is_pooled_over_sources_with_seeds():
    sources = [source("a", [1.0], [3.0], targets="a"), source("b", [5.0], [5.0], [5.0], targets="a")]
    noise = seed_noise([*sources, source("c", [9.0], targets="a")])
    assert noise == SeedNoise(sd=pytest.approx(np.sqrt(2 / 3)), degrees=3, origin="pooled over 2 sources")
    assert seed_noise([source("c", [9.0], targets="a")]) is None


def test_seed_noise_is_of_the_mean_over_targets():
    opposite = source("a", [1.0, 3.0], [3.0, 1.0], targets="ab")
    assert seed_noise([opposite]).sd == 0


def test_errors_of_seeds():
    noise = SeedNoise(sd=0.01, degrees=1000, origin="")
    assert noise.error(4, 4) == pytest.approx(0.01 * np.sqrt(0.5))
    assert noise.factor == 2
    assert SeedNoise(sd=0.01, degrees=1, origin="").factor == pytest.approx(12.706, abs=0.001)


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
