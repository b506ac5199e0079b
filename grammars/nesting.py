"""Brackets: nesting depth of a random stream, and the bracket that each step closes."""

import numpy as np
from numpy.typing import NDArray

from ecsuite.runtime.errors import ConfigError


def depths(opens: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Number of open brackets before each step, and after the last step.

    A step opens or closes a bracket as proposed; if no bracket is open, it always opens one (a forced step).

    Compared with the walk that follows all proposals, each forced step raises the depth by two; forced steps occur
    when the walk first reaches -1, -3, -5, …

    Args:
        opens: Whether each step is proposed to open a bracket, shape (num_steps,).

    Returns:
        Depths, shape (num_steps + 1,), from 0.
    """
    walk = np.zeros(len(opens) + 1, dtype=np.int64)
    np.cumsum(2 * opens.astype(np.int8) - 1, out=walk[1:])
    num_forced = (1 - np.minimum.accumulate(walk)) // 2
    walk += 2 * num_forced
    return walk


def close_innermost(depth: NDArray[np.int64], opened: NDArray[np.int64]) -> NDArray[np.int64]:
    """The bracket that each step opens or closes, if brackets nest: the innermost open bracket is closed.

    At any level a bracket must be closed before the next one opens. So if steps are sorted by level, each closing
    step directly follows the step that opened its bracket.

    Args:
        depth: As `depths` returns it, shape (num_steps + 1,).
        opened: The bracket that a step would open, shape (num_steps,).

    Returns:
        The brackets that are opened or closed, shape (num_steps,).
    """
    level = np.maximum(depth[:-1], depth[1:])
    level = level.astype(np.min_scalar_type(level.max(initial=0)))  # small integers are sorted faster
    order = np.argsort(level, kind="stable")
    closing = np.flatnonzero((depth[1:] < depth[:-1])[order])
    by_level = opened[order]
    by_level[closing] = by_level[closing - 1]
    stream = np.empty_like(by_level)
    stream[order] = by_level
    return stream


def close_any(
    depth: NDArray[np.int64], opened: NDArray[np.int64], rng: np.random.Generator
) -> NDArray[np.int64]:
    """As `close_innermost`, but brackets may cross: the closed bracket is drawn uniformly from the open brackets."""
    closes = (depth[1:] < depth[:-1]).tolist()
    chosen = rng.integers(np.maximum(depth[:-1], 1)).tolist()
    stream = opened.tolist()
    is_open: list[int] = []
    for step, symbol in enumerate(stream):
        if closes[step]:
            last = is_open.pop()
            if chosen[step] < len(is_open):
                last, is_open[chosen[step]] = is_open[chosen[step]], last
            stream[step] = last
        else:
            is_open.append(symbol)
    return np.array(stream, dtype=np.int64)


def check_probability(name: str, value: float, below: float = float("inf")) -> None:
    """Validate a probability.

    Raises:
        ConfigError: If the value is not between 0 and 1, or not below `below`.
    """
    if not (0 <= value <= 1 and value < below):
        expected = "0 to 1" if below > 1 else f"at least 0 and below {below:g}"
        raise ConfigError(f"{name}: expected {expected}, got {value}")
