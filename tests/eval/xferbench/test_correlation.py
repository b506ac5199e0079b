"""The correlations agree with Table 2 of the paper; degenerate lists raise errors."""

import pytest

from ecsuite.eval.xferbench.comparison import PAPER_CHRF, PAPER_CORRELATIONS, PAPER_SCORES
from ecsuite.eval.xferbench.correlation import correlate
from ecsuite.runtime.errors import ConfigError


@pytest.mark.parametrize("setting", ["full", "frozen", "reduced"])
def test_the_papers_table_2(setting):
    pearsons = correlate(PAPER_SCORES, PAPER_CHRF[setting]).coefficients[0]
    assert round(pearsons.value, 2) == PAPER_CORRELATIONS[setting]
    low, high = pearsons.ci95
    assert -1 < low < pearsons.value < high < 0


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
