"""Pairs: two sentences per row, and logits as labels."""

from dataclasses import replace

import pytest
import torch
from xtreme_data import BETWEEN, FIRST, LAST, PADDING, word_level

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


@pytest.mark.parametrize(("is_bidirectional", "place"), [(True, 0), (False, -1)])
def test_position_of_the_target_of_encoders_and_decoders(digits, is_bidirectional, place):
    prepared = pair_rows([pair("1 2", "3", "yes")], digits, 20, is_bidirectional, LABELS)
    assert prepared.rows.ids == [[FIRST, 1, 2, BETWEEN, BETWEEN, 3, LAST]]
    ((*targets,),) = prepared.rows.targets
    assert targets.pop(place) == 1 and targets == [IGNORED] * 6
    assert (prepared.positions, prepared.labels, prepared.rows.padding) == (((place,),), LABELS, PADDING)


@pytest.mark.parametrize(
    ("first", "second", "wanted"),
    [
        # Six of ten symbols are left for both sentences.
        ("1 2 3 4 5 6 7", "8", ([1, 2, 3, 4, 5], [8])),
        ("1", "2 3 4 5 6 7 8", ([1], [2, 3, 4, 5, 6])),
        ("1 2 3 4 5", "6 7 8 9 1", ([1, 2, 3], [6, 7, 8])),
        ("1 2", "6 7 8 9", ([1, 2], [6, 7, 8, 9])),
        ("1 2", "5 6 7 8 9", ([1, 2], [5, 6, 7, 8])),
        ("", "6 7 8 9 1 2 3", ([], [6, 7, 8, 9, 1, 2])),
    ],
)
def test_the_longer_sentence_of_a_long_pair_is_cut(digits, first, second, wanted):
    prepared = pair_rows([pair(first, second)], digits, 10, True, LABELS)
    assert prepared.rows.ids == [[FIRST, *wanted[0], BETWEEN, BETWEEN, *wanted[1], LAST]]


@pytest.mark.parametrize("context", [6, 7, 12])
def test_both_sentences_of_a_cut_pair_are_present(digits, context):
    """With an even or an odd number of positions; all are used."""
    long = " ".join("123456789")
    prepared = pair_rows([pair(long, long), pair(long, "1"), pair("1", long)], digits, context, True, LABELS)
    for row in prepared.rows.ids:
        assert len(row) == context
        assert row.index(BETWEEN) > 1 and row[-2] != BETWEEN


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
