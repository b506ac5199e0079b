"""Span F1 on small sentences; several figures are also from seqeval 0.0.12."""

import pytest

from ecsuite.eval.xtreme.scoring.labels import span_scores


def f1(predicted, gold):
    return span_scores([predicted.split()], [gold.split()])["f1"]


def test_runs_of_bare_tags_are_spans():
    found = span_scores([["DET", "NOUN", "VERB", "VERB"]], [["DET", "NOUN", "NOUN", "VERB"]])
    # DET is right; NOUN is 1-1 for 1-2, VERB 2-3 for 3-3
    assert found == pytest.approx({"f1": 100 / 3, "precision": 100 / 3, "recall": 100 / 3, "accuracy": 75})


@pytest.mark.parametrize(
    ("predicted", "gold", "expected"),
    [
        ("B-PER I-PER O B-LOC", "B-PER I-PER O B-LOC", 100),
        ("B-PER I-PER O O", "B-PER I-PER O B-LOC", 200 / 3),
        ("B-PER B-PER", "B-PER I-PER", 0),  # two spans of one word
        ("I-PER I-PER", "B-PER I-PER", 100),  # a span may begin with I
        ("B-PER I-LOC", "B-PER B-LOC", 100),  # another type begins another span
        ("B-PER", "B-LOC", 0),
        ("S-PER S-PER E-PER", "B-PER B-PER B-PER", 100),
        ("B-PER E-PER I-PER", "B-PER I-PER B-PER", 100),  # a span ends after E
        ("SCONJ SCONJ", "SYM SYM", 0),
        ("CCONJ NOUN", "SCONJ NOUN", 50),  # seqeval from 1.0 on: 100
        ("SYM SYM NOUN", "SYM SYM SYM", 200 / 3),  # S is a span of its own
        ("INTJ INTJ NOUN", "INTJ INTJ INTJ", 0),
        ("NOUN NOUN NOUN", "NOUN NOUN VERB", 0),
        (". . .", "NOUN NOUN VERB", 0),  # as seqeval has it, `.` is outside
        ("B-a-X I-b-X", "B-X I-X", 100),  # a type is what follows the last hyphen
    ],
)
def test_known_answers(predicted, gold, expected):
    assert f1(predicted, gold) == pytest.approx(expected)


def test_no_spans():
    assert span_scores([["O", "O"]], [["O", "O"]]) == {"f1": 0, "precision": 0, "recall": 0, "accuracy": 100}
    assert span_scores([], []) == {"f1": 0, "precision": 0, "recall": 0, "accuracy": 0}


def test_spans_end_with_the_sentence():
    assert span_scores([["NOUN"], ["NOUN"]], [["NOUN"], ["NOUN"]])["f1"] == 100
    apart = span_scores([["NOUN"], ["VERB"]], [["NOUN"], ["NOUN"]])
    assert (apart["precision"], apart["recall"]) == (
        50,
        50,
    )  # were it one span of two words, nothing were right


def test_precision_and_recall_are_symmetric():
    gold, predicted = [["DET", "NOUN", "NOUN", "VERB"]], [["DET", "NOUN", "VERB", "NOUN"]]
    one, other = span_scores(predicted, gold), span_scores(gold, predicted)
    assert (one["precision"], one["recall"]) == (other["recall"], other["precision"])
    assert (one["precision"], one["recall"]) == pytest.approx((25, 100 / 3))  # four spans for three


def test_sizes_must_agree():
    for predicted in ([["NOUN"]], [["NOUN"], ["NOUN", "NOUN"]]):
        with pytest.raises(ValueError, match="the same number of predicted and gold tags in every sentence"):
            span_scores(predicted, [["NOUN"], ["VERB"]])
    with pytest.raises(ValueError, match="got an empty tag"):
        span_scores([[""]], [["NOUN"]])
