"""Predictions and labels of submissions: errors in malformed files, and the scores of complete ones."""

import json
import os
import re
from pathlib import Path

import pytest

from ecsuite.eval.xtreme.scoring.evaluation import evaluate
from ecsuite.eval.xtreme.scoring.tasks import TASKS
from ecsuite.runtime.errors import ConfigError

MOCK = "ECSUITE_XTREME_MOCK"
"""Names the folder mock_test_data of github.com/google-research/xtreme."""


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


def over(num_others, others):
    """The mean of English (100) and a number of other languages."""
    return (100 + num_others * others) / (1 + num_others)


SCORES = {
    "xnli": over(14, 75), "pawsx": over(6, 50), "udpos": over(32, 100 / 3), "panx": over(39, 200 / 3),
    "xquad": over(10, (50 + 90) / 2), "mlqa": over(6, (0 + 80) / 2), "tydiqa": over(8, 50), "bucc2018": 40,
    "tatoeba": 50,
}  # fmt: skip


def test_all_nine(write_submission, tmp_path):
    data = evaluate(*write_submission(tmp_path)).to_json()
    assert {task: data[task]["avg_metric"] for task in TASKS} == pytest.approx(SCORES)
    assert data["all_task"] == pytest.approx(sum(SCORES.values()) / 9) and data["retrieval"] == 45
    assert data["qa"] == pytest.approx((SCORES["xquad"] + SCORES["mlqa"] + SCORES["tydiqa"]) / 3)
    assert data["xquad"]["f1"]["de"] == pytest.approx(90) and data["xquad"]["avg_exact_match"] == over(10, 50)
    gaps = {"xnli": 25, "pawsx": 50, "udpos": 200 / 3, "panx": 100 / 3, "xquad": 50, "mlqa": 100, "tydiqa": 50}
    assert data["ecsuite"]["gap"] == pytest.approx(gaps | {"bucc2018": None, "tatoeba": None})


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


@pytest.fixture
def read(tmp_path):
    """Reads two texts as predictions and labels."""

    def read(task, predicted, right):
        for name, text in (("predicted", predicted), ("right", right)):
            (tmp_path / name).write_text(text, encoding="utf-8")
        return TASKS[task].read_submission(tmp_path / "predicted", tmp_path / "right")

    return read


def squad(**answers):
    questions = [{"id": name, "answers": [{"text": text}]} for name, text in answers.items()]
    return json.dumps({"data": [{"paragraphs": [{"qas": questions}]}]})


def entry(**question):
    return json.dumps([{"paragraphs": [{"qas": [question]}]}])


@pytest.mark.parametrize(
    ("task", "predicted", "right", "message"),
    [
        ("pawsx", "0\n1\n", "0\n1\n1\n", "predicted:3: expected 3 labels as in right, got 2"),
        ("pawsx", "0\n1\n0\n0\n", "0\n1\n", "predicted:3: expected 2 labels as in right, got 4"),
        ("pawsx", "0\n", "", "right: expected labels, the file has none"),
        ("pawsx", "0\n\n1\n", "0\n1\n1\n", "predicted:2: expected one label, got ''"),
        ("pawsx", "no\nyes\n", "0\n1\n", "predicted:1: expected labels such as 0, 1, got 'no'"),
        ("tatoeba", "0\n1.5\n", "0\n1\n", "predicted:2: expected the row of a sentence, 0 or above, got '1.5'"),
        ("tatoeba", "0\n-1\n", "0\n1\n", "predicted:2: expected the row of a sentence, 0 or above, got '-1'"),
        ("tatoeba", f"{'9' * 5000}\n", "0\n",
         f"predicted:1: expected the row of a sentence, 0 or above, got '{'9' * 27}...{'9' * 28}'"),
        ("bucc2018", "a\tx\nb\n", "a\tx\n", "predicted:2: expected two names separated by a tab, got 'b'"),
        ("udpos", "X\n\nX\nX\n", "X\n\nX\n", "predicted:3: expected a sentence of 1 tags as at right:3, got 2"),
        ("udpos", "X\n\nX\n", "X\n\nX\n\nX\n", "predicted:5: expected 3 sentences as in right, got 2"),
        ("udpos", "X\n\nX\n\n\nX\n", "X\n", "predicted:3: expected 1 sentences as in right, got 3"),
        ("udpos", "", "X\n", "predicted:1: expected 1 sentences as in right, got 0"),
        ("udpos", "X\nthe\tDET\n", "X\nX\n", "predicted:2: expected one tag, got 'the\\tDET'"),
        ("xquad", "{", squad(q="a"), "predicted:1: not JSON: Expecting property name enclosed in double quotes"
         " at column 2"),
        ("xquad", "[]", squad(q="a"), "predicted: expected a JSON object of answers by question id"),
        ("xquad", '{"q": 1}', squad(q="a"), "predicted: question q: expected a string as answer, got 1"),
        ("xquad", '{"q": "", "r": ""}', squad(q="a"), "predicted: 1 of 2 questions are not in right, such as r"),
        ("xquad", "{}", "[]", "right: expected questions, the file has none"),
        ("xquad", "{}", '{"version": 1}', "right: expected SQuAD 1.1: Object missing required field `data`"),
        ("xquad", "{}", entry(id="q"), "right: question q: expected at least one answer with a text"),
        ("xquad", "{}", entry(id="q", answers=[]), "right: question q: expected at least one answer with a text"),
        ("xquad", "[" * 100000, squad(q="a"), "predicted: not JSON: nesting that is too deep"),
    ],
)  # fmt: skip
def test_errors_name_their_place(read, tmp_path, task, predicted, right, message):
    with pytest.raises(ConfigError) as raised:
        read(task, predicted, right)
    assert str(raised.value).replace(f"{tmp_path}/", "") == message


def test_a_missing_file_is_named(tmp_path):
    for task, name in (("udpos", "test-af.tsv"), ("mlqa", "test-en.json")):
        (tmp_path / task).mkdir()
        message = re.escape(f"{tmp_path / task / name}: no such file; `--languages")
        with pytest.raises(ConfigError, match=message):
            evaluate(tmp_path, tmp_path)
        (tmp_path / task).rmdir()
