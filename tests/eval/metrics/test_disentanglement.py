"""posdis, bosdis, MIG, DCI and conflict count: constructed languages, reference implementations, other programs."""

import itertools
from collections import Counter, defaultdict
from functools import partial

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from languages import grid, plain_entropy, score_of, scores_of
from sklearn.naive_bayes import CategoricalNB

from ecsuite.eval.counts.counting import row_of
from ecsuite.eval.metrics.disentanglement import (
    Observations,
    accuracy,
    bosdis,
    conflict_count,
    dci,
    gaps_of_variables,
    merged,
    mig,
    posdis,
)
from ecsuite.runtime.ragged import Ragged

GRID = grid(3, 4)


def scores(*rows, **known):
    return [score_of(metric, *rows, **known) for metric in (posdis, bosdis)]


def values(*rows, **known):
    return [score.value for score in scores(*rows, **known)]


def slow_disentanglement(variables, meanings):
    """Reference implementation: mean gap over the non-constant variables, entropies from counted Python objects."""
    gaps = []
    for variable in variables:
        information = sorted(
            plain_entropy(variable) + plain_entropy(list(column)) - plain_entropy(list(zip(variable, column)))  # noqa: B905
            for column in meanings.T.tolist()
        )
        if len(set(variable)) > 1:
            gaps.append((information[-1] - information[-2]) / plain_entropy(variable))
    varies = any(len(set(column)) > 1 for column in meanings.T.tolist())
    return sum(gaps) / len(gaps) if gaps and varies else None


@settings(max_examples=8, deadline=None)
@given(st.integers(0, 2**32 - 1), st.booleans())
@example(59953, False)  # two messages with equal meanings
def test_definitions(seed, fixed_length):
    rng = np.random.default_rng(seed)
    num_rows = int(rng.integers(1, 15))
    lengths = np.full(num_rows, 3) if fixed_length else rng.integers(0, 4, num_rows)
    messages = [rng.integers(1, 5, length).tolist() for length in lengths]
    meanings = rng.integers(0, 3, (num_rows, 3))
    blanks = [row + ["blank"] * (3 - len(row)) for row in messages]
    bags = [[row.count(symbol) for row in messages] for symbol in range(1, 5)]
    expected = [
        slow_disentanglement(list(zip(*blanks, strict=True)), meanings),
        slow_disentanglement(bags, meanings),
    ]
    assert values(messages, meanings) == [None if v is None else pytest.approx(v) for v in expected]


def test_known_languages():
    # The same symbols in varying order: counts of symbols have information that positions do not have.
    messages = [row[:: 1 if i % 2 else -1] for i, row in enumerate(np.add(GRID, [10, 20]).tolist())]
    positional, bag = values(messages, GRID)
    assert bag == pytest.approx(1) and positional < 0.6
    assert values([[7, *row] for row in np.add(GRID, [10, 20]).tolist()], GRID)[0] == pytest.approx(1)
    # Unary numbers: the message length encodes only the first attribute.
    assert values([[5] * row[0] for row in GRID], GRID) == pytest.approx([1, 1])
    positional, bag = scores([[1, 2], [2, 1]], [[0, 0], [1, 0]])
    assert positional.value == 1 and bag.reason == "every symbol is constant over all messages"


def test_some_rows_of_observations_are_those_of_the_corpus_of_these_rows():
    rng = np.random.default_rng(0)
    rows = [rng.integers(0, 4, rng.integers(0, 4)).tolist() for _ in range(30)]
    meanings = rng.integers(0, 3, (30, 2))
    chosen = np.array([1, 4, 5, 9, 20, 29])
    content = Ragged.from_rows(rows)
    position = np.concatenate([np.arange(len(row)) for row in rows]).astype(np.int64)
    whole = Observations.of((position, row_of(content), content.values), 30)
    for most in (0, 9):  # each attribute alone, and both as one
        [(part,)] = whole.figures([(chosen, chosen)], merged(meanings.T, most), gaps_of_variables)
        assert part == pytest.approx(values([rows[i] for i in chosen], meanings[chosen])[0])


def test_mig_by_hand():
    # The first position tells both values of the first attribute, the second one bit of the two of the other.
    meanings = grid(2, 4)
    score = score_of(mig, np.stack([meanings[:, 0], meanings[:, 1] // 2], axis=1), meanings)
    assert score.value == pytest.approx((1 / 1 + 1 / 2) / 2)
    assert score.signature == "mig|past_end:blank|eos:strip|n:8|v:1"
    assert score_of(mig, np.add(GRID, [10, 20]), GRID).value == pytest.approx(1)
    both = np.concatenate([np.add(GRID, [10, 20]), np.add(GRID, [10, 20])[:, ::-1]])
    assert score_of(mig, both, np.tile(GRID, (2, 1))).value == pytest.approx(0)  # free order
    assert score_of(mig, np.arange(12)[:, None], GRID).value == pytest.approx(
        1
    )  # a name of the whole meaning
    assert score_of(mig, np.repeat(GRID, 2, axis=1), GRID).value == pytest.approx(0)  # all is said twice


def dci_values(*rows):
    return [score.value for score in scores_of(dci, *rows)]


def test_dci_by_hand():
    # The first position tells 1 bit of the first attribute, the second 1 bit of each, the third nothing.
    meanings = grid(2, 2)
    messages = np.stack([meanings[:, 0], 2 * meanings[:, 0] + meanings[:, 1], [7, 7, 7, 7]], axis=1)
    disentanglement, completeness, _ = dci_values(messages, meanings)
    assert disentanglement == pytest.approx(
        1 / 3
    )  # 1 of the first, which has a third of the bits; 0 of the second
    assert completeness == pytest.approx(1 / 2)  # 0 of the first attribute, 1 of the second
    assert dci_values(messages[:, :2], meanings)[2] == pytest.approx(1 / 2)  # see the next test
    # The four symbols of the second position are names: of a new meaning they tell nothing.
    meanings = grid(2, 2)
    names = 2 * meanings[:, :1] + meanings[:, 1:]
    assert dci_values(names, meanings) == [None, None, pytest.approx(1 / 2)]
    assert dci_values(np.add(meanings, [0, 2]), meanings) == pytest.approx([1, 1, 1])
    assert dci_values(np.add(GRID, [0, 3])[:, ::-1], GRID) == pytest.approx([1, 1, 1])
    meanings = grid(4, 4)
    both = np.concatenate([np.add(meanings, [10, 20]), np.add(meanings, [10, 20])[:, ::-1]])
    assert dci_values(both, np.tile(meanings, (2, 1))) == pytest.approx([0, 0, 1])  # free order
    assert dci_values(np.repeat(GRID, 2, axis=1), GRID)[:2] == pytest.approx([1, 1 / 2])  # all is said twice
    assert dci_values([[7, 7]] * 12, GRID) == [None, None, pytest.approx((1 / 3 + 1 / 4) / 2)]


@pytest.mark.parametrize("seed", range(3))
def test_accuracy_is_that_of_scikit_learn(seed):
    """Where each symbol is seen with each value, its classifier is the same but for the smallest probabilities."""
    rng = np.random.default_rng(seed)
    meanings = rng.integers(0, 3, (300, 2))
    messages = np.where(rng.random((300, 3)) < 0.4, meanings[:, [0, 1, 0]], rng.integers(0, 4, (300, 3)))
    unit = meanings @ [3, 1]
    shares = []
    for column in meanings.T:
        for left_out in range(9):
            asked = unit == left_out
            model = CategoricalNB(alpha=1e-10, force_alpha=True, fit_prior=False, min_categories=4)
            model.fit(messages[~asked], column[~asked])
            shares.append((model.predict(messages[asked]) == column[asked]).sum())
    assert accuracy(messages.T, meanings.T, unit) == pytest.approx(sum(shares) / 600)


conflicts = partial(score_of, conflict_count)


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


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 5))
def test_definition_of_conflict_count(seed, width):
    rng = np.random.default_rng(seed)
    num_rows = int(rng.integers(1, 20))
    messages, meanings = rng.integers(0, 4, (num_rows, width)), rng.integers(0, 3, (num_rows, width))
    assert conflicts(messages, meanings).value == slow_count(messages, meanings)


def test_known_conflict_counts():
    # 36, by measuring-non-trivial-compositionality, commit 2b365626, `metrics/conflict_count.py`, run on this.
    messages = np.random.default_rng(0).integers(0, 4, (27, 3))
    assert conflicts(messages, grid(3, 3, 3)).value == 36
    # Twelve positions are 479,001,600 permutations.
    meanings = np.random.default_rng(0).integers(0, 5, (50, 12))
    order = np.random.default_rng(1).permutation(12)
    assert conflicts(meanings[:, order], meanings).value == 0
