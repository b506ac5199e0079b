"""Differences are paired by seed where they can be, p-values are corrected, and other settings are refused."""

import json
from dataclasses import replace

import numpy as np
import pytest
from compared_sources import LEVELS, TARGETS, source
from scipy import stats

from ecsuite.eval.results.comparison import (
    Comparison,
    choose_baseline,
    compare_samples,
    differing_parts,
    pairs_of,
    require_comparable,
)
from ecsuite.eval.results.samples import UNSIGNED
from ecsuite.eval.results.sources import Source
from ecsuite.runtime.errors import ConfigError

FIRST, SECOND = [0.5, 0.7, 0.6], [0.2, 0.5, 0.3]
NOTHING = source("nothing", LEVELS)
FEWER = source("fewer", LEVELS[:-2], targets=TARGETS[:-2])


def topsim(name, values, seeds=None, ci95=None):
    """The topsim of a game, for several seeds."""
    rows = [[value] for value in values]
    return source(name, *rows, targets=["topsim"], seeds=seeds, signature="topsim|v:2", ci95=ci95)


def compare(samples, metric, baseline=None):
    """One score of samples."""
    [found] = compare_samples({metric: samples}, baseline)
    return found


def only_difference(*results, baseline=None):
    [found] = compare(results, "topsim", baseline).differences
    return found


def test_equal_numbers_of_seeds_are_not_pairs():
    """The number of a seed alone says nothing of a run; small samples of pairs made verdicts of their own."""
    found = only_difference(topsim("a", FIRST), topsim("b", SECOND))
    theirs = stats.ttest_ind(FIRST, SECOND, equal_var=False)
    assert (found.source, found.baseline, found.basis) == ("a", "b", "3 and 3 seeds, Welch's t test")
    assert found.p_value == pytest.approx(theirs.pvalue)


def with_runs(sample, tmp_path, **settings):
    """A sample of three runs with these settings beside their seeds."""
    runs = []
    for seed in (1, 2, 3):
        folder = tmp_path / f"{sample.name}{seed}"
        folder.mkdir()
        lines = "".join(f"  {key}: {value}\n" for key, value in settings.items() if "." not in key)
        own = "".join(
            f"{key.replace('.', ': {')}: {value}}}\n" for key, value in settings.items() if "." in key
        )
        (folder / "config.yaml").write_text(f"name: game\ntraining: {{seed: {seed}}}\nworld:\n{lines}{own}")
        runs.append(
            Source(name=folder.name, file=folder / "config.yaml", folder=folder, is_run=True, seed=seed)
        )
    return replace(sample, seeds=(1, 2, 3), runs=tuple(runs), is_run=True)


@pytest.mark.parametrize(
    ("first", "second", "shared"),
    [
        (
            {"held_out": 0.2, "channel.max_len": 2},
            {"held_out": 0.2, "channel.max_len": 3},
            "held-out objects",
        ),
        ({"held_out": 0, "channel.max_len": 2}, {"held_out": 0, "channel.max_len": 3}, None),
        ({"held_out": 0.2, "num_values": 2}, {"held_out": 0.2, "num_values": 3}, None),
        (
            {"held_out": 0, "evaluation.corpus_size": 9},
            {"held_out": 0, "evaluation.corpus_size": 8},
            "agents",
        ),
    ],
)
def test_runs_that_share_more_than_a_seed_are_pairs(tmp_path, first, second, shared):
    found = only_difference(
        with_runs(topsim("a", FIRST), tmp_path, **first), with_runs(topsim("b", SECOND), tmp_path, **second)
    )
    if shared is None:
        assert found.basis == "3 and 3 seeds, Welch's t test"
        return
    theirs = stats.ttest_rel(FIRST, SECOND)
    assert (found.source, found.baseline, found.basis) == ("a", "b", f"paired by 3 seeds: the same {shared}")
    assert (found.mean, found.conclusion) == (pytest.approx(0.8 / 3), "higher")
    assert found.ci95 == pytest.approx(tuple(theirs.confidence_interval()))
    assert found.p_value == found.p_holm == pytest.approx(theirs.pvalue)


@pytest.mark.parametrize(("passes", "is_alike"), [(1.0, True), (1.02, True), (1.25, False), (None, True)])
def test_corpora_that_are_read_unequally_often_are_not_ranked(passes, is_alike):
    """Noise was better than noise of more symbols."""
    xferbench = [
        source(name, *([value] for value in values), targets=["one"], passes=number)
        for name, values, number in (("a", FIRST, passes), ("b", SECOND, 1.0))
    ]
    [found] = compare(xferbench, "xferbench").differences
    assert found.mean == pytest.approx(0.8 / 3)
    if is_alike:
        assert (found.conclusion, found.basis) == ("not significant", "3 and 3 seeds, Welch's t test")
    else:
        assert (found.conclusion, found.ci95, found.p_value, found.p_holm) == ("unknown", None, None, None)
        assert found.basis == "passes per epoch differ: a 1.25, b 1"


def test_single_scores_are_compared_by_their_intervals():
    high, low = topsim("a", [0.7], ci95=(0.6, 0.8)), topsim("b", [0.3], ci95=(0.2, 0.4))
    found = only_difference(high, low)
    assert (found.basis, found.conclusion) == ("intervals of the scores", "higher")
    assert found.ci95 == pytest.approx((0.4 - 0.1 * 2**0.5, 0.4 + 0.1 * 2**0.5))
    assert only_difference(high, low, baseline="a").conclusion == "lower"


def test_nothing_is_concluded_from_intervals_that_cover_too_often():
    high, low = (
        replace(topsim(name, [value], ci95=(value - 0.1, value + 0.1)), signature="has|v:1")
        for name, value in (("a", 0.7), ("b", 0.3))
    )
    [found] = compare([high, low], "has").differences
    assert (found.conclusion, found.p_value, found.ci95) == ("unknown", None, None)
    assert found.basis == "the intervals of this score are too wide"  # of people there are no seeds
    [found] = compare([replace(high, is_run=True), low], "has").differences
    assert found.basis == "the intervals of this score are too wide: train several seeds"


def test_scores_without_an_interval_are_unknown():
    found = only_difference(topsim("a", [0.7]), topsim("b", [0.3]))
    assert (found.ci95, found.p_value, found.p_holm) == (None, None, None)
    assert (found.basis, found.conclusion) == ("no interval", "unknown")


def test_no_spread_is_no_evidence():
    assert only_difference(topsim("a", [0.7, 0.7]), topsim("b", [0.3, 0.3])).conclusion == "unknown"
    assert only_difference(topsim("a", [0.7, 0.7]), topsim("b", [0.7, 0.7])).conclusion == "not significant"


def test_many_pairs_are_corrected():
    shifts = {"a": 0, "b": [0.2, 0.21, 0.2], "c": [0.1, 0.25, 0.13]}
    sources = {name: topsim(name, np.add(FIRST, shift)) for name, shift in shifts.items()}
    found = compare(list(sources.values()), "topsim")
    alone = only_difference(sources["a"], sources["c"])
    [among] = [each for each in found.differences if {each.source, each.baseline} == {"a", "c"}]
    assert sum(each.p_value is not None for each in found.differences) == 3
    assert among.p_value == alone.p_value == alone.p_holm
    assert among.p_holm == pytest.approx(min(1, 2 * among.p_value))


def test_one_of_28_equal_pairs_differs_in_5_percent():
    """Without a correction it was about half of the comparisons."""
    rng = np.random.default_rng(0)
    wrong = 0
    for _ in range(20):
        sources = [topsim(name, rng.normal(size=5)) for name in "abcdefgh"]
        wrong += any(each.conclusion != "not significant" for each in compare(sources, "topsim").differences)
    assert wrong <= 2


def test_json():
    found = compare([topsim("a", FIRST), topsim("b", SECOND)], "topsim", "b")
    whole = Comparison(sources=("a", "b"), scores=(found,), left_out={}, without={})
    data = json.loads(json.dumps(whole.one_to_json(), allow_nan=False))
    assert (data["baseline"], [each["name"] for each in data["sources"]]) == ("b", ["a", "b"])
    assert data["correction"] == {"method": "Holm", "comparisons": 1}


def test_one_source_has_no_differences():
    assert compare([topsim("a", FIRST)], "topsim").differences == ()
    with pytest.raises(ConfigError, match=r"^no topsim score"):
        compare([], "topsim")


def test_pairs():
    pairs = pairs_of([topsim(name, [0]) for name in "abc"], None)
    assert [one.name + other.name for one, other in pairs] == ["ab", "ac", "bc"]


def test_baselines():
    words, none = source("words", LEVELS), source("No pretrain", LEVELS)
    assert choose_baseline([words, none], None) is none
    assert choose_baseline([words], None) is None
    assert choose_baseline([words, none], "words") is words
    with pytest.raises(ConfigError, match="unknown baseline 'word'; did you mean 'words'"):
        choose_baseline([words, none], "word")


def test_results_that_were_measured_otherwise_are_refused():
    first = source("words", LEVELS, signature="xferbench|preset:mini|targets:da#1|precision:fp32|v:1")
    for line, apart in {
        "xferbench|preset:full|targets:da#1|precision:fp32|v:1": "preset full, not mini",
        "xferbench|preset:mini|targets:da#1|precision:bf16|v:2": "precision bf16, not fp32; version 2, not 1",
        "xferbench|preset:mini|protocol:strict|targets:da#1|precision:fp32|v:1": "protocol strict, not none",
        "xferbench|targets:da#1|precision:fp32|v:1": "preset none, not mini",
        f"xferbench|preset:{'x' * 999}|targets:da#1|precision:fp32|v:1": "preset …, not mini",
        UNSIGNED: "one of them is unsigned (from another program), so its settings are unknown",
    }.items():
        with pytest.raises(ConfigError) as error:
            require_comparable([first, source("other", LEVELS, signature=line)])
        assert str(error.value) == f"other cannot be compared with words: {apart}"
    twins = [
        replace(source("disc_tiny", LEVELS, signature=line), source=place)
        for line, place in (("topsim|v:1", "runs/a"), ("topsim|speakers:2|v:1", "runs/b"))
    ]
    with pytest.raises(ConfigError, match=r"^runs/b cannot be compared with runs/a: speakers 2, not none$"):
        require_comparable(twins)  # not "disc_tiny cannot be compared with disc_tiny"
    turned = differing_parts("xferbench|a:1|b:2", "xferbench|b:2|a:1")
    assert turned == "the order of the signature parts differs"


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
