"""Averages of round numbers, and of the paper's figures."""

import pytest

from ecsuite.eval.xtreme.scoring.tasks import (
    EnglishVsOthers,
    average_gap,
    group_scores,
    sides,
)

ANSWERS = {
    "en": {"exact_match": 70, "f1": 80},
    "de": {"exact_match": 40, "f1": 60},
    "zh": {"exact_match": 20, "f1": 40},
}
MBERT = {
    "xnli": 65.4,
    "pawsx": 81.9,
    "udpos": 71.5,
    "panx": 62.2,
    "xquad": (64.5 + 49.4) / 2,
    "mlqa": (61.4 + 44.2) / 2,
    "tydiqa": (59.7 + 43.9) / 2,
    "bucc2018": 56.7,
    "tatoeba": 38.7,
}


def test_the_gap_of_questions_is_that_of_exact_match():
    assert sides("xquad", ANSWERS) == EnglishVsOthers(english=70, others=30)
    assert sides("xquad", ANSWERS).gap == 40


def test_overall_is_the_mean_of_tasks_as_in_table_2():
    groups = group_scores(MBERT)
    assert (
        round(groups["all_task"], 1) == 59.8
    )  # what table 2 gives mBERT; of the four groups it would be 60.3
    assert groups["retrieval"] == pytest.approx(47.7)
    assert list(groups) == ["all_task", "classification", "tagging", "qa", "retrieval"]


def test_average_gap_as_in_table_3():
    gaps = {
        "xnli": 16.5,
        "pawsx": 14.1,
        "xquad": 25.0,
        "mlqa": 27.5,
        "tydiqa": 22.2,
        "udpos": 25.5,
        "panx": 23.6,
    }
    assert round(average_gap(gaps), 1) == 21.1
    assert average_gap({**gaps, "mlqa": None}) is None
    assert average_gap({"xnli": 16.5}) is None
