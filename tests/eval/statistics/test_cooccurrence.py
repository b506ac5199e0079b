"""Incidence tables: definition of words and of concepts."""

import numpy as np
import pytest

from ecsuite.corpus import Corpus, Ragged
from ecsuite.eval.statistics.cooccurrence import NO_CONCEPTS, Incidence, concept_rows


def test_words_and_named_concepts():
    corpus = Corpus(
        messages=Ragged.from_rows([[7, 3, 7, 0, 5], [], [3]]),
        eos=0,
        concepts=Ragged.from_rows([[4, 1, 4], [], [1]]),
    )
    incidence = Incidence.of(corpus)
    assert incidence.words.toarray().tolist() == [[1, 2], [0, 0], [1, 0]]
    assert incidence.concepts.toarray().tolist() == [[1, 1], [0, 0], [1, 0]]
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
    paired = Incidence.of(corpus).paired(np.array([0, 1]), np.array([1, 0]))
    assert paired.words.toarray().tolist() == [[1, 0], [0, 1]]
    assert paired.concepts.toarray().tolist() == [[0, 1], [1, 0]]


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
    assert Incidence.of(Corpus(messages=Ragged.from_rows([[], []]), **known)) == reason
