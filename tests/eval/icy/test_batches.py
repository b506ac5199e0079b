"""Batches: the same for all languages of a seed, and without the held-out meanings."""

import numpy as np
import pytest
import torch

from ecsuite.eval.icy.acquisition import LanguageDataset, TrainingRun
from ecsuite.grammars.geometry import Geometry

GEOMETRY = Geometry(num_attributes=3, num_values=5, word_length=3, vocab_size=4)


def make(grammar="concat", seed=123, *, batch_size=16, held_out=0.0):
    return LanguageDataset(
        TrainingRun(grammar=grammar, seed=seed), GEOMETRY, batch_size=batch_size, held_out=held_out
    )


def drawn(dataset, numbers=(0, 1)):
    """Indices of the meanings in so many blocks of batches, (batches, batch)."""
    meanings = torch.cat([dataset.block(number)[0] for number in numbers]).numpy()
    return np.ravel_multi_index(tuple(meanings.transpose(1, 0, 2)), (5, 5, 5))


def test_the_size_of_a_batch_does_not_change_the_order_of_meanings():
    small, large = drawn(make(batch_size=8)).ravel(), drawn(make(batch_size=32), [0]).ravel()
    assert (small == large[: len(small)]).all()


def test_meanings_are_drawn_uniformly_and_independently():
    """Chi-square of 125 cells: 124 expected, standard deviation 15.7. A batch has repetitions, and batches differ."""
    found = drawn(make(batch_size=128), [0, 1, 2, 3])
    expected = found.size / 125
    statistic = ((np.bincount(found.ravel(), minlength=125) - expected) ** 2 / expected).sum()
    assert abs(statistic - 124) < 4 * 15.7
    assert len(set(found[0].tolist())) < 128
    assert (found[1:] == found[:-1]).mean() == pytest.approx(1 / 125, abs=0.003)
    assert (found[:, 1:] == found[:, :-1]).mean() == pytest.approx(1 / 125, abs=0.003)
