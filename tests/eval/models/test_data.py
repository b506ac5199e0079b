"""Symbols become dense ids, messages are repeated whole, and every symbol is a target once."""

import numpy as np
import torch

from ecsuite.eval.models.data import IGNORED, Windows, dense, gather, repeat, shuffled, stretches
from ecsuite.runtime.ragged import Ragged


def test_sparse_ids_become_dense_in_order():
    symbols, num_types = dense(np.array([2_000_000_000, 7, 7, 0], dtype=np.int32))
    assert symbols.tolist() == [2, 1, 1, 0]
    assert num_types == 3


def test_every_round_has_every_message_once_and_whole():
    messages = Ragged.from_rows([[0], [1, 2], [], [3, 4, 5]])
    stream = repeat(messages, 15, np.random.default_rng(0)).tolist()
    assert len(stream) == 15
    for said in (stream[:6], stream[6:12]):
        assert sorted(said) == [0, 1, 2, 3, 4, 5]
        assert said.index(2) == said.index(1) + 1
        assert said.index(5) == said.index(4) + 1 == said.index(3) + 2
    orders = {tuple(repeat(messages, 6, np.random.default_rng(seed))) for seed in range(20)}
    assert len(orders) == 6


def test_a_long_corpus_is_cut():
    messages = Ragged.from_rows([[1] * 100, [2] * 100])
    assert set(repeat(messages, 30, np.random.default_rng(0)).tolist()) in ({1}, {2})
    assert len(repeat(messages, 130, np.random.default_rng(0))) == 130


def test_gathered_messages_stand_in_their_order():
    messages = Ragged.from_rows([[0], [1, 2], [], [3, 4, 5]])
    assert gather(messages, np.array([3, 2, 0, 3])).tolist() == [3, 4, 5, 0, 3, 4, 5]
    assert gather(messages, np.array([], dtype=np.int64)).tolist() == []


def test_stretches_drop_what_is_left():
    assert stretches(np.arange(14), 5, 4).tolist() == [[0, 1, 2, 3, 4], [4, 5, 6, 7, 8], [8, 9, 10, 11, 12]]
    assert stretches(np.arange(13), 5, 4).shape == (3, 5)
    assert stretches(np.arange(12), 5, 4).shape == (2, 5)


def test_every_symbol_but_the_first_is_scored_once_in_overlapping_windows():
    windows = Windows(symbols=stretches(np.arange(22), 9, 4), num_context=4)
    symbols, targets = windows.take(torch.tensor([2, 0, 1, 3]))
    scored = targets[targets != IGNORED]
    assert sorted(scored.tolist()) == list(range(1, 21))
    assert symbols[0].tolist() == list(range(8, 16))
    assert targets[0].tolist() == [IGNORED] * 4 + [13, 14, 15, 16]


def test_a_symbol_that_is_never_predicted_is_still_read():
    windows = Windows(symbols=stretches(np.array([1, 7, 2, 7]), 4, 4), ignored=7)
    symbols, targets = windows.take(torch.tensor([0]))
    assert symbols.tolist() == [[1, 7, 2]] and targets.tolist() == [[IGNORED, 2, IGNORED]]
    assert windows.symbols.tolist() == [[1, 7, 2, 7]]


def test_an_epoch_has_every_row_once():
    generator = torch.Generator().manual_seed(0)
    epochs = [shuffled(10, 4, generator) for _ in range(2)]
    assert [len(batch) for epoch in epochs for batch in epoch] == [4, 4, 2, 4, 4, 2]
    first, second = (torch.cat(list(epoch)).tolist() for epoch in epochs)
    assert sorted(first) == sorted(second) == list(range(10))
    assert first != second
