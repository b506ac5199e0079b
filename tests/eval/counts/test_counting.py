"""Labels of rows, codes of attributes, words and concepts and their co-occurrences, beside plain Python."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecsuite.corpus import Corpus
from ecsuite.eval.counts import cooccurrence, counting
from ecsuite.eval.counts.cooccurrence import NO_CONCEPTS, Cells, Occurrences, concept_rows, incidence_of
from ecsuite.eval.metrics import cbm
from ecsuite.eval.metrics.associations import assigned
from ecsuite.eval.metrics.cbm import Samples, TranslationGraph, cooccurrence_counter, groups_of
from ecsuite.eval.statistics.contingency import first_rows, num_codes
from ecsuite.eval.statistics.matching import best_match
from ecsuite.runtime.ragged import Ragged
from languages import corpus_of


@pytest.mark.parametrize("size", [1, 2, 3, 100])
def test_sets_of_concepts_in_blocks_of_any_size(size, monkeypatch):
    monkeypatch.setattr(Ragged.blocks, "__defaults__", (size,))
    rows = [[2, 0, 2], [], [1], [0, 1, 0], [5], [3, 2], []]
    corpus = Corpus([[1]] * 7, concepts=rows, concept_names=list("abcdef"))
    assert [row.tolist() for row in counting.concept_sets(corpus)] == [sorted({*row}) for row in rows]


@pytest.mark.sample(1)
@pytest.mark.parametrize("highest", [3, 1 << 30])
@given(st.data())
def test_rows_are_numbered_in_order_of_first_occurrence(highest, data):
    """Of short rows of few symbols, and of long ones of many, which are compared as a whole."""
    values = st.sampled_from([0, 1, 2, highest])
    rows = data.draw(st.lists(st.lists(values, max_size=12), min_size=1, max_size=12))
    distinct = list(dict.fromkeys(map(tuple, rows)))
    labels = [distinct.index(tuple(row)) for row in rows]
    assert counting.row_labels(Ragged.from_rows(rows)).tolist() == labels
    assert counting.num_distinct_rows(Ragged.from_rows(rows)) == len(distinct)


@pytest.mark.parametrize("shape", [(0, 2), (5, 0), (1, 1), (40, 1), (40, 3), (3, 30)])
def test_vectors_are_counted_and_numbered(shape):
    codes = np.random.default_rng(0).integers(0, 3, shape)
    distinct = list(dict.fromkeys(map(tuple, codes.tolist())))
    labels = counting.distinct_vectors(codes)
    assert labels.tolist() == [distinct.index(tuple(row)) for row in codes.tolist()]
    assert num_codes(*counting.meaning_codes(Corpus([[0]] * len(codes), meanings=codes))) == len(distinct)
    firsts = [labels.tolist().index(each) for each in range(len(distinct))]
    assert first_rows(labels, len(distinct)).tolist() == firsts


@pytest.mark.parametrize("kind", [np.int8, np.uint16, np.int64, np.bool_, "U8"])
def test_attribute_values_are_numbered_in_ascending_order(kind):
    columns = np.array([[-3, 100], [7, 100], [-3, 0], [127, 5]]).astype(kind)
    codes = counting.attribute_codes(Corpus([[0]] * 4, meanings=columns))
    assert codes.T.tolist() == [[sorted(set(c)).index(v) for v in c] for c in columns.T.tolist()]


def test_incidences_of_words_and_concepts_by_hand():
    corpus = corpus_of([[7, 3, 7, 0, 5], [], [3]], None, [[4, 1, 4], [], [1]], eos=0)
    incidence = incidence_of(corpus)[1]
    [units] = incidence.units(*incidence.own_pairing())
    assert (units.word.tolist(), units.tokens.tolist()) == ([0, 1, 0], [1, 2, 1])
    assert incidence.concepts[:, units.phrase].T.tolist() == [[0, 1], [0, 1], [0, 2]]
    assert concept_rows(corpus)[0] == "concepts" and incidence.work() == 5
    meanings = np.array([["red", "big"], ["blue", "big"], ["red", "tiny"]])
    corpus = corpus_of([[1], [2], [3]], meanings)
    kind, rows = concept_rows(corpus)
    assert kind == "attributes" and [rows[i].tolist() for i in range(3)] == [[1, 2], [0, 2], [1, 3]]
    corpus = corpus_of([[1], [2]], [[0], [1]])
    incidence = incidence_of(corpus)[1]
    [units] = incidence.units(np.array([0, 1]), np.array([1, 0]))
    assert units.word.tolist() == [0, 1] and incidence.concepts[:, units.phrase].tolist() == [[1, 0]]
    least, most = np.iinfo(np.int64).min, np.iinfo(np.int64).max
    codes = counting.attribute_codes(Corpus([[0]] * 3, meanings=np.array([[most], [least], [0]])))
    assert codes.tolist() == [[2], [0], [1]]


def test_large_corpora_are_counted_alike(monkeypatch):
    """In blocks, with equal pairs joined, and with a list of cells instead of a table."""
    rng = np.random.default_rng(0)
    meanings, length = rng.integers(0, 3, (60, 3)), rng.integers(0, 5, 60)
    corpus = corpus_of([rng.integers(0, 4, each) for each in length], meanings)
    rows, found = np.arange(0, 60, 2), set()
    for most in (1 << 22, 40, 1):
        monkeypatch.setattr(cooccurrence, "_MOST_PAIRS", most)
        incidence = incidence_of(corpus)[1]
        of_pairs = [assigned(incidence, [(rows, rows[::-1])], align=each)[0] for each in (True, False)]
        found.add(str([[part.tolist() for part in each] for each in of_pairs]) + str(incidence.work()))
    assert len(found) == 1


@pytest.mark.parametrize(
    ("known", "reason"),
    [
        ({}, NO_CONCEPTS),
        ({"meanings": np.array([[0.5], [1.0]])}, NO_CONCEPTS),
        ({"meanings": np.zeros((2, 0), int)}, NO_CONCEPTS),
        ({"concepts": Ragged.from_rows([[], []])}, NO_CONCEPTS),
        ({"meanings": np.array([[0], [1]])}, "every message is empty"),
    ],
)
def test_undefined(known, reason):
    corpus = Corpus(messages=Ragged.from_rows([[], []]), **known)
    assert incidence_of(corpus)[1] == reason


@pytest.mark.parametrize("size", [1000, cooccurrence._MOST_PAIRS + 1], ids=["table", "list"])
def test_a_large_table_is_counted_when_much_was_added(monkeypatch, size):
    """Counting it for each of thousands of attributes would cost its size each time."""
    rng, counted = np.random.default_rng(0), []
    cells, weights = rng.integers(0, 1000, (60, 40)), rng.integers(1, 9, (60, 40)) / 4.0
    bincount = np.bincount
    monkeypatch.setattr(np, "bincount", lambda *given: counted.append(1) or bincount(*given))
    table = Cells(size)
    for some, own in zip(cells, weights, strict=True):
        table.add(some, own)
    table.add(cells[0])
    found, sums = table.sums()
    assert len(counted) <= 3
    expected = bincount(cells.ravel(), weights.ravel(), 1000) + bincount(cells[0], minlength=1000)
    assert found.tolist() == np.flatnonzero(expected).tolist() and (sums == expected[found]).all()


def test_shares_whose_order_matters_are_added_in_their_order():
    table, expected = Cells(50), np.zeros(50)
    for number, (cells, share) in enumerate([([1, 2], 0.25), ([2, 3], 1 / 3), ([2, 2], 0.1), ([1, 2], 0.5)]):
        add = table.add if number in (0, 3) else table.add_in_order
        add(np.array(cells), np.full(2, share))
        np.add.at(expected, cells, share)
    assert (table.sums()[1] == expected[1:4]).all()


ROWS = st.lists(st.lists(st.integers(0, 4), max_size=4), min_size=1, max_size=9).filter(any)


@pytest.mark.sample(1)
@pytest.mark.parametrize("max_table", [0, 12, 1 << 20])
@given(ROWS, st.data())
def test_groups_count_as_pairs_do(max_table, phrases, data):
    """Whether all concepts are one group or each is its own."""
    num_words = 3
    tokens = st.tuples(st.integers(0, num_words - 1), st.integers(0, len(phrases) - 1))
    words, rows = np.array(data.draw(st.lists(tokens, min_size=1, max_size=20)), np.int64).T
    partners = np.array(data.draw(st.permutations(range(len(phrases)))))
    concepts = Occurrences.of(Ragged.from_rows(phrases), "tokens")
    expected = np.zeros((num_words, len(concepts.ids)), int)
    for word, row in zip(words, rows, strict=True):
        for concept in phrases[partners[row]]:
            expected[word, concepts.ids.tolist().index(concept)] += 1
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cbm, "_MAX_CODES_TABLE", max_table)
        groups = groups_of(concepts, num_words, num_tokens=1000)
        found = cooccurrence_counter(concepts, num_words, num_tokens=1000)(words, partners[rows])
    assert found.tolist() == expected.tolist()
    longest = max(map(len, phrases))
    assert len(groups) == (1 if max_table > 1000 else longest if not max_table else len(groups))


@pytest.fixture(params=[(1 << 18, 1 << 22), (7, 1 << 22), (7, 1)], ids=["one part", "parts", "no tables"])
def sizes(request, monkeypatch):
    """Samples of a part, and entries of a table."""
    rows, entries = request.param
    monkeypatch.setattr(cbm, "ROWS", rows)
    monkeypatch.setattr(cbm, "_MAX_TABLE", entries)


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
        len({kind for kind in map(list(samples.word_ids).index, set(message)) if named.get(kind, -1) in phrase})
        for message, phrase in zip(messages, phrases, strict=True)
    ]  # fmt: skip
    assert different.tolist() == by_hand and samples.word_names[0] == 1
