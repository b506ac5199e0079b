"""Published scores are consistent, and shown only with scores that they are comparable with."""

import numpy as np
import pytest
from compared_sources import FULL, paper_results

from ecsuite.downloads.languages import XFERBENCH_TARGETS
from ecsuite.eval.xferbench.comparison import (
    NO_PRETRAIN,
    PAPER_CROSS_ENTROPIES,
    PAPER_SCORES,
    PUBLISHED_NAME,
    PUBLISHED_SCORES,
    anchors_for,
    published_baseline,
)


def test_no_pretraining_is_the_mean_of_its_languages():
    assert round(float(np.mean(list(NO_PRETRAIN.values()))), 3) == PUBLISHED_SCORES["no pretrain"] == 6.072
    assert tuple(NO_PRETRAIN) == XFERBENCH_TARGETS


def test_the_papers_scores_are_the_means_of_its_cross_entropies():
    for name, row in PAPER_CROSS_ENTROPIES.items():
        assert np.mean(list(row.values())) == pytest.approx(PAPER_SCORES[name], abs=0.0055)
    printed = (5.02, 6.07, 5.12, 5.72, 5.54, 4.96, 5.35, 5.57, 5.24, 4.51)  # its last row
    columns = np.mean([list(row.values()) for row in PAPER_CROSS_ENTROPIES.values()], axis=0)
    np.testing.assert_allclose(columns, printed, atol=0.01)


def test_the_published_protocol_has_them():
    assert anchors_for(f"{FULL}|seed:0") is PUBLISHED_SCORES
    baseline = published_baseline(FULL)
    assert (baseline.name, baseline.signature) == (PUBLISHED_NAME, FULL)
    assert baseline.score == pytest.approx(6.072, abs=0.0005)


def test_paper_results_can_be_compared():
    results = paper_results()
    assert len({result.signature for result in results}) == 1
    assert [result.name for result in results if result.is_baseline] == ["No pretrain"]
