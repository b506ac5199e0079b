"""The equations of the paper, and their differences from the authors' program."""

import numpy as np
import pytest
from scipy import stats

from compared_sources import source
from ecsuite.eval.statistics import bootstrap
from ecsuite.eval.xferbench.normalising import normalise, normalised_scores


def sources(values):
    return [source(str(number), row) for number, row in enumerate(values)]


VALUES = np.random.default_rng(1).normal(5, 0.2, (4, 6)) + np.arange(6) + 0.1 * np.arange(4)[:, None]


def test_equation_4():
    np.testing.assert_allclose(normalise(np.array([[1.0, 10], [2, 30], [3, 50]])), [[-1, -1], [0, 0], [1, 1]])
    np.testing.assert_allclose(normalise(VALUES * np.arange(1, 7) + np.arange(6)), normalise(VALUES))
    np.testing.assert_allclose(normalise(VALUES), stats.zscore(VALUES, ddof=1))
    values = np.array([1.0, 2, 4])[:, None] + np.zeros(6) + np.arange(6)
    for each, score in zip(normalised_scores(sources(values)), values.mean(1), strict=True):
        assert each.paper == pytest.approx((score, score))
        assert each.program == pytest.approx((score, score))


def test_bounds_by_both_procedures(monkeypatch):
    monkeypatch.setattr(bootstrap, "NUM_RESAMPLES", 9_999)
    found = normalised_scores(sources(VALUES))
    spread = VALUES.std(0, ddof=1)
    for each, row, score in zip(found, stats.zscore(VALUES, ddof=1), VALUES.mean(1), strict=True):
        assert each.mean == pytest.approx(row.mean())
        reference = stats.bootstrap((row,), np.mean, random_state=np.random.default_rng(3)).confidence_interval
        assert each.ci95 == pytest.approx(tuple(reference), abs=0.04)
        # equations 5 and 6, a bound a language, then the mean over languages
        by_language = np.array(each.ci95)[:, None] * spread + VALUES.mean(0)
        assert each.paper == pytest.approx(tuple(by_language.mean(1)))
        scale = VALUES.mean(1).std(ddof=1)
        assert each.program == pytest.approx(tuple(score + scale * (np.array(each.ci95) - row.mean())))
        assert each.program[0] < score < each.program[1]


def test_order_few_languages_and_nothing_to_normalise_by():
    found = normalised_scores(sources(VALUES))
    turned = normalised_scores(sources(VALUES[::-1]))[::-1]
    assert [each.mean for each in turned] == pytest.approx([each.mean for each in found])
    for one, other in zip(found, turned, strict=True):
        assert one.program == pytest.approx(other.program)
    found = normalised_scores(sources(VALUES[:, :4]))
    assert all(each.ci95 is each.paper is each.program is None for each in found)
    assert found[0].mean == pytest.approx(stats.zscore(VALUES[:, :4], ddof=1)[0].mean())
    assert normalised_scores(sources(VALUES[:1])) == "normalisation needs at least two sources"
    equal = VALUES.copy()
    equal[:, 2] = 5.0
    reason = "all sources are equal on some language: its standard deviation is 0"
    assert normalised_scores(sources(equal)) == reason
    assert normalise(VALUES[:1]) is None
