"""Counts of words and phrases part by part are those of all rows at once."""

import numpy as np
import pytest
from languages import corpus_of

from ecsuite.eval.counts.cooccurrence import Occurrences
from ecsuite.eval.metrics import cbm as module
from ecsuite.eval.metrics.cbm import Samples, TranslationGraph
from ecsuite.eval.statistics.matching import best_match


@pytest.fixture(params=[(1 << 18, 1 << 22), (7, 1 << 22), (7, 1)], ids=["one part", "parts", "no tables"])
def sizes(request, monkeypatch):
    """Samples of a part, and entries of a table."""
    rows, entries = request.param
    monkeypatch.setattr(module, "ROWS", rows)
    monkeypatch.setattr(module, "_MAX_TABLE", entries)


@pytest.mark.parametrize("count", ["tokens", "types"])
@pytest.mark.parametrize("repeats", [False, True])
def test_counts_are_those_of_all_rows(sizes, count, repeats):
    rng = np.random.default_rng(3)
    messages = [rng.integers(1, 9, rng.integers(0, 6)).tolist() for _ in range(60)]
    phrases = [rng.choice(6, rng.integers(1, 4), replace=repeats).tolist() for _ in range(60)]
    corpus = corpus_of(messages, None, phrases)
    words, concepts = Occurrences.of(corpus.content(), count), Occurrences.of(corpus.concepts, count)
    samples = Samples(corpus, count)
    weights, present = samples.cooccurrences()
    assert (weights == (words.matrix().T @ concepts.matrix()).toarray()).all()
    assert (present == (words.matrix().T @ concepts.once().matrix()).toarray()).all()
    assert samples.words_per_row().tolist() == words.per_row.tolist()
    assert samples.concepts_per_row().tolist() == concepts.per_row.tolist()
    assert samples.word_totals.tolist() == words.totals().tolist()
    assert samples.concept_totals.tolist() == concepts.totals().tolist()
    word, concept = best_match(weights)
    different, with_word = samples.understood(word, concept)
    together = (words.once().matrix().T @ concepts.matrix()).toarray()
    assert with_word.tolist() == together[word, concept].tolist()
    graph = TranslationGraph(samples=samples, weights=weights, present=present, word=word, concept=concept)
    assert (graph.shares()[:, 1] == with_word / concepts.totals()[concept]).all()
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
    assert samples.word_names[0] == 1
