"""The translation graph: known tables, and comparison with a count in plain Python."""

from collections import Counter
from itertools import product

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from languages import corpus_of

from ecsuite.eval.metrics.cbm import translate


def translation_of(messages, concepts, count="tokens", **more):
    return translate(corpus_of(messages, None, concepts, **more), count)


def test_known_tables():
    """Word 7 twice in a message with concept 5 twice: four co-occurrences, two occurrences of the word."""
    graph = translation_of([[7, 7, 9, 0], [9, 0]], [[5, 5], [3]], eos=0)
    assert graph.samples.word_ids.tolist() == [7, 9] and graph.samples.phrases.ids.tolist() == [3, 5]
    assert graph.weights.tolist() == [[0, 4], [1, 2]]
    assert graph.present.tolist() == [[0, 2], [1, 1]]
    assert graph.samples.words_per_row().tolist() == [3, 1]
    assert graph.samples.concepts_per_row().tolist() == [2, 1]
    assert graph.samples.word_totals.tolist() == [2, 2]
    assert graph.samples.concept_totals.tolist() == [1, 2]
    assert (graph.word.tolist(), graph.concept.tolist()) == ([0, 1], [1, 0])
    assert graph.shares().tolist() == [[1, 1], [0.5, 1]]


def test_known_tables_of_types():
    graph = translation_of([[7, 7, 9, 0], [9, 0]], [[5, 5], [3]], "types", eos=0)
    assert graph.weights.tolist() == graph.present.tolist() == [[0, 1], [1, 1]]
    assert graph.samples.words_per_row().tolist() == [2, 1]
    assert graph.samples.concepts_per_row().tolist() == [1, 1]


def test_names():
    named = translation_of([[1], [0]], [[1], [0]], symbol_names=("ba", "gu"), concept_names=("red", "blue"))
    assert [named.samples.word_names[0], named.samples.phrases.names[1]] == ["ba", "blue"]
    bare = translation_of([[4]], [[6]])
    assert [bare.samples.word_names[0], bare.samples.phrases.names[0]] == [4, 6]


tokens = st.lists(st.integers(0, 4), max_size=5)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(tokens, tokens), min_size=1, max_size=8), st.booleans())
def test_tables_against_a_plain_count(rows, as_types):
    kept = (lambda row: sorted(set(row))) if as_types else list
    graph = translation_of(
        [said for said, _ in rows], [meant for _, meant in rows], "types" if as_types else "tokens"
    )
    if graph is None:
        assert not any(meant for _, meant in rows)
        return
    weights, present = Counter(), Counter()
    for said, meant in rows:
        weights.update(product(kept(said), kept(meant)))
        present.update(product(kept(said), set(meant)))
    for table, expected in ((graph.weights, weights), (graph.present, present)):
        cells = product(
            enumerate(graph.samples.word_ids.tolist()), enumerate(graph.samples.phrases.ids.tolist())
        )
        assert all(table[i, j] == expected[word, concept] for (i, word), (j, concept) in cells)
        assert table.sum() == expected.total()
    assert (np.diff(graph.weights[graph.word, graph.concept]) <= 0).all()
