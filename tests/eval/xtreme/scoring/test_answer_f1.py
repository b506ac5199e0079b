"""EM and F1 of answers, against manual computations."""

import pytest

from ecsuite.eval.xtreme.scoring.questions import answer_scores, squad_words


def test_questions_and_answers_are_required():
    with pytest.raises(ValueError, match="expected questions, found none"):
        answer_scores({}, [], squad_words)
    with pytest.raises(ValueError, match="question q: expected a correct answer, found none"):
        answer_scores({"q": "red"}, [("q", [])], squad_words)
