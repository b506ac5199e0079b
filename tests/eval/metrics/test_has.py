"""Boundaries per message: words with known boundaries, the shuffled control, invariances, degenerate corpora."""

from itertools import chain

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ecsuite.corpus import Corpus, Ragged
from ecsuite.eval.metrics.has import has, shuffle_symbols
from ecsuite.eval.metrics.score import Options

LEXICON = [[0, 1, 2], [3, 4], [5, 6, 7, 8], [9, 10]]


def score(messages, **known):
    return has(Corpus(messages=Ragged.from_rows(messages), **known), Options())[0]


def three_words(num_messages):
    rng = np.random.default_rng(0)
    return [list(chain(*(LEXICON[i] for i in rng.integers(0, 4, 3)))) for _ in range(num_messages)]


def test_words():
    result = score(three_words(300))
    assert result.value == 2
    assert result.ci95 == (2, 2)
    assert result.details["segments"] == 4
    assert result.details["segment_length"] == pytest.approx(11 / 4, abs=0.1)
    assert result.details["null_high"] < 1
    assert result.details["p_value"] == 0.1
    assert result.details["shuffled"]["segments"] > 100
    assert [bits for bits, _ in result.details["by_threshold"]] == [0.0, 0.4, 1.2]
    assert result.signature == "has|threshold:0.8|starts:all|eos:strip|v:2"


def test_a_random_language_is_not_unlike_its_control():
    messages = np.random.default_rng(1).integers(0, 5, (200, 6))
    result = score(messages)
    assert result.details["null_low"] - 0.2 <= result.value <= result.details["null_high"] + 0.2
    assert result.details["p_value"] > 0.1


def test_constant_messages_have_no_boundary():
    result = score([[1, 2, 3]] * 20)
    assert (result.value, result.ci95, result.details["segments"]) == (0, (0, 0), 1)


def test_the_control_keeps_lengths_and_symbols():
    rows = Ragged.from_rows(three_words(30))
    shuffled = shuffle_symbols(rows, np.random.default_rng(0))
    assert shuffled.lengths.tolist() == rows.lengths.tolist()
    assert sorted(shuffled.values.tolist()) == sorted(rows.values.tolist())
    assert shuffled.values.tolist() != rows.values.tolist()


def test_nothing_after_eos_counts():
    messages = three_words(50)
    marked = [[*row, 99, i] for i, row in enumerate(messages)]
    assert score(marked, eos=99).value == score(messages).value


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_renaming_and_reordering_change_nothing(seed):
    rng = np.random.default_rng(seed)
    messages = [rng.integers(0, 4, rng.integers(0, 7)).tolist() for _ in range(30)] + [[0]]
    names = rng.permutation([0, 1, 70_000, 2**31 - 1]).tolist()
    renamed = [[names[symbol] for symbol in messages[i]] for i in rng.permutation(31)]
    first, other = score(messages), score(renamed)
    assert other.value == pytest.approx(first.value)
    assert other.details["segments"] == first.details["segments"]


@pytest.mark.parametrize("messages", [[], [[]], [[], []]])
def test_undefined(messages):
    result = score(messages)
    assert (result.value, result.reason) == (None, "every message is empty")


def test_short_messages_have_no_boundary():
    result = score([[1], [], [2, 3]])
    assert (result.value, result.ci95) == (0, None)
