"""Zipf's law of abbreviation: languages with positive, negative and no correlation; comparison with SciPy."""

from collections import Counter
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from languages import scores_of
from scipy.stats import spearmanr

from ecsuite.eval.metrics.conclusions import p_value
from ecsuite.eval.metrics.word_statistics import zla

scores = partial(scores_of, zla)


def law_abiding(num_messages=60):
    """Message k has k symbols that no other message has; it is half as frequent as message k - 1."""
    lengths = [k for k in range(1, 6) for _ in range(num_messages >> k)]
    return [[10 * k + i for i in range(k)] for k in lengths]


def test_frequent_messages_are_short():
    in_segments, in_messages = scores(law_abiding())
    assert in_messages.value == pytest.approx(-1)
    assert in_segments.value == pytest.approx(-1)
    assert in_messages.signature == "zla_messages|units:messages|eos:strip|n:56|v:2"
    assert in_segments.signature == "zla_segments|units:has|threshold:0.8|eos:strip|n:56|v:2"


def test_frequent_messages_are_long():
    messages = law_abiding()
    longest = 6
    turned = [[100 * len(row) + i for i in range(longest - len(row))] for row in messages]
    assert scores(turned)[1].value == pytest.approx(1)


@settings(max_examples=15, deadline=None)
@given(st.lists(st.lists(st.integers(0, 1), max_size=3).map(tuple), min_size=1, max_size=40))
def test_scipy_agrees(messages):
    result = scores(messages)[1]
    counts = Counter(messages)
    frequency, length = list(counts.values()), [len(message) for message in counts]
    if len(set(frequency)) == 1 or len(set(length)) == 1:
        assert result.value is None
    else:
        assert result.value == pytest.approx(spearmanr(frequency, length).statistic)


def test_random_symbols_follow_the_law_and_so_does_their_null():
    rng = np.random.default_rng(0)
    messages = [rng.integers(0, 2, rng.integers(1, 7)).tolist() for _ in range(300)]
    result = scores(messages)[1]
    assert result.value < -0.5
    assert p_value(result) > 0.1
    assert result.chance.level == pytest.approx(result.value, abs=0.2)


def test_a_constant_language():
    assert [score.reason for score in scores([[1, 2]] * 12)] == [
        "all segments have the same length or the same frequency",
        "all messages have the same length or the same frequency",
    ]


def test_one_of_the_two_may_be_defined():
    """Messages of one length, made of words of two or three symbols with different frequencies."""
    rng = np.random.default_rng(1)
    kinds = [[0, 1, 2, 5, 6], [0, 1, 2, 3, 4], [5, 6, 0, 1, 2], [7, 8, 9, 3, 4]]
    messages = [kinds[min(int(rng.integers(0, 8)), 3)] for _ in range(200)]
    in_segments, in_messages = scores(messages)
    assert in_messages.reason == "all messages have the same length or the same frequency"
    assert -1 <= in_segments.value <= 1
