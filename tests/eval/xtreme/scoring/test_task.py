"""Scores of predictions against examples of every kind."""

import pytest

from ecsuite.eval.xtreme.scoring.task import TextPair
from ecsuite.eval.xtreme.scoring.tasks import TASKS

PAIRS = [TextPair(first="a", second="b", label=label) for label in ("1", "0", "0", "0")]


def test_numbers_of_predictions_and_unknown_names():
    with pytest.raises(ValueError, match="PAWS-X: expected a prediction for each of 4 labels, got 1"):
        TASKS["pawsx"].score("de", ["1"], TASKS["pawsx"].labels(PAIRS))
    with pytest.raises(ValueError, match="XNLI: expected labels, found none"):
        TASKS["xnli"].score("de", [], [])
