"""Boundaries of Harris's articulation scheme, by the rule of the program of Ueda et al. (2023).

It differs from `segmentation.boundaries` at the ends of messages: an occurrence of a substring at the end counts in the
divisor of its branching entropy, although no symbol follows; and the last two symbols may put a boundary at the end.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from math import log2

from ecsuite.benchmarks.literature.samples import Message


def mean_boundaries(messages: Sequence[Message], threshold: float) -> float:
    """Boundaries per message where the branching entropy, in bits, increases by more than the threshold.

    Symbols are from 0 to 255.
    """
    texts = [bytes(message) for message in messages]
    occurrences = _recurring(texts)
    entropies = _branching(occurrences)
    total = 0
    for text in texts:
        found = set()
        for begin in range(len(text) - 1):
            before = entropies.get(text[begin : begin + 1], 0.0)
            for end in range(begin + 2, max(len(text), begin + 3)):
                after = entropies.get(text[begin:end])
                if after is None:  # it occurs once, and so does all that is longer
                    break
                if after - before > threshold:
                    found.add(end)
                before = after
        total += len(found)
    return total / len(texts)


def _recurring(texts: Sequence[bytes]) -> Counter[bytes]:
    """Occurrences of all substrings that recur, and of these followed by one symbol."""
    occurrences: Counter[bytes] = Counter()
    active, width = [(text, begin) for text in texts for begin in range(len(text))], 1
    while active:
        active = [(text, begin) for text, begin in active if begin + width <= len(text)]
        counts = Counter(text[begin : begin + width] for text, begin in active)
        occurrences.update(counts)
        active = [(text, begin) for text, begin in active if counts[text[begin : begin + width]] > 1]
        width += 1
    return occurrences


def _branching(occurrences: Counter[bytes]) -> dict[bytes, float]:
    """Branching entropy of each substring that recurs, in bits."""
    following: defaultdict[bytes, list[int]] = defaultdict(list)
    for substring, count in occurrences.items():
        following[substring[:-1]].append(count)
    return {
        substring: -sum(each / count * log2(each / count) for each in following.get(substring, ()))
        for substring, count in occurrences.items()
        if count > 1
    }
