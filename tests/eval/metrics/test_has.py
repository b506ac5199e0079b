"""Boundaries per message: words with known boundaries, the shuffled control, invariances, degenerate corpora."""

from functools import partial
from itertools import chain

import numpy as np
import pytest
from languages import score_of

from ecsuite.eval.metrics.conclusions import p_value
from ecsuite.eval.metrics.word_statistics import has, shuffle_symbols
from ecsuite.runtime.ragged import Ragged

score = partial(score_of, has)
LEXICON = [[0, 1, 2], [3, 4], [5, 6, 7, 8], [9, 10]]


def three_words(num_messages):
    rng = np.random.default_rng(0)
    return [list(chain(*(LEXICON[i] for i in rng.integers(0, 4, 3)))) for _ in range(num_messages)]


def test_words():
    result = score(three_words(300))
    assert result.value == 2
    assert result.ci95 == (2, 2)
    assert result.details["segments"] == 4
    assert result.details["segment_length"] == pytest.approx(11 / 4, abs=0.1)
    assert result.chance.high < 1
    assert p_value(result) < 0.05
    assert result.details["shuffled"]["segments"] > 100
    assert [bits for bits, _ in result.details["by_threshold"]] == [0.0, 0.4, 1.2]
    assert result.signature == "has|threshold:0.8|starts:all|eos:strip|n:300|v:2"


def test_constant_messages_have_no_boundary():
    result = score([[1, 2, 3]] * 20)
    assert (result.value, result.ci95, result.details["segments"]) == (0, (0, 0), 1)


def test_the_control_keeps_lengths_and_symbols():
    rows = Ragged.from_rows(three_words(30))
    shuffled = shuffle_symbols(rows, np.arange(len(rows)), np.random.default_rng(0))
    assert shuffled.lengths.tolist() == rows.lengths.tolist()
    assert sorted(shuffled.values.tolist()) == sorted(rows.values.tolist())
    assert shuffled.values.tolist() != rows.values.tolist()


def test_short_messages_have_no_boundary():
    result = score([[1], [], [2, 3]])
    assert (result.value, result.ci95) == (0, None)
