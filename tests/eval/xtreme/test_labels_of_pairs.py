"""Pairs: two sentences per row, and logits as labels."""

from dataclasses import replace

import pytest
import torch
from xtreme_data import BETWEEN, word_level

from ecsuite.eval.xtreme.rows import IGNORED, pair_rows, predicted_labels
from ecsuite.eval.xtreme.scoring.task import TextPair
from ecsuite.eval.xtreme.scoring.tasks import TASKS

LABELS = ("no", "yes")


@pytest.fixture
def digits():
    """Digits as words, and two symbols between sentences."""
    return replace(word_level("0123456789"), between=(BETWEEN, BETWEEN))


def pair(first, second, label=None):
    return TextPair(first=first, second=second, label=label)


def test_unknown_and_withheld_labels_are_no_targets(digits):
    prepared = pair_rows([pair("1", "2", "perhaps"), pair("1", "2")], digits, 9, True, LABELS)
    assert prepared.rows.targets == [[IGNORED] * 6] * 2


@pytest.mark.parametrize("is_bidirectional", [True, False])
@pytest.mark.parametrize("context", [6, 9, 40])
def test_perfect_logits_give_the_labels(digits, context, is_bidirectional):
    random = torch.Generator().manual_seed(0)

    def text():
        return " ".join(map(str, torch.randint(10, (int(torch.randint(12, (), generator=random)),)).tolist()))

    labels = ("contradiction", "entailment", "neutral")
    examples = [pair(text(), text(), labels[place % 3]) for place in range(40)]
    prepared = pair_rows(examples, digits, context, is_bidirectional, labels)
    scores = [
        torch.eye(3)[[target if target != IGNORED else place % 3 for place, target in enumerate(row)]]
        for row in prepared.rows.targets
    ]
    found = predicted_labels(scores, prepared)
    assert found == [one.label for one in examples]
    assert TASKS["xnli"].score("en", found, TASKS["xnli"].labels(examples)) == {"accuracy": 100}
