"""Context independence: hand-made languages, the definition spelled out, the figures of another program."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ecsuite.corpus import Corpus, Ragged
from ecsuite.eval.metrics.context_independence import context_independence
from ecsuite.eval.metrics.score import Options

GRID = np.array(list(itertools.product(range(4), range(4))))
PERFECT = np.add(GRID, [10, 20])


def score(messages, meanings=None, **known):
    meanings = None if meanings is None else np.array(meanings)
    corpus = Corpus(messages=Ragged.from_rows(messages), meanings=meanings, **known)
    return context_independence(corpus, Options())[0]


def slow_independence(messages, phrases):
    """The mean over concepts, from sets."""
    concepts = set().union(*phrases)
    words = set().union(*map(set, messages))
    values = []
    for concept in concepts:
        best = (0, 0, 0)
        for word in words:
            both = sum(
                word in said and concept in meant for said, meant in zip(messages, phrases, strict=True)
            )
            with_word = sum(word in said for said in messages)
            about = sum(concept in meant for meant in phrases)
            best = max(best, (both / with_word, both / about, both / with_word * both / about))
        values.append(best[2])
    return np.mean(values)


def test_perfect_language():
    result = score(PERFECT, GRID)
    assert result.value == 1
    assert result.ci95 == (1, 1)
    assert result.details["p_value"] == 0.1
    assert result.signature == "context_independence|count:messages|label:attributes|eos:strip|v:2"


def test_order_and_repetition_do_not_matter():
    assert score([[b, a, a] for a, b in PERFECT.tolist()], GRID).value == 1


def test_constant_message():
    """The one word is said of every concept, and a concept is meant a quarter of the time."""
    result = score([[7, 7]] * 16, GRID)
    assert result.value == pytest.approx(1 / 4)
    assert result.details["null_mean"] == pytest.approx(1 / 4)
    assert result.details["p_value"] == 1


def test_holistic_language():
    """A word for each meaning: certain of its concepts, but one of four for each."""
    assert score(np.arange(16)[:, None], GRID).value == pytest.approx(1 / 4)


def test_random_language_scores_as_its_null():
    rng = np.random.default_rng(0)
    result = score(rng.integers(0, 8, (300, 2)), rng.integers(0, 4, (300, 2)))
    assert result.details["null_mean"] == pytest.approx(result.value, abs=0.03)
    assert result.details["p_value"] > 0.1


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_definition(seed):
    rng = np.random.default_rng(seed)
    num_rows = int(rng.integers(1, 12))
    messages = [rng.integers(0, 4, rng.integers(0, 4)).tolist() for _ in range(num_rows)] + [[1]]
    phrases = [sorted(set(rng.integers(0, 5, rng.integers(0, 4)).tolist())) for _ in range(num_rows)] + [[2]]
    result = score(messages, concepts=Ragged.from_rows(phrases))
    assert result.value == pytest.approx(slow_independence(messages, [set(phrase) for phrase in phrases]))


def test_korbak_et_al_agree_where_no_word_ties():
    """Values of measuring-non-trivial-compositionality, commit 2b365626, `metrics/context_independence.py`.

    Run on these two languages; its counts begin at 1e-7, ours at 0. It counts tokens and takes the word of
    greatest p(w | c).
    """
    assert score(PERFECT, GRID).details["likeliest"] == pytest.approx(0.24999996250000517, abs=1e-6)
    irregular = [[a, 4 + b] if (a + b) % 3 else [4 + a, b] for a, b in GRID.tolist()]
    assert score(irregular, GRID).details["likeliest"] == pytest.approx(0.14062498125000245, abs=1e-6)


def test_the_likeliest_word_may_be_a_filler():
    """Said twice in every message, it is likeliest for every concept and tells of none."""
    result = score([[99, 99, *row] for row in PERFECT.tolist()], GRID)
    assert result.value == 1
    assert result.details["by_tokens"] == pytest.approx(1 / 4 * 1 / 2)
    assert result.details["likeliest"] == pytest.approx(1 / 2 * 1 / 8)


def test_nothing_after_eos_counts():
    assert score([[*row, 0, i] for i, row in enumerate(PERFECT.tolist())], GRID, eos=0).value == 1


@settings(max_examples=20, deadline=None)
@given(st.randoms(use_true_random=False))
def test_renaming_and_reordering_change_nothing(random):
    names = random.sample([0, 1, 70_000, 2**20, 2**31 - 2, 2**31 - 1], 6)
    rng = np.random.default_rng(random.getrandbits(32))
    symbols, meanings = rng.integers(0, 6, (12, 3)), rng.integers(0, 3, (12, 2))
    order = rng.permutation(12)
    renamed = [[names[symbol] for symbol in row] for row in symbols[order]]
    other_meanings = np.array(["red", "green", "blue"])[meanings[order]][:, ::-1]
    assert score(renamed, other_meanings).value == pytest.approx(score(symbols, meanings).value)


@pytest.mark.parametrize(
    ("messages", "meanings", "reason"),
    [
        ([[1], [2]], None, "the corpus has neither attribute values nor concepts"),
        ([[1], [2]], [[0.5], [1.0]], "the corpus has neither attribute values nor concepts"),
        ([[], []], [[0, 0], [0, 1]], "every message is empty"),
        ([], np.zeros((0, 2), int), "the corpus has neither attribute values nor concepts"),
    ],
)
def test_undefined(messages, meanings, reason):
    result = score(messages, meanings)
    assert (result.value, result.reason) == (None, reason)


def test_one_row():
    result = score([[3]], [[0, 1]])
    assert (result.value, result.ci95) == (1, None)
