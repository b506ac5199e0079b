"""Harris segmentation: a slow reference implementation, constructed languages, and the results of another tool."""

from collections import Counter, defaultdict
from itertools import chain, pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ecsuite.corpus import Corpus
from ecsuite.eval.metrics import find_metric
from ecsuite.eval.metrics.score import Options
from ecsuite.eval.metrics.word_statistics import THRESHOLD, boundaries, segmented, segments
from ecsuite.runtime.ragged import Ragged


def slow_boundaries(messages, threshold):
    """Reference implementation: a set of boundary positions for each message."""
    follows = defaultdict(Counter)
    for message in messages:
        for start in range(len(message)):
            for end in range(start + 1, len(message)):
                follows[tuple(message[start:end])][message[end]] += 1

    def entropy(stretch):
        shares = np.array(list(follows[tuple(stretch)].values())) / follows[tuple(stretch)].total()
        return float(-(shares * np.log2(shares)).sum())

    return [
        {
            end
            for start in range(len(message))
            for end in range(start + 2, len(message))
            if entropy(message[start:end]) - entropy(message[start : end - 1]) > threshold
        }
        for message in messages
    ]


def positions(messages, threshold):
    """Boundaries as sets of positions in their messages."""
    rows = Ragged.from_rows(messages)
    [begins] = boundaries(rows, threshold)
    pairs = zip(rows.offsets[:-1], rows.offsets[1:], strict=True)
    return [set(np.flatnonzero(begins[first:last]).tolist()) for first, last in pairs]


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.lists(st.integers(0, 3), max_size=7), min_size=1, max_size=12),
    st.sampled_from([0.05, 0.37, 0.8]),
)
def test_definition(messages, threshold):
    assert positions(messages, threshold) == slow_boundaries(messages, threshold)


def words(num_messages):
    """Messages of three words; the four words have no symbols in common."""
    rng = np.random.default_rng(0)
    lexicon = [[0, 1, 2], [3, 4], [5, 6, 7, 8], [9, 10]]
    return [[lexicon[i] for i in rng.integers(0, 4, 3)] for _ in range(num_messages)]


def test_words_are_found():
    said = words(400)
    messages = [[symbol for word in message for symbol in word] for message in said]
    assert positions(messages, 0.8) == [
        set(np.cumsum([len(word) for word in message[:-1]]).tolist()) for message in said
    ]
    rows = Ragged.from_rows(messages)
    parts = segments(rows, boundaries(rows, 0.8)[0])
    assert [parts[i].tolist() for i in range(3)] == said[0]
    assert len({tuple(parts[i].tolist()) for i in range(len(parts))}) == 4


def test_a_word_of_one_symbol_needs_a_longer_stretch():
    """The entropy after one symbol is never compared with that after none."""
    assert positions([[0, 1], [0, 2], [0, 3]], 0.0) == [set(), set(), set()]


@pytest.mark.parametrize("messages", [[], [[]], [[], []], [[3]], [[3, 3, 3, 3]] * 5])
def test_nothing_to_divide(messages):
    rows = Ragged.from_rows(messages)
    assert not boundaries(rows, 0.0)[0].any()
    parts = segments(rows, boundaries(rows, 0.0)[0])
    assert len(parts) == sum(map(bool, messages))


def test_segments_join_to_messages():
    rows = Ragged.from_rows([[1, 2, 3], [], [4, 5]])
    parts = segments(rows, np.array([False, True, False, False, True]))
    assert [parts[i].tolist() for i in range(len(parts))] == [[1], [2, 3], [4], [5]]


@pytest.mark.parametrize(
    ("threshold", "expected"),
    [(0.0, 429 / 150), (0.4, 349 / 150), (0.8, 298 / 150), (1.2, 278 / 150)],
)
def test_emlangkit_agrees_where_every_message_ends_in_a_mark(threshold, expected):
    """Mean boundaries of emlangkit 0.3.0 (commit f34adae3, `metrics/has.py`), run on this corpus.

    Without the mark it takes the end of a message for a missing share of what follows, and may count a boundary
    at the end: see docs/metrics.md.
    """
    rng = np.random.default_rng(7)
    lexicon = [rng.integers(0, 6, rng.integers(2, 5)).tolist() for _ in range(12)]
    messages = [[*chain(*(lexicon[i] for i in rng.integers(0, 12, 3))), 9] for _ in range(150)]
    rows, _ = Ragged.from_rows(messages).reindexed()
    assert boundaries(rows, threshold)[0].sum() / 150 == pytest.approx(expected)


def test_segments_in_the_place_of_symbols():
    """As by the slow reference, with messages that are empty; topsim of segments is that of these messages."""
    rng = np.random.default_rng(3)
    words = [[1, 2], [3], [4, 1, 3], [2, 2]]
    meanings = rng.integers(0, 4, (60, 2))
    messages = [[symbol for value in row for symbol in words[value]] for row in meanings.tolist()] + [[]]
    corpus = Corpus(messages=Ragged.from_rows(messages), meanings=np.vstack([meanings, [[0, 0]]]))
    expected, numbers = [], {}
    for message, begins in zip(messages, slow_boundaries(messages, THRESHOLD), strict=True):
        cuts = [0, *sorted(begins), len(message)] if message else [0]
        parts = [tuple(message[first:last]) for first, last in pairwise(cuts)]
        expected.append([numbers.setdefault(part, len(numbers) + 1) for part in parts])
    found = segmented(corpus, THRESHOLD)
    assert [row.tolist() for row in found.messages] == expected and max(map(len, expected)) > 1
    (one,), (other,) = (
        find_metric(name)(each, Options())
        for name, each in (("topsim,units=segments", corpus), ("topsim", found))
    )
    assert one.value == other.value and one.signature != other.signature
