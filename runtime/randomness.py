"""Seeded random numbers as pure functions of seed and index, so that any example can be redrawn."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import torch

Integers = NDArray[np.int64]


def random_words(seed: int, split: str, indices: Integers, number: int) -> NDArray[np.uint64]:
    """Draw random 64-bit words of examples, (batch, number), as a pure function of seed, split and index, (batch,).

    Counter-based SplitMix64 (Steele et al. 2014). Each split, by its name, has its own stream.
    """
    stream = np.random.SeedSequence([seed, *split.encode()]).generate_state(1, np.uint64)
    place = indices.astype(np.uint64)[:, None] * np.uint64(number) + np.arange(1, number + 1, dtype=np.uint64)
    return mixed(np.add(stream, place * np.uint64(0x9E3779B97F4A7C15)))


def mixed(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Mix words, (...), so that all bits depend on all bits of the input: output function of SplitMix64."""
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))


def distinct_draws(words: NDArray[np.uint64], total: int) -> Integers:
    """Draw sets of distinct integers from 0 to `total` - 1, (batch, number), by Floyd's algorithm, all rows at once.

    `words` are random, (batch, number), with `number` at most `total`.
    """
    number = words.shape[1]
    chosen = np.empty(words.shape, dtype=np.int64)
    for column in range(number):
        last = total - number + column
        drawn = (words[:, column] % np.uint64(last + 1)).astype(np.int64)
        repeated = (chosen[:, :column] == drawn[:, None]).any(1)
        chosen[:, column] = np.where(repeated, last, drawn)
    return chosen


@lru_cache(maxsize=4)
def epoch_order(seed: int, epoch: int | str, num_examples: int) -> Integers:
    """Order of the examples in an epoch, or of another named sequence: a permutation of their indices."""
    words = epoch.encode() if isinstance(epoch, str) else [epoch]
    return np.random.default_rng([seed, *words]).permutation(num_examples)


GLOBAL_GENERATOR = threading.RLock()
"""Lock for threads that seed the global generator and draw from it."""


@contextmanager
def initial_weights(seed: int, device: "torch.device | None" = None) -> Iterator[None]:
    """Initialise modules created in the block from a seed, in any thread; likewise other draws, as of dropout.

    Torch's modules draw weights from global generators, whose state is restored afterwards;
    other threads that create modules wait.

    Args:
        seed: Seed of the weights.
        device: Further device of the modules, besides the CPU; each device has its own generator.
    """
    import torch  # takes a second, only needed for modules

    kind = "cpu" if device is None else device.type
    used = {"cuda": lambda: [torch.cuda.current_device()], "mps": lambda: [0]}.get(kind, list)()
    with (
        GLOBAL_GENERATOR,
        torch.random.fork_rng(devices=used, device_type=kind if used else "cuda"),
    ):
        torch.default_generator.manual_seed(seed)
        if used:
            getattr(torch, kind).manual_seed(seed)
        yield
