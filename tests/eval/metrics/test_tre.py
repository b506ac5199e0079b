"""TRE7 and its least absolute deviations: known answers, other solvers, and gradient descent as an upper bound."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from ecsuite.eval.metrics import tre as module
from ecsuite.eval.metrics.conclusions import p_value
from languages import grid, score_of

GRID = grid(3, 4)
CONCATENATION = np.add(GRID, [10, 20])
score, plain_score = partial(score_of, module.tre7), partial(score_of, module.plain_tre7)


def slow_error(design, target):
    """The usual linear programme of the regression: parameters, and positive and negative residuals."""
    num_rows, width = design.shape
    cost = np.r_[np.zeros(width), np.ones(2 * num_rows)]
    constraints = np.c_[design, np.eye(num_rows), -np.eye(num_rows)]
    bounds = [(None, None)] * width + [(0, None)] * 2 * num_rows
    return linprog(cost, A_eq=constraints, b_eq=target, bounds=bounds).fun


def indicators(meanings):
    """All indicators, including redundant ones."""
    return np.concatenate([column[:, None] == np.unique(column) for column in meanings.T], axis=1) * 1.0


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_definition(seed):
    rng = np.random.default_rng(seed)
    messages, meanings = rng.integers(1, 4, (14, 3)), rng.integers(0, 3, (14, 2))
    tables = np.concatenate([messages == symbol for symbol in (1, 2, 3)], axis=1) * 1.0
    expected = sum(slow_error(indicators(meanings), table) for table in tables.T) / 14
    assert plain_score(messages, meanings).value == pytest.approx(expected, abs=1e-7)


def test_known_languages():
    result = score(CONCATENATION, GRID)
    assert result.value == 0 and result.details.items() >= {"num_objects": 12, "share": 0.0}.items()
    assert p_value(result) <= 0.2 and result.chance.low > 1
    assert result.signature == ("tre7|compose:sum|error:l1|fit:optimum|past_end:blank|eos:strip|n:12|v:3")
    # No sum of parts is closer to x xor y than a constant is.
    meanings = grid(2, 2)
    result = score((meanings[:, :1] ^ meanings[:, 1:]) + 1, meanings)
    assert result.value == pytest.approx(1) and result.details["share"] == pytest.approx(1)
    meanings = grid(3, 3, 3)
    result = score(np.arange(27)[:, None], meanings)
    assert result.value == pytest.approx(1) and result.details["share"] == pytest.approx(1)
    # Unary numbers: positions after the end are blank, so each position encodes the first attribute.
    assert score([[5] * row[0] for row in GRID], GRID).value == 0


def test_large_corpora_are_sampled():
    meanings = grid(19, 19)
    messages = np.random.default_rng(0).integers(1, 3, (361, 1))
    first, again, other = (score(messages, meanings, seed=seed) for seed in (3, 3, 4))
    assert first == again and first.value != other.value
    assert first.details["num_objects"] == module.NUM_OBJECTS and "|objects:300|seed:3|" in first.signature


def test_noise_scores_about_as_chance_does(all_draws):
    """Free parts also fit noise: the value is below that of a constant, and so is the null distribution."""
    rng = np.random.default_rng(1)
    result = score(rng.integers(0, 2, (60, 2)), rng.integers(0, 5, (60, 2)))
    assert result.details["share"] < 0.95 and result.value == pytest.approx(result.chance.level, rel=0.1)
    assert result.chance.high < result.value / result.details["share"]
    assert result.ci95[0] < result.value < result.ci95[1]
    assert len(result.chance.draws) == result.details["subsamples"] == 20
    assert result.chance.compared is None and "null_columns" not in result.details


def test_nulls_of_few_columns_have_all_and_those_of_many_are_drawn():
    rng = np.random.default_rng(0)
    meanings = rng.integers(0, 3, (60, 2))
    messages = np.where(rng.random((60, 2)) < 0.3, rng.integers(0, 12, (60, 2)), meanings)
    result = score(messages, meanings)
    assert result.details["null_columns"] <= 16 and p_value(result) < 0.05
    assert result.chance.compared == pytest.approx(result.value, rel=0.2)
    assert result.chance.compared < result.chance.low
    assert result.value == plain_score(messages, meanings).value
    # Sixteen columns are few enough to use all; a seventeenth is one for every message.
    meanings = np.random.default_rng(0).integers(0, 2, (32, 2))
    messages = np.stack([np.arange(32) % 16, np.full(32, 99)], axis=1)
    assert "null_columns" not in score(messages, meanings).details


def test_free_indicators_are_a_basis():
    meanings = np.array([[0, 0, 1], [0, 0, 1], [1, 1, 0], [2, 1, 1], [2, 1, 0], [1, 1, 1]])
    design = module.free_indicators(meanings)
    assert design.shape[1] == np.linalg.matrix_rank(indicators(meanings)) == 4
    both = np.concatenate([design, indicators(meanings)], axis=1)
    assert np.linalg.matrix_rank(both) == np.linalg.matrix_rank(design) == 4


def test_least_absolute_errors_by_hand(monkeypatch):
    targets = np.array([[0.0, 1, 2, 10, 100], [5.0] * 5, [0.0] * 5])
    found = list(module.least_absolute_errors(np.ones((5, 1)), targets))
    assert found == pytest.approx([2 + 1 + 8 + 98, 0, 0])
    # Some columns are then 0 or sums of others: the equations of each step have no single solution.
    meanings = np.repeat(np.arange(6), 4)[:, None]
    targets = np.tile([1.0, 0, 0, 1], (1, 6))
    is_used = np.arange(24)[None] >= 12
    assert list(module.least_absolute_errors(module.free_indicators(meanings), targets, is_used)) == [6]
    monkeypatch.setattr(module, "MAX_STEPS", 0)
    design = module.free_indicators(np.arange(12)[:, None] // 4)
    targets = np.tile([1.0, 1, 0, 1], (1, 3))
    assert list(module.least_absolute_errors(design, targets)) == pytest.approx([3])


@pytest.mark.parametrize("seed", range(4))
def test_simplex_finds_the_same(seed):
    """Of noise, where zero is often best, of what is meant with noise, and of any numbers; of all rows or half."""
    rng = np.random.default_rng(seed)
    meanings = rng.integers(0, 5, (80, 3))
    design, is_meant = module.free_indicators(meanings), meanings[:, :1] == np.arange(5)
    is_noise, numbers = rng.random((80, 20)) < 0.15, rng.normal(size=(80, 5)) * 1000
    targets = np.concatenate([is_noise, is_meant ^ is_noise[:, :5], is_meant, numbers], axis=1).T * 1.0
    is_used = np.ones(targets.shape, bool)
    is_used[::2] = rng.permutation(80) < 40
    pairs = zip(targets, is_used, strict=True)
    expected = [module.simplex_error(design[used], target[used]) for target, used in pairs]
    found = list(module.least_absolute_errors(design, targets, is_used))
    assert found == pytest.approx(expected, rel=1e-9, abs=1e-9)
