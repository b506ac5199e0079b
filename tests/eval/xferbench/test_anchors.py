"""Published scores agree with themselves, and are shown only with scores that they are comparable with."""

import numpy as np
import pytest

from compared_sources import FULL
from ecsuite.downloads.languages import XFERBENCH_TARGETS
from ecsuite.eval.xferbench import comparison as paper
from ecsuite.eval.xferbench.correlation import correlate
from ecsuite.eval.xferbench.presets import DANISH, PRESETS
from ecsuite.eval.xferbench.presets import FULL as FULL_PRESET
from ecsuite.runtime.errors import ConfigError


def test_published_scores_agree_with_themselves():
    assert round(float(np.mean(list(paper.NO_PRETRAIN.values()))), 3) == paper.PUBLISHED_SCORES["no pretrain"] == 6.072
    assert tuple(paper.NO_PRETRAIN) == XFERBENCH_TARGETS
    for name, row in paper.PAPER_CROSS_ENTROPIES.items():
        assert np.mean(list(row.values())) == pytest.approx(paper.PAPER_SCORES[name], abs=0.0055)
    printed = (5.02, 6.07, 5.12, 5.72, 5.54, 4.96, 5.35, 5.57, 5.24, 4.51)  # its last row
    columns = np.mean([list(row.values()) for row in paper.PAPER_CROSS_ENTROPIES.values()], axis=0)
    np.testing.assert_allclose(columns, printed, atol=0.01)
    assert paper.anchors_for(f"{FULL}|seed:0") is paper.PUBLISHED_SCORES
    baseline = paper.published_baseline(FULL)
    assert (baseline.name, baseline.signature) == (paper.PUBLISHED_NAME, FULL)
    assert baseline.score == pytest.approx(6.072, abs=0.0005)
    assert [(preset.lr, preset.tune_lr) for preset in (FULL_PRESET, DANISH)] == [(1e-4, 1e-4)] * 2
    assert {name for name, preset in PRESETS.items() if not preset.is_reduced} == {"full", "danish"}


@pytest.mark.parametrize("other", ["preset:mini", "protocol:strict", "protocol:published-2024-2"])
def test_other_signatures_have_no_anchors(other):
    part = other.partition(":")[0]
    signature = "|".join(other if each.startswith(part) else each for each in FULL.split("|"))
    assert paper.anchors_for(signature) == {} and paper.published_baseline(signature) is None


@pytest.mark.parametrize("setting", ["full", "frozen", "reduced"])
def test_the_papers_table_2(setting):
    pearsons = correlate(paper.PAPER_SCORES, paper.PAPER_CHRF[setting]).coefficients[0]
    assert round(pearsons.value, 2) == paper.PAPER_CORRELATIONS[setting]
    low, high = pearsons.ci95
    assert -1 < low < pearsons.value < high < 0


SAME, OTHER = dict.fromkeys("abc", 1.0), {"a": 1.0, "b": 2.0, "c": 3.0}


@pytest.mark.parametrize(
    ("scores", "translation", "message"),
    [
        ({"a": 1.0, "b": 2.0}, {"a": 1.0, "c": 2.0},
         "a correlation needs at least 3 sources in both lists, got 1 (in one list only: b, c)"),
        (SAME, OTHER, "all sources have the same XferBench score: the correlation is undefined"),
        (OTHER, SAME, "all sources have the same translation score: the correlation is undefined"),
    ],
)  # fmt: skip
def test_lists_that_have_no_correlation(scores, translation, message):
    with pytest.raises(ConfigError) as error:
        correlate(scores, translation)
    assert str(error.value) == message


@pytest.mark.parametrize("name", ["mini", "mini-3m"])
def test_references_stand_in_the_published_order(name):
    reference = PRESETS[name].reference
    assert list(reference) == ["French text", "Zipfian parentheses", "nothing", "uniform noise"]
    assert list(reference.values()) == sorted(reference.values()) and min(reference.values()) > 4
