import numpy as np
import pytest

import ecsuite
from ecsuite.corpus import Corpus
from ecsuite.runtime.errors import CorpusError
from ecsuite.runtime.ragged import Ragged

PADDED = np.ma.array([[1, 2], [3, 0]], mask=[[False, False], [False, True]])
FAULTS = [
    (lambda: Corpus([[1], [2**31]]), "message 1: expected integers below 2147483648, got 2147483648"),
    (lambda: Corpus(np.array([[2**32 + 1]])), "message 0: expected integers below 2147483648, got 4294967297"),
    (lambda: Corpus(Ragged.from_rows([[-3]])), "messages: expected integers from 0, got -3"),
    (lambda: Corpus(None), "expected a list of integers for each message, got None"),
    (lambda: Corpus.from_strings("a b"), "expected a list of texts, got 'a b'"),
    (lambda: Corpus.from_strings(["a", None]), "message 1: expected a text, got None"),
    (lambda: Corpus(PADDED), "expected values, got a masked array"),
    (lambda: Corpus([[1], [2]], meanings=PADDED), "expected values, got a masked array"),
    (lambda: Corpus.from_strings(["a", "b"], [[1]]), "2 messages, and 1 meanings"),
    (lambda: Corpus([[1]], meanings=5), "expected a meaning for each message, got 5"),
    (lambda: Corpus([[1], [2]], concepts=[[0]]), "2 messages, and 1 lists of concepts"),
    (lambda: Corpus([[1]], concepts=[["red"]]), "concepts of message 0: expected a list of integers from 0, got"),
    (lambda: Corpus([[1], [2]], symbol_names=["a", "b"]), "symbol_names: expected 3 names, got 2"),
    (lambda: Corpus([[1]], concepts=[[1]], concept_names=["red"]), "concept_names: expected 2 names, got 1"),
    (lambda: Corpus([[1]], meanings=[[1, 2]], attribute_names=["a"]), "attribute_names: expected 2 names, got 1"),
    (lambda: Corpus([[1]], meanings=[[1]], attribute_names=["a", "b"]), "attribute_names: expected 1 names, got 2"),
    (lambda: Corpus([[1]], meanings=[[1, 2]], attribute_names="ab"), "attribute_names: expected a list of names, got"),
    (lambda: Corpus([[0], [2]], symbol_names=["a", "b", "a"]), "symbol_names: expected different names, got 'a' at 0"),
    (lambda: Corpus([[1]], meanings=[[1, 2]], attribute_names=["a", "a"]), "attribute_names: expected different names"),
    (lambda: Corpus([[0], [1]], symbol_names={1: "a", 0: "b"}), "symbol_names: expected a list of names, got {1"),
    (lambda: Corpus([[0]], symbol_names=1), "symbol_names: expected a list of names, got 1"),
    (lambda: Corpus([[1]], eos=-1), "eos: expected an integer from 0 to 2147483647, or None, got -1"),
    (lambda: Corpus([[1]], eos="0"), "eos: expected an integer from 0 to 2147483647, or None, got '0'"),
    (lambda: Corpus([[1]], columns=["a"]), "columns: expected values by name, got ['a']"),
    (lambda: Corpus([[1]], metadata=["a"]), "metadata: expected values by name, got ['a']"),
    (lambda: Corpus.from_strings(None), "expected a list of texts, got None"),
    (lambda: Corpus([[1], [2]], columns={"speaker": "ab"}), "column speaker: expected a list of values, got 'ab'"),
    (lambda: Corpus.from_arrays([[1, 2], [3, 4]], [-1, 1]), "lengths: expected 0 to 2, got -1 to 1"),
    (lambda: Corpus.from_arrays([[1, 2], [3, 4]], [5, 1]), "lengths: expected 0 to 2, got 1 to 5"),
    (lambda: Corpus.from_arrays([[1, 2], [3, 4]], [1]), "lengths: expected 2 integers, got array([1])"),
    (lambda: Corpus.from_arrays([[1, 2]], [0.5]), "lengths: expected 1 integers, got array([0.5])"),
    (lambda: Corpus.from_arrays([1, 2]), "expected an array of two dimensions, got [1, 2]"),
    (lambda: Corpus.from_arrays([[1, 2], [1]]), "expected an array of two dimensions, got [[1, 2], [1]]"),
]  # fmt: skip


@pytest.mark.parametrize(("make", "message"), FAULTS, ids=[message[:40] for _, message in FAULTS])
def test_it_is_refused_with_its_place(make, message):
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
