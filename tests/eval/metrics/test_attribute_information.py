"""What messages tell about each attribute: languages with known answers, degenerate corpora, invariances."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from languages import score_of
from sklearn.metrics import mutual_info_score

from ecsuite.eval.metrics.entropies import attribute_information

score = partial(score_of, attribute_information)
ALL = np.stack(np.meshgrid(range(4), range(4), indexing="ij"), -1).reshape(-1, 2)
"""All pairs of two attributes of four values."""


def test_a_language_about_one_attribute():
    result = score(ALL[:, :1], ALL)
    assert result.details["bits"] == pytest.approx({"attribute0": 2, "attribute1": 0})
    assert result.details["shares"] == pytest.approx({"attribute0": 1, "attribute1": 0})
    assert result.value == pytest.approx(0.5) and result.details["sum_bits"] == pytest.approx(2)


def test_half_of_a_value_is_a_bit():
    """The first symbol tells whether the first attribute is below 2; the message as a whole counts, not a symbol."""
    result = score(np.stack([ALL[:, 0] // 2, ALL[:, 1] % 2, ALL[:, 1] // 2], -1), ALL)
    assert result.details["bits"] == pytest.approx({"attribute0": 1, "attribute1": 2})
    assert result.value == pytest.approx(0.75)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 80), st.integers(1, 9), st.integers(2, 6))
def test_scikit_learn_agrees(seed, num_rows, num_messages, num_values):
    rng = np.random.default_rng(seed)
    messages, meanings = rng.integers(0, num_messages, num_rows), rng.integers(0, num_values, (num_rows, 2))
    result = score(messages[:, None], meanings)
    if result.value is None:
        assert (np.ptp(meanings, axis=0) == 0).all()
        return
    for name, bits in result.details["bits"].items():
        expected = mutual_info_score(messages, meanings[:, int(name[-1])]) / np.log(2)
        assert bits == pytest.approx(expected, abs=1e-9)


def test_names_and_order_do_not_matter():
    rng = np.random.default_rng(0)
    messages, meanings = rng.integers(0, 3, (60, 2)), rng.integers(0, 3, (60, 2))
    order = rng.permutation(60)
    value = score(messages, meanings).value
    assert score(np.array([7, 3, 5])[messages], meanings).value == pytest.approx(value)
    assert score(messages, np.array([2, 0, 1])[meanings]).value == pytest.approx(value)
    assert score(messages[order], meanings[order]).value == pytest.approx(value)


def test_messages_that_occur_once_tell_everything_and_so_does_chance():
    result = score(np.arange(16)[:, None], ALL)
    assert result.value == pytest.approx(1) == result.chance.level


@pytest.mark.parametrize(
    "messages, meanings, reason",
    [
        ([[0], [1]], [[1, 1], [1, 1]], "every attribute is constant over all messages"),
        ([[], []], [[0, 1], [1, 0]], "every message is empty"),
        ([[0], [1]], None, "the corpus has no meanings"),
    ],
)
def test_undefined(messages, meanings, reason):
    result = score(messages, meanings)
    assert result.value is None and result.reason == reason


def test_equal_messages_tell_nothing():
    assert score([[0]] * 16, ALL).value == 0


def test_attributes_have_their_names_in_the_details():
    from ecsuite.corpus import Corpus
    from ecsuite.eval.metrics import find_metric
    from ecsuite.eval.metrics.score import Options

    meanings = [[0, 0, 5], [0, 1, 5], [1, 0, 5], [1, 1, 5]] * 3
    corpus = Corpus([[row[0], 2 + row[1]] for row in meanings], meanings=meanings)
    named = Corpus(corpus.messages, meanings=meanings, attribute_names=["color", "shape", "site"])
    for metric, key in (("attribute_information", "bits"), ("hce", "positions")):
        for about, names in ((corpus, ["attribute0", "attribute1"]), (named, ["color", "shape"])):
            (score,) = find_metric(metric)(about, Options())
            assert list(score.details[key]) == names
