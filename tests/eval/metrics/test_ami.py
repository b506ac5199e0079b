"""AMI: comparison with scikit-learn, constructed languages, degenerate corpora."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from languages import score_of, scores_of
from sklearn.metrics import adjusted_mutual_info_score
from sklearn.metrics.cluster import contingency_matrix, expected_mutual_information

from ecsuite.eval.metrics.associations import ami, expected_information

both_scores, score = partial(scores_of, ami), partial(score_of, ami)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(3, 60), st.integers(1, 20), st.integers(1, 20))
def test_scikit_learn_agrees(seed, num_rows, num_messages, num_meanings):
    rng = np.random.default_rng(seed)
    messages, meanings = rng.integers(0, num_messages, num_rows), rng.integers(0, num_meanings, num_rows)
    for result, method in zip(
        both_scores(messages[:, None], meanings[:, None]), ("max", "arithmetic"), strict=True
    ):
        if result.value is None:
            assert {len(set(messages)), len(set(meanings))} & {1, num_rows}
        else:
            expected = adjusted_mutual_info_score(messages, meanings, average_method=method)
            assert result.value == pytest.approx(expected, abs=1e-9)
            assert f"|normaliser:{method}|" in result.signature


def test_concepts_stand_in_for_attributes_as_sets():
    result = score([[1], [1], [1], [2], [2]], concepts=[[0, 1], [1, 0], [1, 0, 0], [2], [2]])
    assert result.value == pytest.approx(1)
    assert "label:concepts" in result.signature


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 300), st.integers(1, 60), st.integers(1, 60))
def test_expected_information(seed, num_rows, num_first, num_second):
    """Scikit-learn loops over all pairs of classes."""
    rng = np.random.default_rng(seed)
    first, second = rng.integers(0, num_first, num_rows), rng.integers(0, num_second, num_rows)
    table = contingency_matrix(first, second, sparse=True, dtype=np.int64)
    expected = expected_mutual_information(table, num_rows)
    found = expected_information(np.bincount(first), np.bincount(second))
    assert found == pytest.approx(expected, abs=1e-9)


def test_words_for_more_than_was_meant_cost_less_by_the_mean_of_the_entropies():
    meanings = np.repeat(np.arange(4), 50)
    messages = np.arange(200) // 2  # 25 words for each meaning, each said twice
    by_max, by_mean = both_scores(messages[:, None], meanings[:, None])
    information, entropy = np.log(4), np.log(100)
    chance = expected_information(np.bincount(messages), np.bincount(meanings))
    assert by_max.value == pytest.approx((information - chance) / (entropy - chance))
    assert by_mean.value == pytest.approx((information - chance) / ((entropy + information) / 2 - chance))


def test_no_interval_where_a_half_may_lack_recurrence():
    meanings = np.arange(20)
    meanings[1] = 0
    assert score(meanings[:, None], meanings[:, None]).ci95 is None
