"""Further columns of a corpus: checked like its other files, and selected by."""

from dataclasses import replace

import numpy as np
import pytest

from ecsuite.corpus import Corpus
from ecsuite.runtime.errors import CorpusError


def test_attributes_have_values_as_columns_do():
    given = Corpus([[1], [2], [3]], meanings={"color": ["red", "blue", "red"], "size": [1, 2, 1]})
    corpus = replace(given, columns={"size": np.array(["S", "M", "L"])}, metadata={"seed": 3})
    assert corpus.values_of("color") == ["blue", "red"]
    assert corpus.where("color", "red").messages.values.tolist() == [1, 3]
    assert corpus.where("size", "S").metadata == {"seed": 3, "where": ["size=S"]}
    some = Corpus([[1], [2]], meanings=[[0], [-1]], concepts=[[0], []], concept_names=("attribute0=red",))
    assert some.column("attribute0").tolist() == ["red", None]
    plain = Corpus([[1], [2], [3]], meanings=[[0, 5], [1, 5], [0, 6]])
    assert plain.where("attribute0", 0).messages.values.tolist() == [1, 3]
    with pytest.raises(
        CorpusError, match="the corpus has no columns, and the attributes attribute0, attribute1"
    ):
        plain.column("size")
