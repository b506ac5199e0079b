"""Context independence: hand-made languages, the definition spelled out, the figures of another program."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from languages import grid, score_of

from ecsuite.eval.metrics.associations import context_independence

GRID = grid(4, 4)
PERFECT = np.add(GRID, [10, 20])
score = partial(score_of, context_independence)


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


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_definition(seed):
    rng = np.random.default_rng(seed)
    num_rows = int(rng.integers(1, 12))
    messages = [rng.integers(0, 4, rng.integers(0, 4)).tolist() for _ in range(num_rows)] + [[1]]
    phrases = [sorted(set(rng.integers(0, 5, rng.integers(0, 4)).tolist())) for _ in range(num_rows)] + [[2]]
    result = score(messages, concepts=phrases)
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
