"""Variation: languages with known values, a reference implementation, the figures of both authors' programs."""

from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from languages import corpus_of, grid, plain_entropy

from ecsuite.eval.metrics import find_metric

GRID = grid(4, 4)
CONCAT = np.add(GRID, [0, 4])
CONSTANT = np.full_like(GRID, 3)
IRREGULAR = np.array([[a, 4 + b] if (a + b) % 3 else [4 + b, 4 + a] for a, b in GRID.tolist()])


def scores(messages, meanings, options=""):
    return find_metric(f"variation{options}")(corpus_of(messages, meanings))


def values(*rows):
    """Synonymy, homonymy, freedom, entanglement."""
    return [score.value for score in scores(*rows)]


def slow_variation(messages, meanings, program):
    """Each measure from lists of symbols and values, spelled out."""
    length = max(map(len, messages))
    messages = [[*row, *["blank"] * (length - len(row))] for row in messages]
    symbols = sorted({symbol for row in messages for symbol in row}, key=str)
    most = np.log2(max(2, len(symbols)))
    synonymy, homonymy, freedom, profiles = [], [], [], []
    for column in np.transpose(meanings).tolist():
        present = sorted(set(column))
        if len(present) < 2:
            continue
        said = {
            (value, j): [row[j] for row, own in zip(messages, column, strict=True) if own == value]
            for value in present
            for j in range(length)
        }
        bits = {key: plain_entropy(some) for key, some in said.items()}
        synonymy.append(np.mean([min(bits[value, j] for j in range(length)) for value in present]) / most)
        profiles.append([np.mean([bits[value, j] for value in present]) for j in range(length)])
        freedom.append(min(profiles[-1]) / most)
        spread = {}
        for j in range(length):
            for symbol in symbols:
                shares = np.array([Counter(said[v, j])[symbol] / len(said[v, j]) for v in present])
                if shares.sum():
                    shares = shares[shares > 0] / shares.sum()
                    spread[symbol, j] = -(shares * np.log2(shares)).sum() / np.log2(len(present))
        if program == "celebi":
            least = [min(spread.get((symbol, j), 0) for j in range(length)) for symbol in symbols]
            homonymy.append(np.mean(least))
        else:
            at = [[each for (_, k), each in spread.items() if k == j] for j in range(length)]
            homonymy.append(min(map(np.mean, at)))
    pairs = [
        1 - max(abs(a - b) for a, b in zip(one, other, strict=True)) / max(one + other)
        if max(one + other)
        else 1
        for one, other in combinations(profiles, 2)
    ]
    return [np.mean(each) if each else None for each in (synonymy, homonymy, freedom, pairs)]


@settings(max_examples=8, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from(["conklin", "celebi"]))
def test_definitions(seed, program):
    rng = np.random.default_rng(seed)
    num_rows = int(rng.integers(2, 15))
    messages = [rng.integers(0, 3, rng.integers(0, 4)).tolist() for _ in range(num_rows)] + [[1]]
    meanings = rng.integers(0, 3, (num_rows + 1, 3))
    expected = slow_variation(messages, meanings, program)
    if expected[0] is not None:
        found = [score.value for score in scores(messages, meanings, f",program={program}")]
        assert found == [None if each is None else pytest.approx(each, abs=1e-9) for each in expected]


def test_known_languages():
    # A value of the first attribute has two symbols; two values of the second share one.
    meanings = np.tile(grid(2, 2), (2, 1))
    messages = np.stack([meanings[:, 0], np.full(8, 2)], axis=1)
    messages[4:6, 0] = 3  # half of the messages about the first value
    synonymy, homonymy, freedom, entanglement = values(messages, meanings)
    assert synonymy == 0  # at the second position each value has one symbol
    assert homonymy == pytest.approx((0 + 1) / 2) and freedom == 0
    half, both = 0.5, (1.5 + 1.5) / 2  # bits at the first position, given an attribute
    assert entanglement == pytest.approx(1 - (both - half) / both)
    assert values(CONCAT, GRID) == pytest.approx([0, 0, 0, 0])
    assert values(CONCAT[:, ::-1], GRID) == pytest.approx([0, 0, 0, 0])
    assert values(CONSTANT, GRID) == pytest.approx([0, 1, 0, 1])
    free = np.concatenate([CONCAT, CONCAT[:, ::-1]]), np.tile(GRID, (2, 1))
    assert values(*free) == pytest.approx([2 / 3, 1 / 2, 2 / 3, 1])
    reasons = [score.reason for score in scores(CONCAT, GRID, ",characters=7")]
    assert reasons == ["expected at least 8 characters, the number of different symbols, got 7"] * 4
    one = scores(CONCAT, GRID * [1, 0])
    assert [score.reason for score in one] == [None, None, None, "fewer than two attributes vary"]
    assert [score.value for score in one[:3]] == [0, 0, 0]


@pytest.mark.parametrize(
    ("messages", "conklin", "celebi"),
    [
        (CONCAT, [0, 0, 0, 0], [0, 0, 0, 0]),
        (CONSTANT, [0, 1, 0, 1], [0, 1 / 9, 0, 1]),
        (
            IRREGULAR,
            [0.3102466, 0.2240602, 0.3102466, 0.6064446],
            [0.3102466, 0.0555556, 0.3102466, 0.6064446],
        ),
    ],
    ids=["concat", "constant", "irregular"],
)
def test_figures_of_both_programs(messages, conklin, celebi):
    """Of hcoxec/variable_compositionality, 4bfa78f, and SugarFreeManatee/CELEBI, 11f26c0, with nine characters.

    The latter adds 1e-8 to probabilities and sums.
    """
    for program, expected in (("conklin", conklin), ("celebi", celebi)):
        found = scores(messages, GRID, f",program={program},characters=9")
        assert [score.value for score in found] == pytest.approx(expected, abs=1e-6)
    assert found[1].name == "variation_homonymy,program=celebi,characters=9"
