"""Conflict count: constructed languages, comparison with all permutations and with another program."""

import itertools
from collections import Counter, defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ecsuite.corpus import Corpus, Ragged
from ecsuite.eval.metrics.conflict_count import conflict_count
from ecsuite.eval.metrics.score import Options

GRID = np.array(list(itertools.product(range(4), range(4))))
PERFECT = np.add(GRID, [10, 20])


def score(messages, meanings=None, **known):
    meanings = None if meanings is None else np.array(meanings)
    corpus = Corpus(messages=Ragged.from_rows(messages), meanings=meanings, **known)
    return conflict_count(corpus, Options())[0]


def slow_count(messages, meanings):
    """Reference implementation: minimum over all permutations of the rows outside the majority."""
    counts = []
    for attributes in itertools.permutations(range(meanings.shape[1])):
        votes = defaultdict(Counter)
        for said, meant in zip(messages.tolist(), meanings.tolist(), strict=True):
            for position, attribute in enumerate(attributes):
                votes[position, said[position]][meant[attribute]] += 1
        counts.append(sum(vote.total() - max(vote.values()) for vote in votes.values()))
    return min(counts)


def test_perfect_language():
    result = score(PERFECT, GRID)
    assert (result.value, result.ci95, result.details["share"]) == (0, (0, 0), 0)
    assert result.details["p_value"] == 0.1
    assert result.signature == "conflict_count|unit:rows|eos:strip|v:2"


def test_positions_may_be_permuted_and_words_shared():
    assert score(GRID[:, ::-1], GRID).value == 0


def test_constant_message():
    """One symbol a position means one of four values: three quarters are conflicts."""
    result = score([[7, 7]] * 16, GRID)
    assert (result.value, result.details["share"]) == (24, 0.75)
    assert result.details["p_value"] == 1


def test_one_odd_message():
    messages = PERFECT.copy()
    messages[5] = messages[0]
    assert score(messages, GRID).value == 2


def test_random_language_conflicts_as_its_null():
    rng = np.random.default_rng(0)
    result = score(rng.integers(0, 4, (300, 2)), rng.integers(0, 4, (300, 2)))
    assert result.details["null_mean"] == pytest.approx(result.value, rel=0.05)
    assert result.details["null_low"] > 300


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 4))
def test_definition(seed, width):
    rng = np.random.default_rng(seed)
    num_rows = int(rng.integers(1, 20))
    messages, meanings = rng.integers(0, 4, (num_rows, width)), rng.integers(0, 3, (num_rows, width))
    assert score(messages, meanings).value == slow_count(messages, meanings)


def test_korbak_et_al_agree():
    """36, by measuring-non-trivial-compositionality, commit 2b365626, `metrics/conflict_count.py`, run on this."""
    messages = np.random.default_rng(0).integers(0, 4, (27, 3))
    assert score(messages, list(itertools.product(range(3), repeat=3))).value == 36


def test_many_attributes_need_no_search():
    """Twelve positions are 479,001,600 permutations."""
    meanings = np.random.default_rng(0).integers(0, 5, (50, 12))
    order = np.random.default_rng(1).permutation(12)
    assert score(meanings[:, order], meanings).value == 0


def test_nothing_after_eos_counts():
    assert score([[*row, 0, i] for i, row in enumerate(PERFECT.tolist())], GRID, eos=0).value == 0


@settings(max_examples=20, deadline=None)
@given(st.randoms(use_true_random=False))
def test_renaming_and_reordering_change_nothing(random):
    names = random.sample([0, 1, 70_000, 2**20, 2**31 - 2, 2**31 - 1], 6)
    rng = np.random.default_rng(random.getrandbits(32))
    symbols, meanings = rng.integers(0, 6, (12, 3)), rng.integers(0, 3, (12, 3))
    order = rng.permutation(12)
    renamed = [[names[symbol] for symbol in row] for row in symbols[order]]
    other_meanings = np.array(["red", "green", "blue"])[meanings[order]][:, ::-1]
    assert score(renamed, other_meanings).value == score(symbols, meanings).value


@pytest.mark.parametrize(
    ("messages", "meanings", "reason"),
    [
        ([[1], [2]], None, "the corpus has no meanings"),
        ([[1], [2]], [[0.5], [1.0]], "features are not attribute values"),
        ([[], []], [[0, 0], [0, 1]], "every message is empty"),
        ([[1, 2, 3]], [[0, 0]], "expected 2 symbols per message (one per attribute), got 3"),
        ([[1, 2], [1]], [[0, 0], [0, 1]], "expected 2 symbols per message (one per attribute), got 1 to 2"),
    ],
)
def test_undefined(messages, meanings, reason):
    result = score(messages, meanings)
    assert (result.value, result.reason) == (None, reason)


def test_one_row():
    result = score([[3, 4]], [[0, 1]])
    assert (result.value, result.ci95) == (0, None)
