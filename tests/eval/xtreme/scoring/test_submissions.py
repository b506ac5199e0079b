"""Reading predictions and labels, and errors in malformed files."""

import json
import re

import pytest

from ecsuite.eval.xtreme.scoring.evaluation import evaluate
from ecsuite.eval.xtreme.scoring.tasks import TASKS
from ecsuite.runtime.errors import ConfigError


@pytest.fixture
def read(tmp_path):
    """Reads two texts as predictions and labels."""

    def read(task, predicted, right):
        for name, text in (("predicted", predicted), ("right", right)):
            (tmp_path / name).write_text(text, encoding="utf-8")
        return TASKS[task].read_submission(tmp_path / "predicted", tmp_path / "right")

    return read


@pytest.fixture
def refused(read, tmp_path):
    """The error message for two texts, without the folder."""

    def refused(task, predicted, right):
        with pytest.raises(ConfigError) as raised:
            read(task, predicted, right)
        return str(raised.value).replace(f"{tmp_path}/", "")

    return refused


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
def test_errors_name_their_place(refused, task, predicted, right, message):
    assert refused(task, predicted, right) == message


def test_a_missing_file_is_named(tmp_path):
    for task, name in (("udpos", "test-af.tsv"), ("mlqa", "test-en.json")):
        (tmp_path / task).mkdir()
        with pytest.raises(
            ConfigError, match=re.escape(f"{tmp_path / task / name}: no such file; `--languages")
        ):
            evaluate(tmp_path, tmp_path)
        (tmp_path / task).rmdir()
