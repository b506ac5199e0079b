"""Differences are paired by seed where they can be, p-values are corrected, and other settings are refused."""

import pytest
from compared_sources import LEVELS, TARGETS, source

from ecsuite.eval.results.comparison import (
    compare_samples,
    require_comparable,
)
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


def test_scores_without_an_interval_are_unknown():
    found = only_difference(topsim("a", [0.7]), topsim("b", [0.3]))
    assert (found.ci95, found.p_value, found.p_holm) == (None, None, None)
    assert (found.basis, found.conclusion) == ("no interval", "unknown")


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
