"""What participants' answers come to, from rows made by hand whose figures are known."""

import pytest

from ecsuite.grammars.icy import canonical
from ecsuite.people.codes_report import evaluate_rule
from ecsuite.people.kinds import Record
from ecsuite.people.study import Study

STUDY = Study(name="made", min_score=50, min_accuracy=0.5)
MINUTE = 60.0


def record(
    number=1,
    dataset="synth",
    grammar="concat",
    score=50,
    stage="finished",
    training="11",
    held_out="1",
    check="",
):
    """A participant with answers of three kinds, 1 for a right one, a minute from each to the next."""
    kinds = [*("training" for _ in training), *("held_out" for _ in held_out), *("attention" for _ in check)]
    answers = [
        {
            "kind": kind, "example": place, "is_right": int(is_right), "shown_at": MINUTE * place,
            "answered_at": MINUTE * (place + 1),
        } for place,
        (kind, is_right) in enumerate(zip(kinds, training + held_out + check, strict=True))
    ]  # fmt: skip
    row = {"id": number, "dataset": dataset, "grammar": grammar, "score": score, "stage": stage}
    return Record(row=row, answers=answers)


def test_languages_are_compared_within_a_dataset():
    records = [
        record(number, dataset, grammar, held_out="111" if grammar == "concat" else "100") for number,
        (dataset, grammar) in enumerate(2 * [("synth", "concat"), ("synth", "perm"), ("eng", "concat")])
    ]  # fmt: skip
    (difference,) = evaluate_rule(STUDY, records, "published").differences
    assert (difference.source, difference.baseline) == (canonical("concat"), canonical("perm"))
    assert difference.details == {"dataset": "synth"}
    assert difference.mean == pytest.approx(2 / 3)
