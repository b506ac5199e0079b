import math
from typing import Any

import numpy as np
import pytest

from ecsuite.corpus import Corpus
from ecsuite.formats import write_corpus
from ecsuite.runtime.ragged import Ragged


def make_corpus(**changes: Any) -> Corpus:
    parts: dict[str, Any] = {
        "messages": Ragged.from_rows([[1, 2, 0], [], [3, 0], [0], [2147483647, 5, 0]]),
        "eos": 0,
        "meanings": np.array([[0, 1], [1, 1], [0, 0], [1, 0], [2, 2]]),
        "concepts": Ragged.from_rows([[1], [0], [], [0, 1], [1]]),
        "concept_names": ("color=red", "größe=1"),
        "metadata": {"seed": 3, "accuracy": 0.96875, "config": {"game": "disc_tiny"}},
    }
    return Corpus(**(parts | changes))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"messages": [], "meanings": None, "concepts": None, "columns": {}},
            "cannot write a corpus without messages",
        ),
        (
            {"meanings": np.array([[0.5, 1.0]] * 3 + [[0.5, np.nan]] * 2), "attribute_names": ("hue", "size")},
            r"^meanings\[3, 1\], attribute size: expected a finite number, got nan$",
        ),
        (
            {"columns": {"loss": [1.0, 2.0, -np.inf, 3.0, 4.0]}},
            r"^columns\['loss'\]\[2\]: expected finite numbers, got -Infinity$",
        ),
        (
            {"columns": {"seen": [None, "a", {"x": [1.5]}, {"x": [np.inf]}, 2]}},
            r"^columns\['seen'\]\[3\]: expected finite numbers, got \{\"x\": \[Infinity\]\}$",
        ),
        ({"metadata": {"loss": math.inf}}, "^metadata: expected values that JSON allows: Out of range float"),
    ],
)  # fmt: skip
def test_a_corpus_that_cannot_be_written_leaves_no_file(tmp_path, changes, message):
    with pytest.raises(ValueError, match=message):
        write_corpus(make_corpus(**changes), tmp_path / "new")
    assert not (tmp_path / "new").exists()
