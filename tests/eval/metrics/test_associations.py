"""AMI, NPMI, context independence and word entropies: known languages, reference implementations, other programs."""

import itertools
from collections import Counter
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import adjusted_mutual_info_score

from ecsuite.eval.metrics import associations
from ecsuite.eval.metrics.conclusions import p_value
from ecsuite.eval.statistics.resampling import few_draws
from languages import grid, score_of, scores_of

SQUARE = grid(4, 4)
PERFECT_SQUARE = np.add(SQUARE, [10, 20])
independence = partial(score_of, associations.context_independence)


def slow_independence(messages, phrases):
    """The mean over concepts, from sets."""
    values = []
    for concept in set().union(*phrases):
        best, about = (0, 0, 0), sum(concept in meant for meant in phrases)
        for word in set().union(*map(set, messages)):
            rows = zip(messages, phrases, strict=True)
            both = sum(word in said and concept in meant for said, meant in rows)
            with_word = sum(word in said for said in messages)
            best = max(best, (both / with_word, both / about, both / with_word * both / about))
        values.append(best[2])
    return np.mean(values)


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 2**32 - 1))
@few_draws()
def test_definitions_of_scores_of_words_and_concepts(seed):
    rng = np.random.default_rng(seed)
    num_rows = int(rng.integers(1, 12))
    messages = [rng.integers(0, 4, rng.integers(0, 5)).tolist() for _ in range(num_rows)] + [[1]]
    phrases = [sorted(set(rng.integers(0, 5, rng.integers(0, 4)).tolist())) for _ in range(num_rows)] + [[2]]
    sets = [set(phrase) for phrase in phrases]
    assert independence(messages, concepts=phrases).value == pytest.approx(slow_independence(messages, sets))
    found = entropy_values(messages, concepts=phrases)
    assert found == pytest.approx(slow_entropies(messages, phrases), abs=1e-8)
    expected, result = slow_best_npmi(messages, sets), score_of(associations.npmi, messages, concepts=phrases)
    assert result.value == (None if expected is None else pytest.approx(expected))
    assert expected is not None or result.reason == "every concept is in all messages"


def test_context_independence_by_hand_and_by_korbak_et_al():
    """Values of measuring-non-trivial-compositionality, commit 2b365626, `metrics/context_independence.py`.

    Run on two languages; its counts begin at 1e-7, ours at 0. It counts tokens and takes the word of greatest p(w | c).
    """
    irregular = [[a, 4 + b] if (a + b) % 3 else [4 + a, b] for a, b in SQUARE.tolist()]
    for messages, theirs in ((PERFECT_SQUARE, 0.24999996250000517), (irregular, 0.14062498125000245)):
        assert independence(messages, SQUARE).details["likeliest"] == pytest.approx(theirs, abs=1e-6)
    # Said twice in every message, a word is likeliest for every concept and tells of none.
    result = independence([[99, 99, *row] for row in PERFECT_SQUARE.tolist()], SQUARE)
    assert result.value == 1 and result.details["by_tokens"] == pytest.approx(1 / 4 * 1 / 2)
    assert result.details["likeliest"] == pytest.approx(1 / 2 * 1 / 8)


GRID = grid(3, 4)
PERFECT = np.add(GRID, [10, 20])
word_entropies = partial(scores_of, associations.word_entropy)


def entropy_values(*rows, **known):
    return [score.value for score in word_entropies(*rows, **known)]


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


def test_word_entropies_by_hand():
    # Half of the alignments are with the other concept of the phrase: 1 bit plus half of the other entropy.
    first, second = 1 + np.log2(4) / 2, 1 + np.log2(3) / 2
    expected = pytest.approx((first + second) / 2)
    found = word_entropies(PERFECT, GRID)
    assert [score.details["unaligned"] for score in found] == [expected, expected]
    assert [score.details["normalised"] for score in found] == [0, 0]
    # Both words are equally frequent for each value of the other attribute.
    messages = np.concatenate([PERFECT, PERFECT + 100])
    assert entropy_values(messages, np.concatenate([GRID, GRID])) == pytest.approx([1, 0])
    meanings = grid(4, 4)
    assert entropy_values(np.add(meanings // 2, [10, 20]), meanings) == pytest.approx([0, 1])
    # One word has the same association with all concepts.
    results = word_entropies([[7]] * 12, GRID)
    assert [score.value for score in results] == pytest.approx([0, 1 + np.log2(3) / 2 + np.log2(4) / 2])
    assert [score.details["normalised"] for score in results] == [None, pytest.approx(1)]
    assert [p_value(score) for score in results] == [1, 1]


RECURRING = np.tile(grid(3, 3), (4, 1))
whole_npmi = partial(score_of, associations.ncnpmi)


def slow_npmi(messages, meanings):
    """The weighted mean, from counted pairs."""
    pairs = list(zip(map(tuple, messages), map(tuple, meanings), strict=True))
    of_message, of_meaning = (Counter(side) for side in zip(*pairs, strict=True))
    total = 0.0
    for (message, meaning), count in Counter(pairs).items():
        together = count / len(pairs)
        apart = of_message[message] * of_meaning[meaning] / len(pairs) ** 2
        total += together * np.log(together / apart) / -np.log(together)
    return total


def test_npmi_by_hand_and_by_emlangkit():
    result = whole_npmi([[0], [0], [1], [1]], [[0], [1], [2], [3]])
    assert (result.value, result.details["above_half"]) == (0.5, 0)
    result = whole_npmi(np.arange(36)[:, None], RECURRING)
    assert result.value == pytest.approx(np.log(9) / np.log(36))
    assert result.chance.level == pytest.approx(result.value) and p_value(result) == 1
    # Each of two symbols is shared by two of four values: log(1/4 / (1/4 1/2)) / -log 1/4 is 1/2.
    halves = score_of(associations.npmi, [[0], [0], [1], [1]], [[0], [1], [2], [3]])
    assert halves.value == pytest.approx(1 / 2)
    assert score_of(associations.npmi, np.add(RECURRING, [0, 3]), RECURRING).value == pytest.approx(1)
    assert score_of(associations.npmi, [[7, 7]] * len(RECURRING), RECURRING).value == 0
    # NPMI of pairs by emlangkit 0.3.0 (commit f34adae3, `metrics/nc_npmi.py`), run on this; elsewhere it has NaN.
    of_rows = [1.0, 1.0, 0.6131471927654584, 0.0, 0.38685280723454163, 0.38685280723454163]
    messages, meanings = [[1, 1], [1, 1], [1, 2], [1, 2], [2, 2], [2, 1]], [[0], [0], [1], [2], [2], [2]]
    result = whole_npmi(messages, meanings)
    assert result.value == pytest.approx(np.mean(of_rows))
    assert result.details["above_half"] == pytest.approx(3 / 6)


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 2**32 - 1))
@few_draws()
def test_definition_of_whole_npmi(seed):
    rng = np.random.default_rng(seed)
    num_rows = int(rng.integers(2, 30))
    messages = [rng.integers(0, 2, rng.integers(0, 3)).tolist() for _ in range(num_rows)] + [[0], [1]]
    meanings = rng.integers(0, 3, (num_rows + 2, 1))
    assert whole_npmi(messages, meanings).value == pytest.approx(slow_npmi(messages, meanings.tolist()))


def slow_best_npmi(messages, phrases):
    """The mean over concepts, weighted by frequency, of the highest NPMI with a word, from sets."""
    number, total, weights = len(messages), 0.0, 0
    for concept in set().union(*phrases):
        about, found = sum(concept in meant for meant in phrases), [-1.0]
        if about == number:
            continue
        for word in set().union(*map(set, messages)):
            rows = zip(messages, phrases, strict=True)
            both = sum(word in said and concept in meant for said, meant in rows) / number
            if both:
                with_word = sum(word in said for said in messages) / number
                found.append(np.log(both / with_word / (about / number)) / -np.log(both))
        total, weights = total + about * max(found), weights + about
    return total / weights if weights else None


both_scores, ami_score = partial(scores_of, associations.ami), partial(score_of, associations.ami)


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(3, 300), st.integers(1, 60), st.integers(1, 60))
@few_draws()
def test_scikit_learn_agrees(seed, num_rows, num_messages, num_meanings):
    rng = np.random.default_rng(seed)
    messages, meanings = rng.integers(0, num_messages, num_rows), rng.integers(0, num_meanings, num_rows)
    results = both_scores(messages[:, None], meanings[:, None])
    for result, method in zip(results, ("max", "arithmetic"), strict=True):
        if result.value is None:
            assert {len(set(messages)), len(set(meanings))} & {1, num_rows}
        else:
            expected = adjusted_mutual_info_score(messages, meanings, average_method=method)
            assert result.value == pytest.approx(expected, abs=1e-9)
            assert f"|normaliser:{method}|" in result.signature


def test_ami_by_hand():
    result = ami_score([[1], [1], [1], [2], [2]], concepts=[[0, 1], [1, 0], [1, 0, 0], [2], [2]])
    assert result.value == pytest.approx(1) and "label:concepts" in result.signature
    meanings = np.repeat(np.arange(4), 50)
    messages = np.arange(200) // 2  # 25 words for each meaning, each said twice
    by_max, by_mean = both_scores(messages[:, None], meanings[:, None])
    information, entropy = np.log(4), np.log(100)
    chance = associations.expected_information(np.bincount(messages), np.bincount(meanings))
    assert by_max.value == pytest.approx((information - chance) / (entropy - chance))
    assert by_mean.value == pytest.approx((information - chance) / ((entropy + information) / 2 - chance))
    meanings = np.arange(20)
    meanings[1] = 0
    assert ami_score(meanings[:, None], meanings[:, None]).ci95 is None
