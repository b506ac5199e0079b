"""Complete submissions: a hand-made one, and the benchmark's own if it is available."""

import lzma
import os
from pathlib import Path

import pytest

from ecsuite.eval.xtreme.scoring.evaluation import evaluate
from ecsuite.eval.xtreme.scoring.tasks import TASKS
from ecsuite.runtime.errors import ConfigError

MOCK = "ECSUITE_XTREME_MOCK"
"""Names the folder mock_test_data of github.com/google-research/xtreme."""


def over(num_others, others):
    """The mean of English (100) and a number of other languages."""
    return (100 + num_others * others) / (1 + num_others)


SCORES = {
    "xnli": over(14, 75),
    "pawsx": over(6, 50),
    "udpos": over(32, 100 / 3),
    "panx": over(39, 200 / 3),
    "xquad": over(10, (50 + 90) / 2),
    "mlqa": over(6, (0 + 80) / 2),
    "tydiqa": over(8, 50),
    "bucc2018": 40,
    "tatoeba": 50,
}


@pytest.fixture
def folders(write_submission, tmp_path):
    return write_submission(tmp_path)


def test_all_nine(folders):
    data = evaluate(*folders).to_json()
    assert {task: data[task]["avg_metric"] for task in TASKS} == pytest.approx(SCORES)
    assert data["all_task"] == pytest.approx(sum(SCORES.values()) / 9)
    assert data["classification"] == pytest.approx((SCORES["xnli"] + SCORES["pawsx"]) / 2)
    assert data["tagging"] == pytest.approx((SCORES["udpos"] + SCORES["panx"]) / 2)
    assert data["qa"] == pytest.approx((SCORES["xquad"] + SCORES["mlqa"] + SCORES["tydiqa"]) / 3)
    assert data["retrieval"] == 45
    assert data["bucc2018"]["avg_precision"] == pytest.approx(100 / 3)
    assert data["xquad"]["f1"]["de"] == pytest.approx(90)
    assert data["xquad"]["avg_exact_match"] == over(10, 50)


def test_additional_results(folders):
    ours = evaluate(*folders).to_json()["ecsuite"]
    assert ours["gap"] == pytest.approx(
        {"xnli": 25, "pawsx": 50, "udpos": 200 / 3, "panx": 100 / 3, "xquad": 50, "mlqa": 100, "tydiqa": 50}
        | {"bucc2018": None, "tatoeba": None}
    )
    assert ours["average_gap"] == pytest.approx((25 + 50 + 50 + 100 + 50) / 5)
    assert (ours["english"]["mlqa"], ours["others"]["mlqa"], ours["english"]["tatoeba"]) == (100, 0, None)
    assert ours["chance"] == pytest.approx(
        {"xnli": 50, "pawsx": 50, "udpos": 0, "panx": 0, "xquad": 0, "mlqa": 0, "tydiqa": 0}
        | {"bucc2018": 0, "tatoeba": 25}
    )
    assert (ours["tag_accuracy"]["udpos"]["de"], ours["tag_accuracy"]["panx"]["de"]) == (75, 80)
    assert ours["unanswered"]["tydiqa"] == {code: 1 for code in TASKS["tydiqa"].languages if code != "en"}
    assert set(ours["unanswered"]) == {"tydiqa"}


def test_without_a_task_there_is_no_overall_score(write_submission, tmp_path):
    evaluation = evaluate(*write_submission(tmp_path, ("xnli", "pawsx", "udpos")))
    assert set(evaluation.to_json()) == {"classification", "xnli", "pawsx", "udpos", "ecsuite"}
    assert evaluation.signature.startswith("xtreme|tasks:xnli+pawsx+udpos|languages:all|labels:")


def test_a_task_with_one_side_only_is_left_out(folders):
    predictions, labels = folders
    for file in (labels / "udpos").iterdir():
        file.unlink()
    (labels / "udpos").rmdir()
    evaluation = evaluate(predictions, labels)
    assert evaluation.left_out == ("udpos",)
    assert "all_task" not in evaluation.groups


def test_a_missing_language(folders):
    predictions, labels = folders
    (predictions / "udpos" / "test-de.tsv").unlink()
    (labels / "udpos" / "test-zh.tsv").unlink()
    for code in TASKS["pawsx"].languages[2:]:
        (predictions / "pawsx" / f"test-{code}.tsv").unlink()
    with pytest.raises(ConfigError, match=r"predictions/pawsx/test-es\.tsv: no such file"):
        evaluate(predictions, labels)
    evaluation = evaluate(predictions, labels, "available")
    assert "|languages:pawsx 2/7 only de en; udpos 31/33 without de zh|" in evaluation.signature
    data = evaluation.to_json()
    assert data["udpos"]["avg_f1"] == pytest.approx(over(30, 100 / 3))
    assert data["ecsuite"]["missing_languages"]["udpos"] == ["de", "zh"]
    assert data["ecsuite"]["missing_languages"]["panx"] == []


def test_signatures_depend_on_labels_but_not_on_compression(write_submission, tmp_path):
    predictions, labels = write_submission(tmp_path, ("pawsx",))
    first = evaluate(predictions, labels).signature
    file = labels / "pawsx" / "test-ja.tsv"
    (labels / "pawsx" / "test-ja.tsv.xz").write_bytes(lzma.compress(file.read_bytes()))
    file.unlink()
    assert evaluate(predictions, labels).signature == first
    file.write_text("1\n1\n")
    assert evaluate(predictions, labels).signature != first


@pytest.mark.parametrize(
    ("predictions", "languages", "message"),
    [
        ("absent", "all", "absent: expected a folder with one subfolder per task, such as udpos"),
        ("empty", "all", "expected the folder of at least one task in both; tasks: xnli, pawsx"),
        ("bare", "available", "labels/pawsx: expected predictions and labels of one language"),
        ("bare", "some", "unknown choice of languages 'some'; choices: all, available"),
    ],
)
def test_refused_folders(write_submission, tmp_path, predictions, languages, message):
    _, labels = write_submission(tmp_path, ("pawsx",))
    (tmp_path / "empty").mkdir()
    (tmp_path / "bare" / "pawsx").mkdir(parents=True)
    with pytest.raises(ConfigError, match=message):
        evaluate(tmp_path / predictions, labels, languages)


@pytest.mark.skipif(MOCK not in os.environ, reason=f"{MOCK} does not name XTREME's mock_test_data")
def test_the_benchmarks_own_mock_data():
    """What XTREME's `evaluate_test.py` expects."""
    folder = Path(os.environ[MOCK])
    data = evaluate(folder / "predictions", folder / "labels").to_json()
    expected = {"pawsx": 51.4286, "xnli": 30.6667, "panx": 57.5079, "bucc2018": 55.0, "tatoeba": 53.6111}
    assert {task: round(data[task]["avg_metric"], 4) for task in expected} == expected
    assert data["udpos"]["avg_f1"] == 70.21746048354693
    answers = {"xquad": (77.2727, 79.9587), "mlqa": (57.1429, 81.7687), "tydiqa": (88.8889, 97.2222)}
    found = {task: (data[task]["avg_exact_match"], data[task]["avg_f1"]) for task in answers}
    assert {task: (round(em, 4), round(f1, 4)) for task, (em, f1) in found.items()} == answers
    assert round(data["all_task"], 4) == 62.1732
