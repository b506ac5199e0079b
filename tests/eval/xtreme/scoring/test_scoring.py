"""Scores of predictions against examples of every kind."""

import pytest

from ecsuite.eval.xtreme.scoring.examples import Answer, Bitext, Question, TaggedSentence, TextPair
from ecsuite.eval.xtreme.scoring.scoring import chance, labels_of, score_labels, score_predictions
from ecsuite.eval.xtreme.scoring.tasks import TASKS
from ecsuite.runtime.errors import ConfigError

PAIRS = [TextPair(first="a", second="b", label=label) for label in ("1", "0", "0", "0")]
TAGGED = [
    TaggedSentence(words=("the", "old", "man", "sat"), tags=("DET", "NOUN", "NOUN", "VERB")),
    TaggedSentence(words=("no",), tags=("INTJ",)),
]
QUESTIONS = [
    Question(id="q", question="?", context="a red car", answers=(Answer(text="red car", start=2),)),
    Question(id="r", question="?", context="a red car", answers=(Answer(text="red", start=2),)),
]
SENTENCES = Bitext(
    source_ids=("0", "1", "2"),
    sources=("A", "B", "C"),
    target_ids=("0", "1", "2"),
    targets=("c", "a", "b"),
    gold=frozenset({("0", "1"), ("1", "2"), ("2", "0")}),
)


def test_pairs():
    assert score_predictions("pawsx", "de", ["1", "0", "0", "1"], PAIRS) == {"accuracy": 75}


def test_tagging():
    found = score_predictions("udpos", "de", [["DET", "NOUN", "VERB", "VERB"], ["INTJ"]], TAGGED)
    assert found == {"f1": 50, "precision": 50, "recall": 50, "accuracy": 80}


def test_questions_by_the_rules_of_their_task():
    predicted = {"q": "die red car", "r": "red"}
    assert score_predictions("mlqa", "de", predicted, QUESTIONS) == {"exact_match": 100, "f1": 100}
    assert score_predictions("xquad", "de", predicted, QUESTIONS) == pytest.approx(
        {"exact_match": 50, "f1": 90}
    )


def test_retrieval():
    assert score_predictions("tatoeba", "de", [1, 2, 1], SENTENCES)["accuracy"] == pytest.approx(200 / 3)
    found = score_predictions("bucc2018", "de", {("0", "1"), ("1", "0")}, SENTENCES)
    assert found == pytest.approx({"f1": 40, "precision": 50, "recall": 100 / 3})
    assert score_predictions("bucc2018", "de", set(), SENTENCES) == {"f1": 0, "precision": 0, "recall": 0}


@pytest.mark.parametrize(
    ("task", "examples"),
    [
        ("xnli", PAIRS),
        ("panx", TAGGED),
        ("tydiqa", QUESTIONS),
        ("bucc2018", SENTENCES),
        ("tatoeba", SENTENCES),
    ],
)
def test_correct_predictions_score_100(task, examples):
    labels = labels_of(task, examples)
    predicted = {name: answers[0] for name, answers in labels} if task == "tydiqa" else labels
    found = score_predictions(task, "fi", predicted, examples)
    assert set(found) >= set(TASKS[task].metrics)
    assert set(found.values()) == {100}


def test_chance_is_the_best_constant_prediction():
    assert chance("pawsx", "de", labels_of("pawsx", PAIRS)) == {"accuracy": 75}
    assert chance("tatoeba", "de", labels_of("tatoeba", SENTENCES))["accuracy"] == pytest.approx(100 / 3)
    assert chance("udpos", "de", labels_of("udpos", TAGGED)) == {
        "f1": 0,
        "precision": 0,
        "recall": 0,
        "accuracy": 40,
    }
    assert chance("xquad", "de", labels_of("xquad", QUESTIONS)) == {"exact_match": 0, "f1": 0}
    assert chance("bucc2018", "de", SENTENCES.gold) == {"f1": 0, "precision": 0, "recall": 0}


def test_withheld_labels():
    held_back = [*PAIRS, TextPair(first="a", second="b", label=None)]
    with pytest.raises(ValueError, match="PAWS-X: example 4 has no label"):
        labels_of("pawsx", held_back)
    hidden = Bitext(source_ids=("0",), sources=("A",), target_ids=("0",), targets=("a",), gold=None)
    with pytest.raises(ValueError, match="Tatoeba: expected gold translations, found none"):
        labels_of("tatoeba", hidden)


def test_numbers_of_predictions_and_unknown_names():
    with pytest.raises(ValueError, match="PAWS-X: expected a prediction for each of 4 labels, got 1"):
        score_predictions("pawsx", "de", ["1"], PAIRS)
    with pytest.raises(ValueError, match="XNLI: expected labels, found none"):
        score_labels("xnli", "de", [], [])
    with pytest.raises(ConfigError, match="unknown task 'pos'; did you mean 'udpos'"):
        score_predictions("pos", "de", [], [])
