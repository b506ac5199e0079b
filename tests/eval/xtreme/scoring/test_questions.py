"""SQuAD's JSON: answers at correct and wrong positions, withheld answers, and repeated ids."""

import json

import pytest

from ecsuite.eval.xtreme.scoring.questions import has_answers, read_questions
from ecsuite.eval.xtreme.scoring.task import Answer, ExtractiveQuestion
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


def test_questions_with_their_answers(stored):
    path = stored(("a", [("Oslo", 15), ("in Oslo", 12)]))
    answers = (Answer(text="Oslo", start=15), Answer(text="in Oslo", start=12))
    assert read_questions(path) == [
        ExtractiveQuestion(id="a", question="a?", context=CONTEXT, answers=answers)
    ]
    assert has_answers(path)


@pytest.mark.parametrize(("start", "found"), [(1, 0), (5, 8), (100, 8), (-3, 0), (8, 8)])
def test_an_answer_at_a_wrong_position_is_moved_to_the_nearest_occurrence(stored, start, found):
    (question,) = read_questions(stored(("a", [("Ada", start)])))
    assert question.answers == (Answer(text="Ada", start=found),)


@pytest.mark.parametrize("answers", [[], [("", 0)]])
def test_withheld_answers_are_empty(stored, answers):
    path = stored(("a", answers))
    assert [question.answers for question in read_questions(path)] == [()]
    assert not has_answers(path)


def test_an_answer_may_be_a_quotation_mark(tmp_path):
    path = tmp_path / "xx.json"
    path.write_text('{"data": [{"answers": [{"text": "\\"", "answer_start": 0}]}]}')
    assert has_answers(path)


def test_repeated_ids_get_a_number(stored):
    path = stored(("0", []), ("1", []), ("0", []), ("0", []))
    assert [question.id for question in read_questions(path)] == ["0", "1", "0-2", "0-3"]


def test_questions_by_the_prefix_of_their_ids(stored):
    path = stored(("finnish-1", []), ("korean-1", []), ("finnish-2", []))
    assert [question.question for question in read_questions(path, prefix="korean-")] == ["korean-1?"]
    with pytest.raises(ConfigError) as error:
        read_questions(path, prefix="thai-")
    assert str(error.value) == f"{path}: expected questions with ids that begin with 'thai-', found none"


def test_an_answer_outside_the_context_is_an_error(stored):
    path = stored(("a", []), ("b", [("Bergen", 15)]))
    with pytest.raises(ConfigError) as error:
        read_questions(path)
    assert str(error.value) == f"{path}: question b: expected the answer 'Bergen' in the context, found none"


def squad(context="c", **question):
    return json.dumps({"data": [{"paragraphs": [{"context": context, "qas": [question]}]}]})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"data":\n[}', "2: not JSON: Expecting value at column 2"),
        ("[" * 100_000, "not JSON: nesting that is too deep"),
        (squad(id=8, question="\ud800"), "not JSON: a lone surrogate"),
        ('{"data": 3}', "expected SQuAD 1.1: Expected `array`, got `int` - at `$.data`"),
        ("{}", "expected SQuAD 1.1: Object missing required field `data`"),
        ('{"data": []}', "expected questions, found none"),
        (squad(3, id=8, question="q"),
         "expected SQuAD 1.1: Expected `str | null`, got `int` - at `$.data[0].paragraphs[0].context`"),
        (squad(id=8),
         "question 8: expected a question and its context, got only one of them"),
        (squad(id=8, question="q", answers=[{"text": "c", "answer_start": "x"}]),
         "expected SQuAD 1.1: Expected `int`, got `str` - at `$.data[0].paragraphs[0].qas[0].answers[0].answer_start`"),
        (squad(id=8, question="q", answers=[{"text": "c", "answer_start": 0}]).replace(" 0}", " 1e400}"),
         "expected SQuAD 1.1: Expected `int`, got `float`"
         " - at `$.data[0].paragraphs[0].qas[0].answers[0].answer_start`"),
    ],
)  # fmt: skip
def test_errors_in_other_json(tmp_path, text, message):
    path = tmp_path / "xx.json"
    path.write_text(text)
    with pytest.raises(ConfigError) as error:
        read_questions(path)
    line = ":" if message[0].isdecimal() else ": "
    assert str(error.value) == f"{path}{line}{message}"
