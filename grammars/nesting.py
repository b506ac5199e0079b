"""Brackets: when a stream of decisions opens and closes, how deep it is, and what closes what."""

import numpy as np
from numpy.typing import NDArray

from ecsuite.config import ConfigError


def depths(wants_open: NDArray[np.bool_]) -> NDArray[np.int64]:
    """How many brackets are open before each step, and after the last one.

    A step opens a bracket or closes one, as it wants; where nothing is open it opens one whatever it wants.

    In terms of the walk that would only do what it wants: each such forced step lifts the depth by two above
    the walk, and it happens as the walk first reaches -1, -3, -5, …

    Args:
        wants_open: Shape (num_steps,).

    Returns:
        Depths, shape (num_steps + 1,), from 0.
    """
    walk = np.zeros(len(wants_open) + 1, dtype=np.int64)
    np.cumsum(2 * wants_open.astype(np.int8) - 1, out=walk[1:])
    num_forced = (1 - np.minimum.accumulate(walk)) // 2
    walk += 2 * num_forced
    return walk


def close_innermost(depth: NDArray[np.int64], opened: NDArray[np.int64]) -> NDArray[np.int64]:
    """What each step opens or closes, if brackets nest: the innermost one is closed.

    At any one level a bracket must be closed before the next one opens. So with the steps of a level side by
    side, each step that closes comes right after the one that opened.

    Args:
        depth: As `depths` returns it, shape (num_steps + 1,).
        opened: What a step opens if it opens, shape (num_steps,).

    Returns:
        What is opened or closed, shape (num_steps,).
    """
    level = np.maximum(depth[:-1], depth[1:])
    level = level.astype(np.min_scalar_type(level.max(initial=0)))  # small integers are sorted faster
    order = np.argsort(level, kind="stable")
    closing = np.flatnonzero((depth[1:] < depth[:-1])[order])
    said = opened[order]
    said[closing] = said[closing - 1]
    stream = np.empty_like(said)
    stream[order] = said
    return stream


def close_any(
    depth: NDArray[np.int64], opened: NDArray[np.int64], rng: np.random.Generator
) -> NDArray[np.int64]:
    """What each step opens or closes, if brackets may cross: any open one is closed, all as likely.

    Args:
        depth: As `depths` returns it, shape (num_steps + 1,).
        opened: What a step opens if it opens, shape (num_steps,).
        rng: Draws what is closed.

    Returns:
        What is opened or closed, shape (num_steps,).
    """
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
    """Refuse what is not a probability.

    Raises:
        ConfigError: With the name and what it must be.
    """
    if not (0 <= value <= 1 and value < below):
        expected = "0 to 1" if below > 1 else f"at least 0 and below {below:g}"
        raise ConfigError(f"{name}: expected {expected}, got {value}")
