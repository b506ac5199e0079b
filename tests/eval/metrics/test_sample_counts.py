"""Counts of words and phrases part by part are those of the whole corpus."""

import numpy as np
import pytest
from languages import corpus_of

from ecsuite.eval.metrics import sample_counts
from ecsuite.eval.metrics.sample_counts import Samples
from ecsuite.eval.metrics.translation_graph import translate


@pytest.fixture(params=[(1 << 18, 1 << 22), (7, 1 << 22), (7, 1)], ids=["one part", "parts", "no tables"])
def sizes(request, monkeypatch):
    """Samples of a part, and entries of a table."""
    rows, entries = request.param
    monkeypatch.setattr(sample_counts, "ROWS", rows)
    monkeypatch.setattr(sample_counts, "_MAX_TABLE", entries)


@pytest.mark.parametrize("count", ["tokens", "types"])
@pytest.mark.parametrize("repeats", [False, True])
def test_counts_are_those_of_the_translation_graph(sizes, count, repeats):
    rng = np.random.default_rng(3)
    messages = [rng.integers(1, 9, rng.integers(0, 6)).tolist() for _ in range(60)]
    phrases = [rng.choice(6, rng.integers(1, 4), replace=repeats).tolist() for _ in range(60)]
    corpus = corpus_of(messages, None, phrases)
    expected, samples = translate(corpus, count), Samples(corpus, count)
    weights, present = samples.cooccurrences()
    assert (weights == expected.weights).all() and (present == expected.present).all()
    assert samples.words_per_row().tolist() == expected.words.per_row.tolist()
    assert samples.concepts_per_row().tolist() == expected.concepts.per_row.tolist()
    assert samples.word_totals.tolist() == expected.words.totals().tolist()
    assert samples.concept_totals.tolist() == expected.concepts.totals().tolist()
    word, concept = expected.word, expected.concept
    different, with_word = samples.understood(word, concept)
    shares = np.stack(
        [present[word, concept] / samples.word_totals[word], with_word / samples.concept_totals[concept]]
    )
    assert shares.T.tolist() == expected.shares()
    named = dict(zip(word.tolist(), concept.tolist(), strict=True))
    by_hand = [
        len(
            {
                kind
                for kind in map(list(samples.word_ids).index, set(message))
                if named.get(kind, -1) in phrase
            }
        )
        for message, phrase in zip(messages, phrases, strict=True)
    ]
    assert different.tolist() == by_hand
    assert samples.word_name(0) == 1
