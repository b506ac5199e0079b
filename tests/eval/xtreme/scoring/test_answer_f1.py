"""EM and F1 of answers, against manual computations."""

import pytest

from ecsuite.eval.xtreme.scoring.questions import answer_scores, mlqa_words, squad_words
from ecsuite.runtime.errors import ConfigError


def scores(predicted, *right, words=squad_words):
    found = answer_scores({"q": predicted}, [("q", list(right))], words)
    return found["exact_match"], found["f1"]


def test_squad_ignores_case_punctuation_and_english_articles():
    assert squad_words(" The  U.S. -- a «nation» another") == ["us", "«nation»", "another"]
    assert scores("the Blue House!", "blue house") == (100, 100)


def test_squad_f1_is_over_bags_of_words():
    assert scores("big red car", "red car") == pytest.approx((0, 80))  # precision 2/3, recall 1
    assert scores("red red", "red") == pytest.approx((0, 200 / 3))
    assert scores("北京市", "北京") == (0, 0)  # one word each


def test_the_best_correct_answer_counts():
    assert scores("red car", "blue", "red car", "car") == (100, 100)
    assert scores("red car", "car park", "a red") == pytest.approx((0, 200 / 3))


def test_empty_answers_are_equal_but_have_no_words_in_common():
    assert scores("the", "a") == (100, 0)
    assert scores("", "car") == (0, 0)


@pytest.mark.parametrize(
    ("language", "answer", "words"),
    [
        ("en", "An «apple» — the theatre", ["apple", "theatre"]),
        ("es", "¿El río, la ella?", ["río", "ella"]),
        ("de", "Der Bär, dessen Honig", ["bär", "dessen", "honig"]),
        ("vi", "Những con mèo là của", ["con", "mèo"]),
        ("ar", "الكتاب العالمي", ["كتاب", "ع", "مي"]),  # inside of words, too
        ("hi", "भारत। का", ["भारत", "का"]),
        ("zh", "北京、abc 12座the", ["北", "京", "abc", "12", "座", "the"]),
    ],
)
def test_mlqa_rules_by_language(language, answer, words):
    assert mlqa_words(language)(answer) == words


def test_mlqa_compares_chinese_characters():
    em, f1 = scores("北京市", "北京", words=mlqa_words("zh"))
    assert (em, f1) == pytest.approx((0, 80))
    with pytest.raises(ConfigError, match="unknown language of MLQA 'fr'"):
        mlqa_words("fr")


def test_a_question_without_an_answer_is_wrong():
    gold = [("1", ["red"]), ("2", ["blue"]), ("3", ["red"]), ("4", ["red"])]
    assert answer_scores({"1": "red", "2": "red"}, gold, squad_words) == {"exact_match": 25, "f1": 25}


def test_questions_and_answers_are_required():
    with pytest.raises(ValueError, match="expected questions, found none"):
        answer_scores({}, [], squad_words)
    with pytest.raises(ValueError, match="question q: expected a correct answer, found none"):
        answer_scores({"q": "red"}, [("q", [])], squad_words)
