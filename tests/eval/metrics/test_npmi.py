"""NPMI of whole messages and meanings, and of words and concepts: known languages, reference implementations."""

from collections import Counter
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from languages import grid, score_of

from ecsuite.eval.metrics.associations import ncnpmi, npmi
from ecsuite.eval.metrics.conclusions import p_value

GRID = np.tile(grid(3, 3), (4, 1))
score = partial(score_of, ncnpmi)


def slow_npmi(messages, meanings):
    """The weighted mean, from counted pairs."""
    pairs = list(zip(map(tuple, messages), map(tuple, meanings), strict=True))
    of_message, of_meaning = (Counter(side) for side in zip(*pairs, strict=True))
    total = 0.0
    for (message, meaning), count in Counter(pairs).items():
        together = count / len(pairs)
        apart = of_message[message] * of_meaning[meaning] / len(pairs) ** 2
        total += together * np.log(together / apart) / -np.log(together)
    return total


def test_a_half_is_not_above_half():
    result = score([[0], [0], [1], [1]], [[0], [1], [2], [3]])
    assert (result.value, result.details["above_half"]) == (0.5, 0)


def test_messages_that_never_recur_score_high_and_the_null_says_so():
    result = score(np.arange(36)[:, None], GRID)
    assert result.value == pytest.approx(np.log(9) / np.log(36))
    assert result.chance.level == pytest.approx(result.value)
    assert p_value(result) == 1


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_definition(seed):
    rng = np.random.default_rng(seed)
    num_rows = int(rng.integers(2, 30))
    messages = [rng.integers(0, 2, rng.integers(0, 3)).tolist() for _ in range(num_rows)] + [[0], [1]]
    meanings = rng.integers(0, 3, (num_rows + 2, 1))
    assert score(messages, meanings).value == pytest.approx(slow_npmi(messages, meanings.tolist()))


def test_emlangkit_agrees_where_pairs_occur():
    """NPMI of pairs by emlangkit 0.3.0 (commit f34adae3, `metrics/nc_npmi.py`), run on this; elsewhere it has NaN."""
    of_rows = [1.0, 1.0, 0.6131471927654584, 0.0, 0.38685280723454163, 0.38685280723454163]
    messages, meanings = [[1, 1], [1, 1], [1, 2], [1, 2], [2, 2], [2, 1]], [[0], [0], [1], [2], [2], [2]]
    result = score(messages, meanings)
    assert result.value == pytest.approx(np.mean(of_rows))
    assert result.details["above_half"] == pytest.approx(3 / 6)


def slow_best_npmi(messages, phrases):
    """The mean over concepts, weighted by frequency, of the highest NPMI with a word, from sets."""
    number, total, weights = len(messages), 0.0, 0
    for concept in set().union(*phrases):
        about, found = sum(concept in meant for meant in phrases), [-1.0]
        if about == number:
            continue
        for word in set().union(*map(set, messages)):
            rows = zip(messages, phrases, strict=True)
            both = sum(word in said and concept in meant for said, meant in rows) / number
            if both:
                with_word = sum(word in said for said in messages) / number
                found.append(np.log(both / with_word / (about / number)) / -np.log(both))
        total, weights = total + about * max(found), weights + about
    return total / weights if weights else None


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_definition_of_words_and_concepts(seed):
    rng = np.random.default_rng(seed)
    num_rows = int(rng.integers(1, 12))
    messages = [rng.integers(0, 4, rng.integers(0, 4)).tolist() for _ in range(num_rows)] + [[1]]
    phrases = [sorted(set(rng.integers(0, 5, rng.integers(0, 4)).tolist())) for _ in range(num_rows)] + [[2]]
    expected = slow_best_npmi(messages, [set(phrase) for phrase in phrases])
    result = score_of(npmi, messages, concepts=phrases)
    assert result.value == (None if expected is None else pytest.approx(expected))
    assert expected is not None or result.reason == "every concept is in all messages"


def test_words_and_concepts_by_hand():
    """Each of two symbols is shared by two of four values: log(1/4 / (1/4 1/2)) / -log 1/4 is 1/2."""
    assert score_of(npmi, [[0], [0], [1], [1]], [[0], [1], [2], [3]]).value == pytest.approx(1 / 2)
    assert score_of(npmi, np.add(GRID, [0, 3]), GRID).value == pytest.approx(
        1
    )  # symbols of its own for each value
    assert score_of(npmi, [[7, 7]] * len(GRID), GRID).value == 0
