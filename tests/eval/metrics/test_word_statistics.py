"""Segments, boundaries, Zipf's law and ELCC's measures: known languages, reference implementations, other programs."""

from collections import Counter, defaultdict
from functools import partial
from itertools import chain, pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import spearmanr

from ecsuite.corpus import Corpus
from ecsuite.eval.metrics import find_metric, word_statistics
from ecsuite.eval.metrics.conclusions import p_value
from ecsuite.eval.metrics.score import Options
from ecsuite.runtime.ragged import Ragged
from languages import score_of, scores_of


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
    [begins] = word_statistics.boundaries(rows, threshold)
    pairs = zip(rows.offsets[:-1], rows.offsets[1:], strict=True)
    return [set(np.flatnonzero(begins[first:last]).tolist()) for first, last in pairs]


@settings(max_examples=10, deadline=None)
@given(st.lists(st.lists(st.integers(0, 3), max_size=7), min_size=1, max_size=12), st.sampled_from([0.05, 0.37, 0.8]))
def test_definition(messages, threshold):
    assert positions(messages, threshold) == slow_boundaries(messages, threshold)


LEXICON = [[0, 1, 2], [3, 4], [5, 6, 7, 8], [9, 10]]


def words(num_messages):
    """Messages of three words; the four words have no symbols in common."""
    rng = np.random.default_rng(0)
    return [[LEXICON[i] for i in rng.integers(0, 4, 3)] for _ in range(num_messages)]


def test_words_are_found_and_segments_join_to_messages():
    said = words(400)
    messages = [[*chain(*message)] for message in said]
    ends = [np.cumsum([len(word) for word in message[:-1]]).tolist() for message in said]
    assert positions(messages, 0.8) == list(map(set, ends))
    rows = Ragged.from_rows(messages)
    parts = word_statistics.segments(rows, word_statistics.boundaries(rows, 0.8)[0])
    assert [parts[i].tolist() for i in range(3)] == said[0]
    assert len({tuple(parts[i].tolist()) for i in range(len(parts))}) == 4
    # The entropy after one symbol is never compared with that after none.
    assert positions([[0, 1], [0, 2], [0, 3]], 0.0) == [set(), set(), set()]
    rows = Ragged.from_rows([[1, 2, 3], [], [4, 5]])
    parts = word_statistics.segments(rows, np.array([False, True, False, False, True]))
    assert [parts[i].tolist() for i in range(len(parts))] == [[1], [2, 3], [4], [5]]


def test_nothing_to_divide():
    for messages in ([], [[]], [[], []], [[3]], [[3, 3, 3, 3]] * 5):
        rows = Ragged.from_rows(messages)
        [begins] = word_statistics.boundaries(rows, 0.0)
        assert not begins.any() and len(word_statistics.segments(rows, begins)) == sum(map(bool, messages))


def test_emlangkit_agrees_where_every_message_ends_in_a_mark():
    """Boundaries of emlangkit 0.3.0 (commit f34adae3, `metrics/has.py`), run on this corpus.

    Without the mark it takes the end of a message for a missing share of what follows, and may count a boundary
    at the end: see docs/metrics.md.
    """
    rng = np.random.default_rng(7)
    lexicon = [rng.integers(0, 6, rng.integers(2, 5)).tolist() for _ in range(12)]
    messages = [[*chain(*(lexicon[i] for i in rng.integers(0, 12, 3))), 9] for _ in range(150)]
    rows, _ = Ragged.from_rows(messages).reindexed()
    found = [word_statistics.boundaries(rows, bits)[0].sum() for bits in (0.0, 0.4, 0.8, 1.2)]
    assert found == [429, 349, 298, 278]


def test_segments_in_the_place_of_symbols():
    """As by the slow reference, with messages that are empty; topsim of segments is that of these messages."""
    rng = np.random.default_rng(3)
    words = [[1, 2], [3], [4, 1, 3], [2, 2]]
    meanings = rng.integers(0, 4, (60, 2))
    messages = [[symbol for value in row for symbol in words[value]] for row in meanings.tolist()] + [[]]
    corpus = Corpus(messages=Ragged.from_rows(messages), meanings=np.vstack([meanings, [[0, 0]]]))
    expected, numbers = [], {}
    for message, begins in zip(messages, slow_boundaries(messages, word_statistics.THRESHOLD), strict=True):
        cuts = [0, *sorted(begins), len(message)] if message else [0]
        parts = [tuple(message[first:last]) for first, last in pairwise(cuts)]
        expected.append([numbers.setdefault(part, len(numbers) + 1) for part in parts])
    found = word_statistics.segmented(corpus, word_statistics.THRESHOLD)
    assert [row.tolist() for row in found.messages] == expected and max(map(len, expected)) > 1
    (one,), (other,) = (
        find_metric(name)(each, Options()) for name, each in (("topsim,units=segments", corpus), ("topsim", found))
    )
    assert one.value == other.value and one.signature != other.signature


has_score = partial(score_of, word_statistics.has)


def test_known_boundaries():
    result = has_score([[*chain(*said)] for said in words(300)])
    assert result.value == 2 and result.ci95 == (2, 2) and result.details["segments"] == 4
    assert result.details["segment_length"] == pytest.approx(11 / 4, abs=0.1) and result.chance.high < 1
    assert p_value(result) < 0.05 and result.details["shuffled"]["segments"] > 100
    assert [bits for bits, _ in result.details["by_threshold"]] == [0.0, 0.4, 1.2]
    assert result.signature == "has|threshold:0.8|starts:all|eos:strip|n:300|v:2"
    result = has_score([[1, 2, 3]] * 20)
    assert (result.value, result.ci95, result.details["segments"]) == (0, (0, 0), 1)
    result = has_score([[1], [], [2, 3]])
    assert (result.value, result.ci95) == (0, None)
    rows = Ragged.from_rows([[*chain(*said)] for said in words(30)])
    shuffled = word_statistics.shuffle_symbols(rows, np.arange(len(rows)), np.random.default_rng(0))
    assert shuffled.lengths.tolist() == rows.lengths.tolist()
    assert sorted(shuffled.values.tolist()) == sorted(rows.values.tolist())
    assert shuffled.values.tolist() != rows.values.tolist()


zla_scores = partial(scores_of, word_statistics.zla)


def law_abiding(num_messages=60):
    """Message k has k symbols that no other message has; it is half as frequent as message k - 1."""
    lengths = [k for k in range(1, 6) for _ in range(num_messages >> k)]
    return [[10 * k + i for i in range(k)] for k in lengths]


def test_known_languages_of_zla():
    in_segments, in_messages = zla_scores(law_abiding())
    assert in_messages.value == pytest.approx(-1) and in_segments.value == pytest.approx(-1)
    assert in_messages.signature == "zla_messages|units:messages|eos:strip|n:56|v:2"
    assert in_segments.signature == "zla_segments|units:segments|threshold:0.8|eos:strip|n:56|v:2"
    messages = law_abiding()
    longest = 6
    turned = [[100 * len(row) + i for i in range(longest - len(row))] for row in messages]
    assert zla_scores(turned)[1].value == pytest.approx(1)
    assert [score.reason for score in zla_scores([[1, 2]] * 12)] == [
        "all segments have the same length or the same frequency",
        "all messages have the same length or the same frequency",
    ]
    # Messages of one length, made of words of two or three symbols with different frequencies.
    rng = np.random.default_rng(1)
    kinds = [[0, 1, 2, 5, 6], [0, 1, 2, 3, 4], [5, 6, 0, 1, 2], [7, 8, 9, 3, 4]]
    messages = [kinds[min(int(rng.integers(0, 8)), 3)] for _ in range(200)]
    in_segments, in_messages = zla_scores(messages)
    assert in_messages.reason == "all messages have the same length or the same frequency"
    assert -1 <= in_segments.value <= 1


@settings(max_examples=8, deadline=None)
@given(st.lists(st.lists(st.integers(0, 1), max_size=3).map(tuple), min_size=1, max_size=40))
def test_scipy_agrees(messages):
    result = zla_scores(messages)[1]
    counts = Counter(messages)
    frequency, length = list(counts.values()), [len(message) for message in counts]
    if len(set(frequency)) == 1 or len(set(length)) == 1:
        assert result.value is None
    else:
        assert result.value == pytest.approx(spearmanr(frequency, length).statistic)


def test_random_symbols_follow_the_law_and_so_does_their_null():
    rng = np.random.default_rng(0)
    messages = [rng.integers(0, 2, rng.integers(1, 7)).tolist() for _ in range(300)]
    result = zla_scores(messages)[1]
    assert result.value < -0.5 and p_value(result) > 0.1
    assert result.chance.level == pytest.approx(result.value, abs=0.2)


def measure(rows, **known):
    return {score.name: score.value for score in scores_of(word_statistics.elcc, rows, **known)}


def test_known_values():
    # Tokens 1 1 2 0 | 1 0: frequencies 3 1 2 of 6; bigrams 11 12 20 10, all different. In the collection's order.
    expected = {
        "Token Count": 6, "Line Count": 2, "Tokens per Line": 3.0, "Tokens per Line SD": 1.0,
        "Unique Tokens": 3, "Unique Lines": 2, "1-gram Entropy": 1.4591479170272448,
        "1-gram Normalized Entropy": 1.4591479170272448 / np.log2(3), "2-gram Entropy": 2.0,
        "2-gram Conditional Entropy": 2.0 - 1.4591479170272448, "Entropy per Line": 1.4591479170272448 * 3,
        "EoS Token Present": True, "EoS Padding": False,
    }  # fmt: skip
    found = measure([[1, 1, 2, 0], [], [1, 0]])
    assert found == pytest.approx(expected) and list(found) == list(expected)
    assert measure([[1, 2]] * 4)["2-gram Entropy"] == 0
    padded = [[1, 0, 0], [2, 2, 0]]
    assert measure(padded, eos=0) == measure([[1, 0], [2, 2, 0]], eos=0) | {"EoS Padding": True}
    assert measure(padded)["Token Count"] == 6  # as the collection counts it


def test_nothing_after_the_first_eos_is_counted():
    """Only whether there is padding is asked of what stands there."""
    ended = measure([[1, 1, 2, 0], [1, 0], [0], []], eos=0)
    for after in ([0, 0], [3, 0], [3]):
        rows = [[1, 1, 2, 0], [1, 0, *after], [0, 0], []]
        found = measure(rows, eos=0)
        assert found == ended and found["Token Count"] == 7 and found["EoS Token Present"]
        assert measure(rows)["Token Count"] == 8 + len(after)  # where no EOS is known, all are symbols


@pytest.mark.parametrize(
    ("rows", "present", "padding", "why"),
    [
        ([[1, 0], [2, 2, 0]], True, False, "lines of different lengths"),
        ([[1, 0, 0], [2, 2, 0]], True, True, "one line ends early and is filled"),
        ([[1, 0], [2, 0]], True, False, "equal lengths, nothing filled"),
        ([[1, 0], [2, 3]], False, False, "another last symbol"),
        ([[0, 1, 0], [2, 2, 0]], False, False, "something follows the first EOS"),
        ([[5]], True, False, "one symbol is its own end"),
    ],
)
def test_eos(rows, present, padding, why):
    values = measure(rows)
    assert (values["EoS Token Present"], values["EoS Padding"]) == (present, padding), why


def test_reasons_for_no_and_for_single_symbols():
    for rows in ([], [[]], [[], []]):
        scores = {score.name: score for score in scores_of(word_statistics.elcc, rows)}
        for name in ("Token Count", "Line Count", "Unique Tokens", "Unique Lines"):
            assert scores.pop(name).value == 0
        assert {(each.value, each.reason) for each in scores.values()} == {(None, "every message is empty")}
    reasons = {s.name: s.reason for s in scores_of(word_statistics.elcc, [[7], [7]])}
    assert reasons["1-gram Normalized Entropy"] == "there is only one distinct symbol"
    assert reasons["2-gram Conditional Entropy"] == reasons["2-gram Entropy"] == "no message has two symbols"


@settings(max_examples=10, deadline=None)
@given(st.lists(st.lists(st.integers(0, 5), min_size=2, max_size=6), min_size=1, max_size=12))
def test_identities_that_hold_in_all_published_corpora(rows):
    values = measure(rows)
    unigrams, bigrams, lines = values["1-gram Entropy"], values["2-gram Entropy"], values["Line Count"]
    assert values["Tokens per Line"] == pytest.approx(values["Token Count"] / lines)
    if values["Unique Tokens"] > 1:
        normalised = unigrams / np.log2(values["Unique Tokens"])
        assert values["1-gram Normalized Entropy"] == pytest.approx(normalised)
    assert values["2-gram Conditional Entropy"] == pytest.approx(bigrams - unigrams)
    assert values["Entropy per Line"] == pytest.approx(unigrams * values["Token Count"] / lines)
