"""Opening and closing brackets, compared with a stack."""

import numpy as np
import pytest

from ecsuite.grammars.nesting import close_any, close_innermost, depths

PROBABILITIES = [0.0, 0.3, 0.5, 0.6, 1.0]


def decisions(probability: float, num_steps: int = 3000) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.random(num_steps) < probability, rng.integers(1000, size=num_steps)


@pytest.mark.parametrize("probability", PROBABILITIES)
@pytest.mark.parametrize("num_steps", [0, 1, 2, 3000])
def test_the_innermost_is_closed_as_by_a_stack(probability: float, num_steps: int) -> None:
    opens, opened = decisions(probability, num_steps)
    stack: list[int] = []
    expected, expected_depths = [], [0]
    for wants, symbol in zip(opens, opened, strict=True):
        if wants or not stack:
            stack.append(symbol)
            expected.append(symbol)
        else:
            expected.append(stack.pop())
        expected_depths.append(len(stack))
    depth = depths(opens)
    assert depth.tolist() == expected_depths
    assert close_innermost(depth, opened).tolist() == expected


@pytest.mark.parametrize("probability", PROBABILITIES)
def test_any_open_bracket_may_be_closed(probability: float) -> None:
    opens, opened = decisions(probability)
    depth = depths(opens)
    stream = close_any(depth, opened, np.random.default_rng(0))
    still_open: list[int] = []
    for before, after, symbol, kind in zip(depth[:-1], depth[1:], stream, opened, strict=True):
        if after > before:
            assert symbol == kind
            still_open.append(symbol)
        else:
            still_open.remove(symbol)


def test_all_open_brackets_are_closed_with_equal_probability() -> None:
    """Three are opened and one is closed, again and again from the start."""
    closed = [
        close_any(np.array([0, 1, 2, 3, 2]), np.array([0, 1, 2, 9]), np.random.default_rng(seed))[-1]
        for seed in range(3000)
    ]
    assert np.bincount(closed) / 3000 == pytest.approx(np.full(3, 1 / 3), abs=0.03)
