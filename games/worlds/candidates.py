"""The candidates of rounds: one target among distinct objects, and the objects of a batch each once."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ecsuite.games.worlds.frequencies import Floats, drawn
from ecsuite.games.worlds.objects import Members, Selection
from ecsuite.games.worlds.world import Integers
from ecsuite.runtime.randomness import distinct_draws

MOST_UNUSED = 16
"""Up to this ratio of the largest number of an object to those in use, a table of all takes a third of the time of
sorting, or less."""
Words = NDArray[np.uint64]
Distractors = Callable[[Integers, Words], Integers]
"""The distractors of targets, (batch,), by random words, (batch, num_distractors): (batch, num_distractors)."""


def one_target(
    words: Words,
    total: int,
    targets: Members = None,
    pool: Members = None,
    *,
    probabilities: Floats | None = None,
    distractors: Distractors | None = None,
) -> tuple[Integers, Integers]:
    """Rounds of one target among distinct objects.

    Args:
        words: Random, (batch, num_candidates + 1).
        total: Number of objects.
        targets: Objects that targets are drawn from.
        pool: Objects that distractors are drawn from, which may be others.
        probabilities: Of each of `targets`, up to a factor; None: all are equally likely.
        distractors: Draws distractors, by the numbers of targets; None: all sets of objects of the pool are equally
            likely.

    Returns:
        The candidates by their numbers, (batch, num_candidates), and the place of each target, (batch,).
    """
    num_candidates = words.shape[1] - 1
    places = (words[:, -1] % np.uint64(num_candidates)).astype(np.int64)
    size = total if targets is None else len(targets)
    if targets is pool and probabilities is None and distractors is None:
        return members(targets, distinct_draws(words[:, :-1], size)), places
    if probabilities is None:
        drawn_targets = (words[:, 0] % np.uint64(size)).astype(np.int64)
    else:
        drawn_targets = drawn(probabilities, words[:, 0])
    chosen = members(targets, drawn_targets)
    if distractors is not None:
        others = distractors(chosen, words[:, 1:-1])
    elif targets is pool:
        others = members(pool, distinct_others(drawn_targets, words[:, 1:-1], size))
    else:
        assert not isinstance(pool, Selection), (
            "a pool of other objects than targets is a list, or has all of them"
        )
        others = others_of(pool, chosen, words[:, 1:-1], total)
    return with_target_at(chosen, others, places), places


def members(of: Members, places: Integers) -> Integers:
    """The objects at places, (...), by their numbers."""
    return places if of is None else of[places]


def distinct_others(targets: Integers, words: Words, total: int) -> Integers:
    """Sets of objects without the target, (batch, number), of `total`; the words are random, (batch, number)."""
    others = distinct_draws(words, total - 1)
    return others + (others >= targets[:, None])


def others_of(pool: Integers | None, targets: Integers, words: Words, total: int) -> Integers:
    """Distinct objects of a pool without the target, which need not be in it, (batch, number).

    Args:
        pool: Numbers of objects, ascending; None: all.
        targets: Their numbers, (batch,).
        words: Random, (batch, number).
        total: Number of all objects.
    """
    if pool is None:
        return distinct_others(targets, words, total)
    places = np.searchsorted(pool, targets).clip(max=len(pool) - 1)
    is_there = pool[places] == targets
    others = np.empty(words.shape, dtype=np.int64)
    if is_there.any():
        others[is_there] = distinct_others(places[is_there], words[is_there], len(pool))
    if not is_there.all():
        others[~is_there] = distinct_draws(words[~is_there], len(pool))
    return pool[others]


def with_target_at(targets: Integers, others: Integers, places: Integers) -> Integers:
    """Candidates with the target at a place, (batch, 1 + number).

    Args:
        targets: (batch,).
        others: (batch, number).
        places: Place of each target among the candidates, from 0, (batch,).
    """
    candidates = np.concatenate([targets[:, None], others], axis=1)
    rounds = np.arange(len(targets))
    candidates[rounds, 0] = candidates[rounds, places]
    candidates[rounds, places] = targets
    return candidates


def each_once(*numbers: Integers) -> tuple[Integers, list[Integers]]:
    """The objects that are in use, each once and in order, and the place of each number among them.

    Args:
        numbers: Objects by number, (batch, any width) each.
    """
    joined = np.concatenate(numbers, axis=1)
    if (last := joined.max(initial=0)) < MOST_UNUSED * joined.size:
        is_used = np.zeros(last + 1, dtype=bool)
        is_used[joined] = True
        used, place_of = np.flatnonzero(is_used), np.empty(last + 1, dtype=np.int64)
        place_of[used] = np.arange(len(used))
        places = place_of[joined]
    else:
        used, places = np.unique(joined, return_inverse=True)
    ends = np.cumsum([each.shape[1] for each in numbers])[:-1]
    return used, np.split(places.reshape(joined.shape), ends, axis=1)
