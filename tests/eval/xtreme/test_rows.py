"""Rows: padding and batches."""

import torch

from ecsuite.eval.xtreme.rows import IGNORED, TokenRows

CPU = torch.device("cpu")


def rows(*lengths, padding=1):
    return TokenRows(
        ids=[[row] * length for row, length in enumerate(lengths)],
        targets=[[row + 10] * length for row, length in enumerate(lengths)],
        padding=padding,
    )


def test_shorter_rows_are_padded():
    ids, mask, targets = rows(2, 3, 1).take([2, 0], CPU)
    assert ids.tolist() == [[2, 1], [0, 0]]
    assert mask.tolist() == [[True, False], [True, True]]
    assert targets.tolist() == [[12, IGNORED], [10, 10]]


def test_span_targets_need_no_padding():
    stretches = TokenRows(ids=[[1, 2, 3], [4]], targets=[(1, 2), (0, 0)], padding=0)
    assert stretches.take([0, 1], CPU)[2].tolist() == [[1, 2], [0, 0]]


def test_batches_have_rows_of_similar_length():
    assert rows(5, 1, 4, 2, 3).batches(2) == [[1, 3], [4, 2], [0]]
    assert rows().batches(2) == []


def test_every_epoch_has_every_row_once_in_another_order():
    many = rows(*range(1, 21))
    generator = torch.Generator().manual_seed(0)
    epochs = [many.shuffled(2, generator) for _ in range(3)]
    for epoch in epochs:
        assert len(epoch) == 10
        assert sorted(row for batch in epoch for row in batch) == list(range(20))
    assert epochs[0] != epochs[1] != epochs[2]
    assert epochs[0] == many.shuffled(2, torch.Generator().manual_seed(0))
    assert epochs[0] != many.shuffled(2, torch.Generator().manual_seed(1))
