"""The correlations agree with Table 2 of the paper; degenerate lists raise errors."""

import numpy as np
import pytest

from ecsuite.eval.xferbench.comparison import PAPER_CHRF, PAPER_CORRELATIONS, PAPER_SCORES
from ecsuite.eval.xferbench.correlation import correlate
from ecsuite.runtime.errors import ConfigError

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("setting", ["full", "frozen", "reduced"])
def test_the_papers_table_2(setting):
    pearsons = correlate(PAPER_SCORES, PAPER_CHRF[setting]).coefficients[0]
    assert round(pearsons.value, 2) == PAPER_CORRELATIONS[setting]
    low, high = pearsons.ci95
    assert -1 < low < pearsons.value < high < 0


def test_opposite_orders():
    names = "abcdef"
    scores = dict(zip(names, (1.0, 2.0, 3.0, 4.0, 5.0, 7.0), strict=True))
    found = correlate(scores, {name: -(value**3) for name, value in scores.items()})
    assert [each.name for each in found.coefficients] == ["Pearson", "Kendall", "Spearman"]
    assert [each.value for each in found.coefficients[1:]] == pytest.approx([-1, -1])
    assert -1 < found.coefficients[0].value < -0.9
    assert found.sources == tuple(names) and found.left_out == ()


def test_neither_order_nor_scale_matter():
    scores, chrf = (dict(zip("abcdefg", row, strict=True)) for row in RNG.normal(size=(2, 7)).tolist())
    turned = {name: 3 * scores[name] + 5 for name in reversed(scores)}
    found, again = (correlate(each, chrf).coefficients for each in (scores, turned))
    for one, other in zip(found, again, strict=True):
        assert one.value == pytest.approx(other.value)
        assert one.ci95 == pytest.approx(other.ci95)


def test_only_shared_sources_count_and_the_others_are_named():
    scores = {"a": 1.0, "b": 2.0, "c": 3.0, "x": 9.0}
    found = correlate(scores, {"a": 3.0, "b": 2.0, "c": 1.0, "y": 0.0})
    assert (found.sources, found.left_out) == (("a", "b", "c"), ("x", "y"))
    assert found.coefficients[0].value == pytest.approx(-1)
    assert found.coefficients[0].ci95 is None
    assert found.ci_reason == "an interval needs at least 5 sources"


SAME, OTHER = dict.fromkeys("abc", 1.0), {"a": 1.0, "b": 2.0, "c": 3.0}


@pytest.mark.parametrize(
    ("scores", "translation", "message"),
    [
        (
            {"a": 1.0, "b": 2.0},
            {"a": 1.0, "c": 2.0},
            "a correlation needs at least 3 sources in both lists, got 1 (in one list only: b, c)",
        ),
        (SAME, OTHER, "all sources have the same XferBench score: the correlation is undefined"),
        (OTHER, SAME, "all sources have the same translation score: the correlation is undefined"),
    ],
)
def test_lists_that_have_no_correlation(scores, translation, message):
    with pytest.raises(ConfigError) as error:
        correlate(scores, translation)
    assert str(error.value) == message
