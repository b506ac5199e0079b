"""Boundaries of Harris's articulation scheme, by the rule of the program of Ueda et al. (2023).

It differs from `segmentation.boundaries` at the ends of messages: an occurrence of a substring at the end counts in the
divisor of its branching entropy, although no symbol follows; and the last two symbols may put a boundary at the end.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence

import numpy as np

from ecsuite.benchmarks.literature.samples import Message


def mean_boundaries(messages: Sequence[Message], threshold: float) -> float:
    """Boundaries per message where the branching entropy, in bits, increases by more than the threshold.

    Symbols are from 0 to 255.
    """
    texts = [bytes(message) for message in messages]
    occurrences = Counter(
        text[begin:end]
        for text in texts
        for begin in range(len(text))
        for end in range(begin + 1, len(text) + 1)
    )
    following: defaultdict[bytes, list[int]] = defaultdict(list)
    for substring, count in occurrences.items():
        following[substring[:-1]].append(count)

    def branching(substring: bytes) -> float:
        count = np.array(following.get(substring, [1]), float) / occurrences[substring]
        return float(-(count * np.log2(count)).sum()) if substring in following else 0.0

    entropies = {substring: branching(substring) for substring in occurrences}
    total = 0
    for text in texts:
        found = {
            end
            for begin in range(len(text) - 1)
            for end in range(begin + 2, max(len(text), begin + 3))
            if entropies[text[begin:end]] - entropies[text[begin : end - 1]] > threshold
        }
        total += len(found)
    return total / len(texts)
