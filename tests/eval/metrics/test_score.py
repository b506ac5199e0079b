"""The score contract: a value or a reason, never NaN, and a signature."""

import math

import pytest

from ecsuite.eval.metrics.score import Score, Signature


def score(**changes):
    return Score(**{"name": "topsim", "value": 0.5, "about": "a test", "signature": "topsim|v:1"} | changes)


def test_json_in_reading_order():
    assert score(ci95=(0.4, 0.6), details={"num_pairs": 3}).to_json() == {
        "name": "topsim",
        "value": 0.5,
        "ci95": [0.4, 0.6],
        "chance": None,
        "about": "a test",
        "reason": None,
        "details": {"num_pairs": 3},
        "signature": "topsim|v:1",
    }


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_no_nan(value):
    with pytest.raises(ValueError, match=r"topsim: (nan|-?inf) is not a score; give None and a reason"):
        score(value=value)


def test_a_value_or_a_reason():
    with pytest.raises(
        ValueError, match="topsim: a score needs either a value or a reason, got None and None"
    ):
        score(value=None)
    with pytest.raises(
        ValueError, match=r"topsim: a score needs either a value or a reason, got 0\.5 and 'why'"
    ):
        score(reason="why")


def test_finite_interval():
    with pytest.raises(ValueError, match=r"topsim: the interval \(0.1, nan\) is not finite"):
        score(ci95=(0.1, math.nan))


def test_signature():
    assert Signature.of("topsim", 2, dist="lev/mean", n=9) == "topsim|dist:lev/mean|n:9|v:2"
