"""SQuAD's JSON: answers at correct and wrong positions, withheld answers, and repeated ids."""

import json

import pytest

from ecsuite.eval.xtreme.scoring.questions import read_questions
from ecsuite.runtime.errors import ConfigError

CONTEXT = "Ada met Ada in Oslo."


@pytest.fixture
def stored(tmp_path):
    """Writes questions about `CONTEXT`, given as ids and answers `(text, start)`."""

    def store(*questions):
        path = tmp_path / "xx.json"
        questions = [
            {
                "id": name,
                "question": f"{name}?",
                "answers": [{"text": text, "answer_start": start} for text, start in answers],
            }
            for name, answers in questions
        ]
        data = {
            "version": "1.1",
            "data": [{"title": "t", "paragraphs": [{"context": CONTEXT, "qas": questions}]}],
        }
        path.write_text(json.dumps(data, indent=2), encoding="utf-8")
        return path

    return store


def test_questions_by_the_prefix_of_their_ids(stored):
    path = stored(("finnish-1", []), ("korean-1", []), ("finnish-2", []))
    assert [question.question for question in read_questions(path, prefix="korean-")] == ["korean-1?"]
    with pytest.raises(ConfigError) as error:
        read_questions(path, prefix="thai-")
    assert str(error.value) == f"{path}: expected questions with ids that begin with 'thai-', found none"
