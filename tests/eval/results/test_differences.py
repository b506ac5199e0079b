"""Differences: pairing by seed, correction of p-values, refusal of other settings, and seeds that find them."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from compared_sources import LEVELS, TARGETS, run, source
from ecsuite.eval.results.comparison import compare_samples, differing_parts, require_comparable
from ecsuite.eval.results.equal_sizes import moved
from ecsuite.eval.results.power import num_seeds, power_of, seeds_needed
from ecsuite.eval.results.results import Results
from ecsuite.eval.results.samples import UNSIGNED, Estimate
from ecsuite.eval.results.sources import Source
from ecsuite.runtime.errors import ConfigError

FIRST, SECOND = [0.5, 0.7, 0.6], [0.2, 0.5, 0.3]
NOTHING = source("nothing", LEVELS)
FEWER = source("fewer", LEVELS[:-2], targets=TARGETS[:-2])


def topsim(name, values, seeds=None, ci95=None):
    """The topsim of a game, for several seeds."""
    rows = [[value] for value in values]
    return source(name, *rows, targets=["topsim"], seeds=seeds, signature="topsim|v:2", ci95=ci95)


def differences(*results, metric="topsim", baseline=None):
    [found] = compare_samples({metric: results}, baseline)
    return found.differences


def only_difference(*results, **options):
    [found] = differences(*results, **options)
    return found


def test_without_an_interval_or_a_spread_nothing_is_known():
    found = only_difference(topsim("a", [0.7]), topsim("b", [0.3]))
    assert (found.ci95, found.p_value, found.p_holm) == (None, None, None)
    assert (found.basis, found.conclusion) == ("no interval", "unknown")
    assert only_difference(topsim("a", [0.7, 0.7]), topsim("b", [0.3, 0.3])).conclusion == "unknown"
    assert only_difference(topsim("a", [0.7, 0.7]), topsim("b", [0.7, 0.7])).conclusion == "not significant"


def with_runs(sample, tmp_path, **settings):
    """A sample of three runs with these settings beside their seeds."""
    runs = []
    for seed in (1, 2, 3):
        folder = tmp_path / f"{sample.name}{seed}"
        folder.mkdir()
        lines = "".join(f"  {key}: {value}\n" for key, value in settings.items() if "." not in key)
        own = "".join(f"{key.replace('.', ': {')}: {value}}}\n" for key, value in settings.items() if "." in key)
        (folder / "config.yaml").write_text(f"name: game\ntraining: {{seed: {seed}}}\nworld:\n{lines}{own}")
        file = folder / "config.yaml"
        runs.append(Source(name=folder.name, file=file, folder=folder, is_run=True, seed=seed))
    return replace(sample, seeds=(1, 2, 3), runs=tuple(runs), is_run=True)


@pytest.mark.parametrize(
    ("held_out", "key", "shared"),
    [
        (0.2, "channel.max_len", "held-out objects"),
        (0, "evaluation.corpus_size", "agents"),
        (0, "channel.max_len", None),
        (0.2, "num_values", None),
    ],
)
def test_runs_that_share_more_than_a_seed_are_pairs(tmp_path, held_out, key, shared):
    found = only_difference(
        with_runs(topsim("a", FIRST), tmp_path, held_out=held_out, **{key: 9}),
        with_runs(topsim("b", SECOND), tmp_path, held_out=held_out, **{key: 8}),
    )
    if shared is None:  # the number of a seed alone says nothing of a run
        theirs = stats.ttest_ind(FIRST, SECOND, equal_var=False)
        assert found.basis == "3 and 3 seeds, Welch's t test"
    else:
        theirs = stats.ttest_rel(FIRST, SECOND)
        assert found.basis == f"paired by 3 seeds: the same {shared}" and found.conclusion == "higher"
    assert (found.source, found.baseline, found.mean) == ("a", "b", pytest.approx(0.8 / 3))
    assert found.ci95 == pytest.approx(tuple(theirs.confidence_interval()))
    assert found.p_value == found.p_holm == pytest.approx(theirs.pvalue)


def test_single_scores_are_compared_by_their_intervals():
    high, low = topsim("a", [0.7], ci95=(0.6, 0.8)), topsim("b", [0.3], ci95=(0.2, 0.4))
    found = only_difference(high, low)
    assert (found.basis, found.conclusion) == ("intervals of the scores", "higher")
    assert found.ci95 == pytest.approx((0.4 - 0.1 * 2**0.5, 0.4 + 0.1 * 2**0.5))
    assert only_difference(high, low, baseline="a").conclusion == "lower"
    # Intervals of `has` cover too often.
    high, low = (replace(each, signature="has|v:1") for each in (high, low))
    found = only_difference(high, low, metric="has")
    assert (found.conclusion, found.p_value, found.ci95) == ("unknown", None, None)
    assert found.basis == "the intervals of this score are too wide"


def test_many_pairs_are_corrected():
    shifts = {"a": 0, "b": [0.2, 0.21, 0.2], "c": [0.1, 0.25, 0.13]}
    sources = {name: topsim(name, np.add(FIRST, shift)) for name, shift in shifts.items()}
    found = differences(*sources.values())
    alone = only_difference(sources["a"], sources["c"])
    [among] = [each for each in found if {each.source, each.baseline} == {"a", "c"}]
    assert sum(each.p_value is not None for each in found) == 3
    assert among.p_value == alone.p_value == alone.p_holm
    assert among.p_holm == pytest.approx(min(1, 2 * among.p_value))
    rng = np.random.default_rng(0)
    found = [differences(*(topsim(name, rng.normal(size=5)) for name in "abcdefgh")) for _ in range(20)]
    assert sum(any(each.conclusion != "not significant" for each in pairs) for pairs in found) <= 2


@pytest.mark.parametrize(
    ("results", "message"),
    [
        ([NOTHING, FEWER], "fewer: no score for g, h, which nothing has"),
        ([FEWER, NOTHING], "fewer: no score for g, h, which nothing has"),
        ([NOTHING, NOTHING], "nothing: expected unique names of sources, got this name more than once"),
    ],
)
def test_missing_targets_and_equal_names_are_refused(results, message):
    with pytest.raises(ConfigError) as error:
        require_comparable(results)
    assert str(error.value) == message


@pytest.mark.parametrize(
    ("signature", "apart"),
    [
        ("xferbench|preset:full|targets:da#1|precision:fp32|v:1", "preset full, not mini"),
        ("xferbench|preset:mini|targets:da#1|precision:bf16|v:2", "precision bf16, not fp32; version 2, not 1"),
        ("xferbench|preset:mini|protocol:strict|targets:da#1|precision:fp32|v:1", "protocol strict, not none"),
        ("xferbench|targets:da#1|precision:fp32|v:1", "preset none, not mini"),
        (UNSIGNED, "one of them is unsigned (from another program), so its settings are unknown"),
    ],
)  # fmt: skip
def test_results_that_were_measured_otherwise_are_refused(signature, apart):
    first = source("words", LEVELS, signature="xferbench|preset:mini|targets:da#1|precision:fp32|v:1")
    with pytest.raises(ConfigError) as error:
        require_comparable([first, source("other", LEVELS, signature=signature)])
    assert str(error.value) == f"other cannot be compared with words: {apart}"
    turned = differing_parts("xferbench|a:1|b:2", "xferbench|b:2|a:1")
    assert turned == "the order of the signature parts differs"


def games(*values):
    return [source(str(at), *([value] for value in row), targets=["a"]) for at, row in enumerate(values)]


@pytest.mark.parametrize(("effect", "expected"), [(0.2, 394), (0.5, 64), (0.8, 26), (1e-9, 100_000)])
def test_seeds_are_those_of_cohens_table(effect, expected):
    """Cohen (1988), Table 2.4.1: power .80, two-sided at .05: 393, 64, 26 (the first is 394 by the exact t)."""
    assert num_seeds(effect, 0.8) == expected
    assert effect < 0.1 or power_of(effect, expected) >= 0.8 > power_of(effect, expected - 1)


@pytest.mark.parametrize(("effect", "seeds"), [(4.0, 3), (2.0, 5), (3.0, 2), (1.0, 17)])
def test_power_is_the_share_of_comparisons_that_find_a_difference(effect, seeds):
    first, second = np.random.default_rng(0).normal(size=(2, 4000, seeds))
    found = stats.ttest_ind(first + effect, second, axis=1, equal_var=False).pvalue < 0.05
    assert found.mean() == pytest.approx(power_of(effect, seeds), abs=0.02)
    found = stats.ttest_1samp(first + effect, 0, axis=1).pvalue < 0.05
    assert found.mean() == pytest.approx(power_of(effect, seeds, is_paired=True), abs=0.02)


def test_power_of_clear_effects_is_a_number():
    """With scipy 1.17.1 the far tail of the noncentral t distribution is NaN (statsmodels 0.14.5: power NaN)."""
    assert power_of(2.0, 50) > 0.9999 and power_of(9.0, 2) > power_of(8.0, 2) > 0.6
    powers = [power_of(effect, seeds) for effect in (1, 3, 6, 8.5, 11, 30) for seeds in (2, 3, 10, 50)]
    assert np.isfinite(powers).all() and max(powers) <= 1


def test_the_spread_is_pooled_over_runs_that_count():
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
    runs = [
        run(f"{kind}{seed}", {"kind": kind}, seed, {}, {"a": value}, stopped="minutes" if seed == 3 else "epochs")
        for kind, values in (("x", (1, 3, 90)), ("y", (0, 2, 70))) for seed, value in enumerate(values, 1)
    ]  # fmt: skip
    found = seeds_needed(Results(runs).samples("a"), "a", None, 0.8)
    assert (found.degrees, found.sd) == (2, pytest.approx(2**0.5))


def test_an_interval_that_is_moved_has_its_width_again():
    """.9 ± .2 was cut at 1; at .7 it reaches .9, with an error of 0 from the subsamples."""
    mean = Estimate(mean=0.7, half_width=0.0)
    assert moved((0.7, 1.0), 0.9, mean, (0.0, 1.0)) == pytest.approx((0.5, 0.9))
    assert moved((0.7, 1.0), 0.9, replace(mean, mean=0.1), (0.0, 1.0)) == pytest.approx((0.0, 0.3))
    assert moved((3.0, 6.0), 4.0, replace(mean, mean=5.0), None) == pytest.approx((4.0, 7.0))
