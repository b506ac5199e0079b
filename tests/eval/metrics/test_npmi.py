"""Non-compositional NPMI: constructed languages, a reference implementation, the results of another tool."""

from collections import Counter
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from languages import grid, score_of

from ecsuite.eval.metrics.associations import ncnpmi
from ecsuite.eval.metrics.conclusions import p_value

GRID = np.tile(grid(3, 3), (4, 1))
score = partial(score_of, ncnpmi)


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


def test_a_half_is_not_above_half():
    result = score([[0], [0], [1], [1]], [[0], [1], [2], [3]])
    assert (result.value, result.details["above_half"]) == (0.5, 0)


def test_messages_that_never_recur_score_high_and_the_null_says_so():
    result = score(np.arange(36)[:, None], GRID)
    assert result.value == pytest.approx(np.log(9) / np.log(36))
    assert result.chance.level == pytest.approx(result.value)
    assert p_value(result) == 1


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_definition(seed):
    rng = np.random.default_rng(seed)
    num_rows = int(rng.integers(2, 30))
    messages = [rng.integers(0, 2, rng.integers(0, 3)).tolist() for _ in range(num_rows)] + [[0], [1]]
    meanings = rng.integers(0, 3, (num_rows + 2, 1))
    assert score(messages, meanings).value == pytest.approx(slow_npmi(messages, meanings.tolist()))


def test_emlangkit_agrees_where_pairs_occur():
    """NPMI of pairs by emlangkit 0.3.0 (commit f34adae3, `metrics/nc_npmi.py`), run on this; elsewhere it has NaN."""
    of_rows = [1.0, 1.0, 0.6131471927654584, 0.0, 0.38685280723454163, 0.38685280723454163]
    messages, meanings = [[1, 1], [1, 1], [1, 2], [1, 2], [2, 2], [2, 1]], [[0], [0], [1], [2], [2], [2]]
    result = score(messages, meanings)
    assert result.value == pytest.approx(np.mean(of_rows))
    assert result.details["above_half"] == pytest.approx(3 / 6)
