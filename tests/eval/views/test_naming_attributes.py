"""Attributes that name objects, as names of files do, are told, since no parts of messages can say them."""

import numpy as np
import pytest

import ecsuite
from ecsuite.corpus import Corpus
from ecsuite.eval.views.scorecard import naming_attributes

RNG = np.random.default_rng(0)
KINDS = RNG.integers(0, 3, (60, 2))
FILES = np.arange(60)[:, None]


def corpus_about(meanings):
    return Corpus(RNG.integers(1, 5, (len(meanings), 3)).tolist(), meanings=np.asarray(meanings))


@pytest.mark.parametrize(
    ("meanings", "expected"),
    [
        (np.hstack([KINDS, FILES]), [2]),
        (np.repeat(np.hstack([KINDS, FILES]), 30, axis=0), [2]),  # several messages about each object
        (np.hstack([FILES, KINDS]).astype(str), [0]),
        (FILES, [0]),
        (np.repeat(FILES, 2, axis=0), []),  # kinds of objects that recur
        (KINDS, []),
        (np.hstack([KINDS, FILES])[:12], []),  # of few objects, any attribute may have as many values
        (np.hstack([KINDS, FILES]).astype(float), []),  # features
        (np.zeros((60, 2), int), []),
    ],
    ids=lambda value: str(value)[:12] if isinstance(value, list) else "meanings",
)
def test_attributes_with_a_value_for_each_object(meanings, expected):
    assert naming_attributes(corpus_about(meanings)) == expected


def test_the_short_page_says_so():
    card = ecsuite.score(corpus_about(np.hstack([KINDS, FILES])), "posdis")
    line = "Attribute 2 (from 0) names each object, so no message part can express it."
    assert line in str(card) and card.to_json()["corpus"]["naming_attributes"] == [2]
    assert "names each object" not in str(ecsuite.score(corpus_about(KINDS), "posdis"))
