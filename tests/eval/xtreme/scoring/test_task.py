"""Scores of predictions against examples of every kind."""

import pytest

from ecsuite.eval.xtreme.scoring.task import Answer, Bitext, ExtractiveQuestion, TaggedSentence, TextPair
from ecsuite.eval.xtreme.scoring.tasks import TASKS

PAIRS = [TextPair(first="a", second="b", label=label) for label in ("1", "0", "0", "0")]
TAGGED = [
    TaggedSentence(words=("the", "old", "man", "sat"), tags=("DET", "NOUN", "NOUN", "VERB")),
    TaggedSentence(words=("no",), tags=("INTJ",)),
]
QUESTIONS = [
    ExtractiveQuestion(id="q", question="?", context="a red car", answers=(Answer(text="red car", start=2),)),
    ExtractiveQuestion(id="r", question="?", context="a red car", answers=(Answer(text="red", start=2),)),
]
SENTENCES = Bitext(
    source_ids=("0", "1", "2"),
    sources=("A", "B", "C"),
    target_ids=("0", "1", "2"),
    targets=("c", "a", "b"),
    gold=frozenset({("0", "1"), ("1", "2"), ("2", "0")}),
)


def test_pairs():
    assert TASKS["pawsx"].score("de", ["1", "0", "0", "1"], TASKS["pawsx"].labels(PAIRS)) == {"accuracy": 75}


def test_tagging():
    found = TASKS["udpos"].score(
        "de", [["DET", "NOUN", "VERB", "VERB"], ["INTJ"]], TASKS["udpos"].labels(TAGGED)
    )
    assert found == {"f1": 50, "precision": 50, "recall": 50, "accuracy": 80}


def test_questions_by_the_rules_of_their_task():
    predicted = {"q": "die red car", "r": "red"}
    assert TASKS["mlqa"].score("de", predicted, TASKS["mlqa"].labels(QUESTIONS)) == {
        "exact_match": 100,
        "f1": 100,
    }
    assert TASKS["xquad"].score("de", predicted, TASKS["xquad"].labels(QUESTIONS)) == pytest.approx(
        {"exact_match": 50, "f1": 90}
    )


def test_retrieval():
    tatoeba, bucc = TASKS["tatoeba"], TASKS["bucc2018"]
    assert tatoeba.score("de", [1, 2, 1], tatoeba.labels(SENTENCES)) == {"accuracy": pytest.approx(200 / 3)}
    found = bucc.score("de", {("0", "1"), ("1", "0")}, bucc.labels(SENTENCES))
    assert found == pytest.approx({"f1": 40, "precision": 50, "recall": 100 / 3})
    assert bucc.score("de", set(), bucc.labels(SENTENCES)) == {
        "f1": 0,
        "precision": 0,
        "recall": 0,
    }


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
    labels = TASKS[task].labels(examples)
    predicted = {name: answers[0] for name, answers in labels} if task == "tydiqa" else labels
    found = TASKS[task].score("fi", predicted, TASKS[task].labels(examples))
    assert set(found) >= set(TASKS[task].metrics)
    assert set(found.values()) == {100}


def test_chance_is_the_best_constant_prediction():
    assert TASKS["pawsx"].chance("de", TASKS["pawsx"].labels(PAIRS)) == {"accuracy": 75}
    assert TASKS["tatoeba"].chance("de", TASKS["tatoeba"].labels(SENTENCES))["accuracy"] == pytest.approx(
        100 / 3
    )
    assert TASKS["udpos"].chance("de", TASKS["udpos"].labels(TAGGED)) == {
        "f1": 0,
        "precision": 0,
        "recall": 0,
        "accuracy": 40,
    }
    assert TASKS["xquad"].chance("de", TASKS["xquad"].labels(QUESTIONS)) == {"exact_match": 0, "f1": 0}
    assert TASKS["bucc2018"].chance("de", SENTENCES.gold) == {"f1": 0, "precision": 0, "recall": 0}


def test_withheld_labels():
    held_back = [*PAIRS, TextPair(first="a", second="b", label=None)]
    with pytest.raises(ValueError, match="PAWS-X: example 4 has no label"):
        TASKS["pawsx"].labels(held_back)
    hidden = Bitext(source_ids=("0",), sources=("A",), target_ids=("0",), targets=("a",), gold=None)
    with pytest.raises(ValueError, match="Tatoeba: expected gold translations, found none"):
        TASKS["tatoeba"].labels(hidden)


def test_numbers_of_predictions_and_unknown_names():
    with pytest.raises(ValueError, match="PAWS-X: expected a prediction for each of 4 labels, got 1"):
        TASKS["pawsx"].score("de", ["1"], TASKS["pawsx"].labels(PAIRS))
    with pytest.raises(ValueError, match="XNLI: expected labels, found none"):
        TASKS["xnli"].score("de", [], [])
