"""Span F1 on small sentences; several figures are also from seqeval 0.0.12."""

import pytest

from ecsuite.eval.xtreme.scoring.labels import span_scores


def f1(predicted, gold):
    return span_scores([predicted.split()], [gold.split()])["f1"]


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


def test_sizes_must_agree():
    for predicted in ([["NOUN"]], [["NOUN"], ["NOUN", "NOUN"]]):
        with pytest.raises(ValueError, match="the same number of predicted and gold tags in every sentence"):
            span_scores(predicted, [["NOUN"], ["VERB"]])
    with pytest.raises(ValueError, match="got an empty tag"):
        span_scores([[""]], [["NOUN"]])
