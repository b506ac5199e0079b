"""Averages of round numbers, and of the paper's figures."""

import pytest

from ecsuite.eval.xtreme.scoring.tasks import (
    EnglishVsOthers,
    average,
    average_gap,
    group_scores,
    main_score,
    sides,
    task_score,
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


def test_the_score_of_a_task_includes_english():
    assert average(ANSWERS, "f1") == 60
    assert task_score("xquad", ANSWERS) == (60 + 130 / 3) / 2
    assert task_score("xnli", {"en": {"accuracy": 80}, "de": {"accuracy": 60}}) == 70
    assert task_score("panx", {"de": {"f1": 60, "precision": 1, "recall": 2, "accuracy": 3}}) == 60


def test_the_score_of_a_language():
    assert main_score("xquad", ANSWERS["de"]) == 50
    assert main_score("udpos", {"f1": 60, "accuracy": 90}) == 60


def test_the_gap_of_questions_is_that_of_exact_match():
    assert sides("xquad", ANSWERS) == EnglishVsOthers(english=70, others=30)
    assert sides("xquad", ANSWERS).gap == 40


def test_no_gap_without_english_or_without_others():
    english, german = {"accuracy": 80.0}, {"accuracy": 60.0}
    assert sides("tatoeba", {"de": german}) == EnglishVsOthers(english=None, others=60)
    assert sides("tatoeba", {"de": german}).gap is None
    assert sides("xnli", {"en": english}).gap is None


def test_overall_is_the_mean_of_tasks_as_in_table_2():
    groups = group_scores(MBERT)
    assert (
        round(groups["all_task"], 1) == 59.8
    )  # what table 2 gives mBERT; of the four groups it would be 60.3
    assert groups["retrieval"] == pytest.approx(47.7)
    assert list(groups) == ["all_task", "classification", "tagging", "qa", "retrieval"]


def test_groups_need_all_their_tasks():
    without = {task: score for task, score in MBERT.items() if task != "mlqa"}
    assert set(group_scores(without)) == {"classification", "tagging", "retrieval"}
    assert group_scores({"udpos": 70}) == {}


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
