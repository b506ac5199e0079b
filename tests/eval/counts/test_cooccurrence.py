"""Incidence tables: definition of words and of concepts."""

import numpy as np
import pytest

from ecsuite.corpus import Corpus
from ecsuite.eval.counts import cooccurrence
from ecsuite.eval.counts.cooccurrence import NO_CONCEPTS, Cells, concept_rows, incidence_of
from ecsuite.eval.metrics.associations import assigned
from ecsuite.runtime.ragged import Ragged


def test_words_and_named_concepts():
    corpus = Corpus(
        messages=Ragged.from_rows([[7, 3, 7, 0, 5], [], [3]]),
        eos=0,
        concepts=Ragged.from_rows([[4, 1, 4], [], [1]]),
    )
    incidence = incidence_of(corpus)[1]
    [units] = incidence.units(*incidence.own_pairing())
    assert (units.word.tolist(), units.tokens.tolist()) == ([0, 1, 0], [1, 2, 1])
    assert incidence.concepts[:, units.phrase].T.tolist() == [[0, 1], [0, 1], [0, 2]]
    assert concept_rows(corpus)[0] == "concepts"
    assert incidence.work() == 5


def test_attribute_values_stand_in_for_concepts():
    meanings = np.array([["red", "big"], ["blue", "big"], ["red", "tiny"]])
    corpus = Corpus(messages=Ragged.from_rows([[1], [2], [3]]), meanings=meanings)
    kind, rows = concept_rows(corpus)
    assert kind == "attributes"
    assert [rows[i].tolist() for i in range(3)] == [[1, 2], [0, 2], [1, 3]]


def test_pairing_shuffles_concepts_alone():
    corpus = Corpus(messages=Ragged.from_rows([[1], [2]]), meanings=np.array([[0], [1]]))
    incidence = incidence_of(corpus)[1]
    [units] = incidence.units(np.array([0, 1]), np.array([1, 0]))
    assert units.word.tolist() == [0, 1]
    assert incidence.concepts[:, units.phrase].tolist() == [[1, 0]]


def test_large_corpora_are_counted_alike(monkeypatch):
    """In blocks, with equal pairs joined, and with a list of cells instead of a table."""
    rng = np.random.default_rng(0)
    meanings, length = rng.integers(0, 3, (60, 3)), rng.integers(0, 5, 60)
    corpus = Corpus(
        messages=Ragged.from_rows([rng.integers(0, 4, each) for each in length]), meanings=meanings
    )
    rows = np.arange(0, 60, 2)
    found = set()
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
