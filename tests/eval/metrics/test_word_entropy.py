"""Words per concept and concepts per word: constructed languages of known entropies, a reference implementation."""

import itertools
from collections import Counter
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from languages import grid, scores_of

from ecsuite.eval.metrics.associations import word_entropy
from ecsuite.eval.metrics.conclusions import p_value

GRID = grid(3, 4)
PERFECT = np.add(GRID, [10, 20])
scores = partial(scores_of, word_entropy)


def values(*rows, **known):
    return [score.value for score in scores(*rows, **known)]


def slow_entropies(messages, phrases):
    """Reference implementation: align every word with its most associated concepts, then conditional entropies."""
    rows = list(zip(messages, phrases, strict=True))
    together = Counter(pair for said, meant in rows for pair in itertools.product(set(said), meant))
    about = Counter(concept for _, meant in rows for concept in meant)
    weights = Counter()
    for said, meant in rows:
        for word in said:
            draw = {concept: together[word, concept] / about[concept] for concept in meant}
            best = [concept for concept in meant if draw[concept] == max(draw.values())]
            for concept in best:
                weights[word, concept] += 1 / len(best)

    def entropy(places):
        sums = Counter()
        for pair, weight in weights.items():
            sums[tuple(pair[place] for place in places)] += weight
        shares = np.array(list(sums.values())) / sum(sums.values())
        return -(shares * np.log2(shares)).sum()

    return [entropy((0, 1)) - entropy((1,)), entropy((0, 1)) - entropy((0,))]


def test_unaligned_entropies_of_a_perfect_language():
    """Half of the alignments are with the other concept of the phrase: 1 bit plus half of the other entropy."""
    first, second = 1 + np.log2(4) / 2, 1 + np.log2(3) / 2
    expected = pytest.approx((first + second) / 2)
    found = scores(PERFECT, GRID)
    assert [score.details["unaligned"] for score in found] == [expected, expected]
    assert [score.details["normalised"] for score in found] == [0, 0]


def test_two_words_for_each_concept():
    """Both words are equally frequent for each value of the other attribute."""
    messages = np.concatenate([PERFECT, PERFECT + 100])
    assert values(messages, np.concatenate([GRID, GRID])) == pytest.approx([1, 0])


def test_two_concepts_for_each_word():
    meanings = grid(4, 4)
    assert values(np.add(meanings // 2, [10, 20]), meanings) == pytest.approx([0, 1])


def test_constant_message():
    """One word has the same association with all concepts."""
    results = scores([[7]] * 12, GRID)
    assert [score.value for score in results] == pytest.approx([0, 1 + np.log2(3) / 2 + np.log2(4) / 2])
    assert [score.details["normalised"] for score in results] == [None, pytest.approx(1)]
    assert [p_value(score) for score in results] == [1, 1]


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_definition(seed):
    rng = np.random.default_rng(seed)
    num_rows = int(rng.integers(1, 12))
    messages = [rng.integers(0, 4, rng.integers(0, 5)).tolist() for _ in range(num_rows)] + [[1]]
    phrases = [sorted(set(rng.integers(0, 5, rng.integers(0, 4)).tolist())) for _ in range(num_rows)] + [[2]]
    found = values(messages, concepts=phrases)
    assert found == pytest.approx(slow_entropies(messages, phrases), abs=1e-8)
