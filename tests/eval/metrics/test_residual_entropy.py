"""HCE and residual entropy: languages with known answers, and comparison with a reference implementation."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from languages import grid, plain_entropy, score_of

from ecsuite.eval.metrics import entropies as module
from ecsuite.eval.metrics.conclusions import p_value
from ecsuite.eval.metrics.entropies import (
    EntropyTables,
    exact_search,
    greedy_search,
    hce,
    plain_residual_entropy,
    residual_entropy,
)

GRID = grid(3, 4)
CONCATENATION = np.add(GRID, [10, 20])


def scores(messages, meanings, residual=residual_entropy):
    return [score_of(metric, messages, meanings) for metric in (hce, residual)]


def values(messages, meanings):
    return [score.value for score in scores(messages, meanings, plain_residual_entropy)]


def slow_residuals(messages, meanings, partition, normalised):
    """Reference implementation: residuals of an assignment, from counted Python objects."""
    residuals = []
    for attribute, column in enumerate(meanings.T.tolist()):
        own = [position for position, owner in enumerate(partition) if owner == attribute]
        said = [tuple(row) for row in messages[:, own].tolist()]
        left = plain_entropy(list(zip(said, column, strict=True))) - plain_entropy(said)
        residuals.append(left / plain_entropy(column) if normalised else left)
    return residuals


def slow_residual_entropy(messages, meanings, normalised):
    """Reference implementation: the minimum over all assignments."""
    partitions = itertools.product(range(meanings.shape[1]), repeat=messages.shape[1])
    return min(np.mean(slow_residuals(messages, meanings, partition, normalised)) for partition in partitions)


def random_language(seed, num_positions=4):
    rng = np.random.default_rng(seed)
    meanings = grid(3, 2, 2)
    return rng.integers(1, 4, (len(meanings), num_positions)), meanings


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_definitions(seed):
    messages, meanings = random_language(seed)
    greedy, exact = scores(messages, meanings, plain_residual_entropy)
    assert exact.value == pytest.approx(slow_residual_entropy(messages, meanings, True), abs=1e-9)
    assert exact.details["residual_bits"] == pytest.approx(
        slow_residual_entropy(messages, meanings, False), abs=1e-9
    )
    partition = [0] * 4
    for attribute in range(3):
        for position in greedy.details["positions"][f"attribute{attribute}"]:
            partition[position] = attribute
    residuals = slow_residuals(messages, meanings, partition, True)
    assert greedy.value == pytest.approx(1 - np.mean(residuals), abs=1e-9)
    assert list(greedy.details["residual_entropy"].values()) == pytest.approx(residuals, abs=1e-9)
    bits = np.mean(slow_residuals(messages, meanings, partition, False))
    assert greedy.details["residual_bits"] == pytest.approx(bits, abs=1e-9)


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_most_informative_attributes(seed):
    messages, meanings = random_language(seed)
    entropies = EntropyTables(messages.T, meanings.T, ("a", "b", "c"))
    for position, favourite in enumerate(entropies.most_informative()):
        said = messages[:, position].tolist()
        information = [
            plain_entropy(said) + plain_entropy(column) - plain_entropy(list(zip(said, column, strict=True)))
            for column in meanings.T.tolist()
        ]
        assert favourite == int(np.argmax(np.round(information, 9)))


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_greedy_search_lies_between_exact_search_and_hce(seed):
    messages, meanings = random_language(seed, num_positions=6)
    entropies = EntropyTables(messages.T, meanings.T, ("a", "b", "c"))
    weights = 1 / entropies.attribute_entropies
    exact, greedy, most_informative = (
        float(entropies.residuals(partition) @ weights)
        for partition in (
            exact_search(entropies, weights),
            greedy_search(entropies, weights),
            entropies.most_informative(),
        )
    )
    assert exact - 1e-9 <= greedy <= most_informative + 1e-9


def test_concatenation():
    compositional, residual = scores(CONCATENATION, GRID)
    assert (compositional.value, residual.value) == (1, 0)
    explained = {
        "positions": {"attribute0": [0], "attribute1": [1]},
        "residual_entropy": {"attribute0": 0.0, "attribute1": 0.0},
        "residual_bits": 0.0,
    }
    assert {key: compositional.details[key] for key in explained} == explained
    assert compositional.chance.level < 0.7
    assert p_value(compositional) <= 0.1


def test_running_sums_have_no_information_in_single_positions():
    """The second position alone has no information; as a tie it is assigned to the first attribute, without effect."""
    meanings = grid(4, 4)
    score, _ = scores(np.cumsum(meanings, axis=1) % 4, meanings)
    assert score.value == pytest.approx(0.5)
    assert score.details["positions"] == {"attribute0": [0, 1], "attribute1": []}


def test_constant_attributes_are_left_out():
    meanings = np.insert(GRID, 1, 5, axis=1)
    score, _ = scores(CONCATENATION, meanings)
    assert score.value == 1
    assert list(score.details["positions"]) == ["attribute0", "attribute2"]


def test_one_attribute_is_enough():
    assert values([[1], [2], [2]], [[0], [1], [1]]) == [1, 0]


def test_a_length_that_encodes_an_attribute():
    """Unary numbers: positions after the end are blank."""
    assert values([[5] * row[0] for row in GRID], GRID) == pytest.approx([0.5, 0.5])


def test_long_messages_are_searched_greedily(monkeypatch):
    monkeypatch.setattr(module, "MAX_EXACT_POSITIONS", 1)
    _, residual = scores(CONCATENATION, GRID)
    assert residual.value == 0
    assert "|search:greedy|" in residual.signature


def test_many_messages_are_searched_greedily(monkeypatch):
    monkeypatch.setattr(module, "EXACT_WORK", 2 * 9 << 2)
    nine = grid(3, 3)
    assert "|search:exact|" in scores(nine, nine, plain_residual_entropy)[1].signature
    assert "|search:greedy|" in scores(np.tile(nine, 2), nine, plain_residual_entropy)[1].signature


def test_codes_of_many_symbols_do_not_overflow():
    """70 positions of 12 symbols have more combinations than a 64-bit integer can count."""
    same = np.repeat(np.arange(12), 70).reshape(12, 70)
    other = np.random.default_rng(0).permuted(same, axis=0)
    messages = np.concatenate([same, other], axis=1)
    entropies = EntropyTables(messages.T, GRID.T, ("a", "b"))
    assert entropies.conditional_entropy(0, tuple(range(140))) == 0
    assert entropies.conditional_entropy(1, tuple(range(70))) == 0
    assert entropies.conditional_entropy(1, ()) == pytest.approx(2)


def test_the_null_of_hce_is_high_for_long_messages():
    """Messages of six random symbols are unique, so any positions determine any attribute."""
    rng = np.random.default_rng(0)
    result, _ = scores(rng.integers(0, 8, (100, 6)), rng.integers(0, 4, (100, 2)))
    assert result.value > 0.8
    assert result.chance.level > 0.6
    assert result.ci95[0] <= result.value <= result.ci95[1]


def noisy_language(num_rows, num_positions, num_values=3, share=0.5):
    """Two attributes, encoded by the first two positions in a share of the rows; all other symbols are random."""
    rng = np.random.default_rng(0)
    meanings = rng.integers(0, num_values, (num_rows, 2))
    messages = rng.integers(0, num_values, (num_rows, num_positions))
    is_clear = rng.random(num_rows) < share
    messages[is_clear, :2] = meanings[is_clear]
    return messages, meanings


def test_the_chance_level_is_lower_for_longer_messages():
    short, long = (
        scores(*noisy_language(150, positions, num_values=5, share=0.8))[1] for positions in (2, 5)
    )
    assert long.chance.level < short.chance.level - 0.1
    for result in (short, long):
        assert result.details["null_search"] == "exact"
        assert result.chance.compared is None
        assert result.value < result.chance.low
        assert p_value(result) < 0.05
        assert result.ci95[0] <= result.value <= result.ci95[1]


def test_draws_of_longer_messages_are_greedy(monkeypatch):
    """The value is still exact; another is compared with chance."""
    monkeypatch.setattr(module, "EXACT_WORK_RESAMPLED", 0)
    messages, meanings = noisy_language(40, 5)
    _, result = scores(messages, meanings)
    assert "|search:exact|" in result.signature
    assert result.details["null_search"] == "greedy"
    assert result.chance.distance(result.value) + result.chance.level >= result.value
    assert p_value(result) <= 0.1


@pytest.mark.slow
def test_of_many_rows_some_are_drawn(monkeypatch, all_draws):
    monkeypatch.setattr(module, "MAX_ROWS_RESAMPLED", 100)
    messages, meanings = noisy_language(400, 3, num_values=4)  # intervals need ten meanings
    _, some = scores(messages, meanings)
    monkeypatch.setattr(module, "MAX_ROWS_RESAMPLED", 200)
    _, all_attributes = scores(messages, meanings)
    assert some.value == all_attributes.value
    assert some.chance.num_rows == 100
    assert all_attributes.chance.num_rows is None
    assert some.chance.level < all_attributes.chance.level  # fewer rows tell more by chance
    assert some.chance.compared < some.value
    widths = [score.ci95[1] - score.ci95[0] for score in (some, all_attributes)]
    assert widths[0] == pytest.approx(widths[1], rel=0.4)


def test_half_of_the_rows_of_a_concatenation_are_one():
    rows = np.tile(GRID, (4, 1))
    result, _ = scores(np.add(rows, [10, 20]), rows)
    assert result.ci95 == (1, 1)


def test_long_messages_that_leave_nothing_are_not_searched_further(monkeypatch):
    """Each of two blocks of positions determines its attribute: no move can be better."""
    rng, asked = np.random.default_rng(0), []
    entropies = EntropyTables(rng.integers(0, 9, (60, 40)), rng.integers(0, 3, (2, 40)), ("a", "b"))
    plain = EntropyTables.conditional_entropy
    monkeypatch.setattr(
        EntropyTables, "conditional_entropy", lambda self, *given: asked.append(given) or plain(self, *given)
    )
    partition = greedy_search(entropies, 1 / entropies.attribute_entropies)
    assert entropies.residuals(partition).tolist() == [0.0, 0.0]
    assert len(asked) < 200
