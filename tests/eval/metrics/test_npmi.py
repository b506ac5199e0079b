"""Non-compositional NPMI: constructed languages, a reference implementation, the results of another tool."""

import itertools
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ecsuite.corpus import Corpus, Ragged
from ecsuite.eval.metrics.npmi import ncnpmi
from ecsuite.eval.metrics.score import Options

GRID = np.array(list(itertools.product(range(3), range(3))) * 4)


def score(messages, meanings=None, **known):
    meanings = None if meanings is None else np.array(meanings)
    corpus = Corpus(messages=Ragged.from_rows(messages), meanings=meanings, **known)
    return ncnpmi(corpus, Options())[0]


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


@pytest.mark.parametrize("words", [np.arange(36) % 9, (np.arange(36) % 9)[::-1]], ids=["names", "others"])
def test_a_name_for_each_meaning(words):
    result = score(words[:, None], GRID)
    assert result.value == pytest.approx(1)
    assert result.ci95 == pytest.approx((1, 1))
    assert result.details["above_half"] == 1
    assert result.details["p_value"] == 0.1
    assert result.signature == "ncnpmi|unit:message|mean:weighted|label:attributes|eos:strip|v:2"


def test_constant_message_has_no_information():
    result = score([[7]] * 36, GRID)
    assert (result.value, result.details["null_mean"], result.details["p_value"]) == (0, 0, 1)


def test_independence_is_zero():
    rows = list(itertools.product(range(3), range(3)))
    assert score([[m] for m, _ in rows], [[o] for _, o in rows]).value == pytest.approx(0)


def test_random_language_scores_as_its_null():
    rng = np.random.default_rng(0)
    result = score(rng.integers(0, 3, (200, 2)), rng.integers(0, 3, (200, 2)))
    assert result.details["null_mean"] == pytest.approx(result.value, abs=0.03)


def test_messages_that_never_recur_score_high_and_the_null_says_so():
    result = score(np.arange(36)[:, None], GRID)
    assert result.value == pytest.approx(np.log(9) / np.log(36))
    assert result.details["null_mean"] == pytest.approx(result.value)
    assert result.details["p_value"] == 1


@settings(max_examples=60, deadline=None)
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


def test_sets_of_concepts_stand_in_for_attributes():
    concepts = Ragged.from_rows([[0, 1], [1, 0, 0], [2], [2]])
    result = score([[1], [1], [2], [2]], concepts=concepts)
    assert result.value == pytest.approx(1)
    assert "label:concepts" in result.signature


def test_nothing_after_eos_counts():
    messages = [[i % 9 + 1, 0, i] for i in range(36)]
    assert score(messages, GRID, eos=0).value == pytest.approx(1)


def test_renaming_and_reordering_change_nothing():
    rng = np.random.default_rng(1)
    messages, meanings = rng.integers(0, 3, (50, 2)), rng.integers(0, 3, (50, 2))
    order = rng.permutation(50)
    renamed = np.array([2**31 - 1, 0, 70_000])[messages[order]]
    named = np.array(["red", "green", "blue"])[meanings[order]]
    assert score(renamed, named).value == pytest.approx(score(messages, meanings).value)


@pytest.mark.parametrize(
    ("messages", "meanings", "reason"),
    [
        ([[1], [2]], None, "the corpus has neither attribute values nor concepts"),
        ([[1], [2]], [[0.5], [0.7]], "the corpus has neither attribute values nor concepts"),
        ([[1], [1]], [[0], [0]], "there is only one distinct message and one distinct meaning"),
        ([], np.zeros((0, 1), int), "there is only one distinct message and one distinct meaning"),
        ([[]], [[4]], "there is only one distinct message and one distinct meaning"),
    ],
)
def test_undefined(messages, meanings, reason):
    result = score(messages, meanings)
    assert (result.value, result.reason) == (None, reason)
