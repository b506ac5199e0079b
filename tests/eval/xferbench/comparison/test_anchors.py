"""Published scores are consistent, and shown only with scores that they are comparable with."""

import numpy as np
import pytest

from ecsuite.downloads.languages import XFERBENCH_TARGETS
from ecsuite.eval.xferbench.comparison.anchors import (
    ELCC,
    NO_PRETRAIN,
    PAPER_CHRF,
    PAPER_CROSS_ENTROPIES,
    PAPER_SCORES,
    PUBLISHED_NAME,
    SEARCHED,
    SOURCES,
    anchors_for,
    paper_results,
    published_baseline,
)

FULL = "xferbench|preset:full|protocol:published-2024|targets:wikipedia|seed:0|precision:fp32|v:2"
BY_NAME = {anchor.name: anchor.score for anchor in SOURCES}


def test_no_pretraining_is_the_mean_of_its_languages():
    assert round(float(np.mean(list(NO_PRETRAIN.values()))), 3) == BY_NAME["no pretrain"] == 6.072
    assert tuple(NO_PRETRAIN) == XFERBENCH_TARGETS


def test_human_languages_are_best_and_random_is_worst():
    assert [anchor.score for anchor in SOURCES] == sorted(anchor.score for anchor in SOURCES)
    assert max(BY_NAME, key=BY_NAME.get) == "random"
    assert max(
        BY_NAME[name] for name in ("Chinese", "Arabic", "Korean", "Spanish", "Russian", "French", "Hindi")
    ) < min(BY_NAME[name] for name in ("paren, real", "paren, synth", "no pretrain"))


def test_ranges_and_searched_games_lie_between_the_extremes():
    assert all(low <= high for low, high in ELCC.values())
    assert (min(low for low, _ in ELCC.values()), max(high for _, high in ELCC.values())) == (5.971, 6.279)
    assert all(BY_NAME["Chinese"] < score < BY_NAME["no pretrain"] for score in SEARCHED.values())


def test_the_papers_scores_are_the_means_of_its_cross_entropies():
    for name, row in PAPER_CROSS_ENTROPIES.items():
        assert np.mean(list(row.values())) == pytest.approx(PAPER_SCORES[name], abs=0.0055)
    printed = (5.02, 6.07, 5.12, 5.72, 5.54, 4.96, 5.35, 5.57, 5.24, 4.51)  # its last row
    columns = np.mean([list(row.values()) for row in PAPER_CROSS_ENTROPIES.values()], axis=0)
    np.testing.assert_allclose(columns, printed, atol=0.01)


def test_tables_have_the_same_17_sources():
    assert len(PAPER_SCORES) == 17
    for chrf in PAPER_CHRF.values():
        assert tuple(chrf) == tuple(PAPER_SCORES)
    assert PAPER_CHRF["frozen"]["Paren, synth"] == 12.0
    assert PAPER_CROSS_ENTROPIES["No pretrain"]["ur"] == 4.65


def test_oscar_and_wikipedia_are_levels_apart():
    assert BY_NAME["no pretrain"] - PAPER_SCORES["No pretrain"] > 0.6
    assert BY_NAME["Chinese"] > max(PAPER_SCORES.values())


@pytest.mark.parametrize(
    "signature",
    [
        FULL.replace("full", "mini"),
        FULL.replace("published-2024", "strict"),
        FULL.replace("published-2024", "published-2024-2"),
        "unsigned (another program)",
    ],
)
def test_other_signatures_have_no_anchors(signature):
    assert anchors_for(signature) == ()
    assert published_baseline(signature) is None


def test_the_published_protocol_has_them():
    assert anchors_for(FULL) is SOURCES
    baseline = published_baseline(FULL)
    assert (baseline.name, baseline.signature) == (PUBLISHED_NAME, FULL)
    assert baseline.score == pytest.approx(6.072, abs=0.0005)


def test_paper_results_can_be_compared():
    results = paper_results()
    assert len({result.signature for result in results}) == 1
    assert [result.name for result in results if result.is_baseline] == ["No pretrain"]
