"""CBM as a function of the corpus size: each point is the metric on a part of the corpus."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from languages import corpus_of, score_of

from ecsuite.eval.metrics.cbm import cbm, cbm_types, sensitivity
from ecsuite.runtime.errors import CorpusError


def part_score(messages, concepts, metric):
    return score_of(metric, messages, None, concepts, eos=0).value


rows = st.lists(
    st.tuples(st.lists(st.integers(0, 5), max_size=4), st.sets(st.integers(0, 4), max_size=3)),
    min_size=1,
    max_size=14,
)


@settings(max_examples=12, deadline=None)
@given(rows, st.integers(1, 6), st.booleans())
def test_every_point_is_the_metric_of_its_part(pairs, step, as_types):
    messages, concepts = [said for said, _ in pairs], [sorted(meant) for _, meant in pairs]
    if not any(concepts):
        return
    metric, count = (cbm_types, "types") if as_types else (cbm, "tokens")
    curves = sensitivity(corpus_of(messages, None, concepts, eos=0), count=count, step=step)
    assert curves["sizes"] == [*range(step, len(pairs), step), len(pairs)]
    assert len(curves["segmented"]) == len(pairs) // step
    for size, value in zip(curves["sizes"], curves["accumulated"], strict=True):
        if any(concepts[:size]):
            assert value == pytest.approx(part_score(messages[:size], concepts[:size], metric))
    for index, value in enumerate(curves["segmented"]):
        part = slice(index * step, (index + 1) * step)
        if any(concepts[part]):
            assert value == pytest.approx(part_score(messages[part], concepts[part], metric))


def test_repeated_concepts_count_as_in_the_metric():
    messages, concepts = [[1, 2, 2]] * 3, [[0, 0, 1]] * 3
    curves = sensitivity(corpus_of(messages, None, concepts), step=2)
    value = part_score(messages, concepts, cbm)
    assert curves["accumulated"] == [value, value] and curves["segmented"] == [value]


def test_a_perfect_language_is_flat():
    concepts = np.arange(1_000)[:, None] % 17
    curves = sensitivity(corpus_of(concepts + 1, None, concepts))
    assert curves == {
        "step": 100,
        "count": "tokens",
        "sizes": list(range(100, 1_001, 100)),
        "accumulated": [1.0] * 10,
        "accumulated_sd": 0.0,
        "segmented": [1.0] * 10,
        "segmented_sd": 0.0,
    }


def test_few_samples_of_noise_score_higher():
    """As in the paper: small evaluation sets are easy to match."""
    rng = np.random.default_rng(0)
    curves = sensitivity(corpus_of(rng.integers(0, 60, (1_800, 4)), None, rng.integers(0, 50, (1_800, 1))))
    assert len(curves["segmented"]) == 18
    assert min(curves["segmented"]) > 2 * curves["accumulated"][-1]
    assert curves["accumulated"][0] == curves["segmented"][0] == max(curves["accumulated"])
    assert curves["segmented_sd"] == pytest.approx(np.std(curves["segmented"], ddof=1))
    json.dumps(curves, allow_nan=False)


def test_parts_without_words_and_concepts():
    curves = sensitivity(corpus_of([[], [], [1], [1]], None, [[], [], [0], [0]]), step=2)
    assert (curves["accumulated"], curves["segmented"]) == ([None, 1.0], [None, 1.0])
    assert (curves["accumulated_sd"], curves["segmented_sd"]) == (None, None)


def test_a_corpus_shorter_than_a_segment():
    curves = sensitivity(corpus_of([[1], [2]], None, [[0], [1]]))
    assert (curves["sizes"], curves["accumulated"], curves["segmented"]) == ([2], [1.0], [])


@pytest.mark.parametrize(("num_rows", "step"), [(5_000, 100), (5_001, 200), (23_456, 500)])
def test_long_corpora_have_longer_segments(num_rows, step):
    concepts = np.arange(num_rows)[:, None] % 3
    curves = sensitivity(corpus_of(concepts, None, concepts))
    assert curves["step"] == step and len(curves["sizes"]) <= 50


def test_no_concepts():
    message = "the corpus has no concepts to match words with"
    with pytest.raises(CorpusError, match=message):
        sensitivity(corpus_of([[1]]))


def test_no_step():
    with pytest.raises(ValueError, match="step 0: expected at least 1 sample per segment"):
        sensitivity(corpus_of([[1]], None, [[0]]), step=0)
