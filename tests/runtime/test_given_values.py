"""Corpora that are made in Python: what is given is taken as it is meant, or refused with its place."""

import numpy as np
import pytest

import ecsuite
from ecsuite.corpus import Corpus
from ecsuite.runtime.errors import CorpusError
from ecsuite.runtime.ragged import Ragged

PADDED = np.ma.array([[1, 2], [3, 0]], mask=[[False, False], [False, True]])
FAULTS = {
    "an id beyond 31 bits": (
        lambda: Corpus([[1], [2**31]]), "message 1: expected integers below 2147483648, got 2147483648",
    ),
    "an id that would wrap to 1": (
        lambda: Corpus(np.array([[2**32 + 1]])), "message 0: expected integers below 2147483648, got 4294967297",
    ),
    "a negative id in rows": (lambda: Corpus(Ragged.from_rows([[-3]])), "messages: expected integers from 0, got -3"),
    "no messages": (lambda: Corpus(None), "expected a list of integers for each message, got None"),
    "a text as messages": (lambda: Corpus.from_strings("a b"), "expected a list of texts, got 'a b'"),
    "a message that is no text": (lambda: Corpus.from_strings(["a", None]), "message 1: expected a text, got None"),
    "masked messages": (lambda: Corpus(PADDED), "expected values, got a masked array"),
    "masked meanings": (lambda: Corpus([[1], [2]], meanings=PADDED), "expected values, got a masked array"),
    "fewer meanings": (lambda: Corpus.from_strings(["a", "b"], [[1]]), "2 messages, and 1 meanings"),
    "one meaning": (lambda: Corpus([[1]], meanings=5), "expected a meaning for each message, got 5"),
    "fewer lists of concepts": (lambda: Corpus([[1], [2]], concepts=[[0]]), "2 messages, and 1 lists of concepts"),
    "a concept that is no id": (
        lambda: Corpus([[1]], concepts=[["red"]]),
        "concepts of message 0: expected a list of integers from 0, got ['red']",
    ),
    "fewer names of symbols": (
        lambda: Corpus([[1], [2]], symbol_names=["a", "b"]), "symbol_names: expected 3 names, got 2",
    ),
    "fewer names of concepts": (
        lambda: Corpus([[1]], concepts=[[1]], concept_names=["red"]), "concept_names: expected 2 names, got 1",
    ),
    "fewer names of attributes": (
        lambda: Corpus([[1]], meanings=[[1, 2]], attribute_names=["color"]),
        "attribute_names: expected 2 names, got 1",
    ),
    "more names of attributes": (
        lambda: Corpus([[1]], meanings=[[1]], attribute_names=["color", "shape"]),
        "attribute_names: expected 1 names, got 2",
    ),
    "a text as names": (
        lambda: Corpus([[1]], meanings=[[1, 2]], attribute_names="ab"),
        "attribute_names: expected a list of names, got 'ab'",
    ),
    "two symbols of one name": (
        lambda: Corpus([[0], [2]], symbol_names=["a", "b", "a"]),
        "symbol_names: expected different names, got 'a' at 0 and 2",
    ),
    "two attributes of one name": (
        lambda: Corpus([[1]], meanings=[[1, 2]], attribute_names=["color", "color"]),
        "attribute_names: expected different names, got 'color' at 0 and 1",
    ),
    "names by number": (
        lambda: Corpus([[0], [1]], symbol_names={1: "a", 0: "b"}),
        "symbol_names: expected a list of names, got {1: 'a', 0: 'b'}",
    ),
    "a number as names": (lambda: Corpus([[0]], symbol_names=1), "symbol_names: expected a list of names, got 1"),
    "a negative EOS": (
        lambda: Corpus([[1]], eos=-1), "eos: expected an integer from 0 to 2147483647, or None, got -1",
    ),
    "an EOS that is a text": (
        lambda: Corpus([[1]], eos="0"), "eos: expected an integer from 0 to 2147483647, or None, got '0'",
    ),
    "columns without names": (lambda: Corpus([[1]], columns=["a"]), "columns: expected values by name, got ['a']"),
    "metadata without names": (lambda: Corpus([[1]], metadata=["a"]), "metadata: expected values by name, got ['a']"),
    "no texts": (lambda: Corpus.from_strings(None), "expected a list of texts, got None"),
    "a text as a column": (
        lambda: Corpus([[1], [2]], columns={"speaker": "ab"}), "column speaker: expected a list of values, got 'ab'",
    ),
    "negative lengths": (
        lambda: Corpus.from_arrays([[1, 2], [3, 4]], [-1, 1]), "lengths: expected 0 to 2, got -1 to 1",
    ),
    "lengths beyond the array": (
        lambda: Corpus.from_arrays([[1, 2], [3, 4]], [5, 1]), "lengths: expected 0 to 2, got 1 to 5",
    ),
    "fewer lengths": (
        lambda: Corpus.from_arrays([[1, 2], [3, 4]], [1]), "lengths: expected 2 integers, got array([1])",
    ),
    "broken lengths": (lambda: Corpus.from_arrays([[1, 2]], [0.5]), "lengths: expected 1 integers, got array([0.5])"),
    "an array of one dimension": (
        lambda: Corpus.from_arrays([1, 2]), "expected an array of two dimensions, got [1, 2]",
    ),
    "rows of two lengths": (
        lambda: Corpus.from_arrays([[1, 2], [1]]), "expected an array of two dimensions, got [[1, 2], [1]]",
    ),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_it_is_refused_with_its_place(fault):
    make, message = FAULTS[fault]
    with pytest.raises(CorpusError) as error:
        make()
    assert str(error.value).startswith(message)


@pytest.mark.parametrize(
    "meanings",
    [{"color": ["r", None, None], "n": [1, 2, 3]}, [{"color": "r", "n": 1}, {"n": 2}, {"n": 3}]],
    ids=["columns", "mappings"],
)
def test_a_missing_value_is_the_reason_why_there_are_no_meanings(meanings):
    corpus = Corpus([[1], [2], [3]], meanings=meanings)
    assert corpus.meanings is None
    (score,) = ecsuite.score(corpus, ["posdis"]).scores
    assert score.reason == "message 1 lacks color, and 1 more values"
