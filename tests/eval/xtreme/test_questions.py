"""Answers from hand-made logits, from exhaustive search over spans, and on the benchmark's own questions."""

import pytest
from xtreme_data import word_level

from ecsuite.eval.xtreme.rows import question_rows
from ecsuite.eval.xtreme.scoring.task import Answer, ExtractiveQuestion
from ecsuite.runtime.errors import ConfigError

LETTERS = "abcdefghijklmnopqrstuvwxyz"


@pytest.fixture
def letters():
    return word_level(LETTERS)


def ask(context, *answers, name="1", question="q r"):
    return ExtractiveQuestion(
        id=name,
        question=question,
        context=context,
        answers=tuple(Answer(text=text, start=context.index(text)) for text in answers),
    )


def test_a_row_without_room_is_refused(letters):
    message = "expected rows with space for a question and its context, got rows of 3 sub-words"
    with pytest.raises(ConfigError, match=message):
        question_rows([ask("a")], letters, 3)
