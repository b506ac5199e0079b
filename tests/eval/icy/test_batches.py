"""Batches: the same for all languages of a seed, and without the held-out meanings."""

import numpy as np
import pytest
import torch

from ecsuite.eval.icy.acquisition import BLOCK, LanguageDataset, TrainingRun
from ecsuite.grammars.geometry import Geometry
from ecsuite.grammars.icy import language, majority_accuracy

GEOMETRY = Geometry(num_attributes=3, num_values=5, word_length=3, vocab_size=4)
GRAMMARS = ["concat", "perm", "proj", "rot", "shufdet", "hol", "rot+perm"]


def make(grammar="concat", seed=123, *, batch_size=16, held_out=0.0):
    return LanguageDataset(
        TrainingRun(grammar=grammar, seed=seed), GEOMETRY, batch_size=batch_size, held_out=held_out
    )


def drawn(dataset, numbers=(0, 1)):
    """Indices of the meanings in so many blocks of batches, (batches, batch)."""
    meanings = torch.cat([dataset.block(number)[0] for number in numbers]).numpy()
    return np.ravel_multi_index(tuple(meanings.transpose(1, 0, 2)), (5, 5, 5))


@pytest.mark.parametrize("grammar", GRAMMARS)
def test_batches_are_of_the_language(grammar):
    dataset, made = make(grammar), language(grammar, GEOMETRY, 123)
    meanings, messages = dataset.block(1)
    assert meanings.shape == (BLOCK, 3, 16)
    assert messages.shape == (BLOCK, 9, 16)
    assert meanings.dtype == messages.dtype == torch.int64
    chosen = drawn(dataset, [1])
    assert (messages.numpy().transpose(0, 2, 1) == made.messages[chosen]).all()
    assert (meanings.numpy().transpose(0, 2, 1) == made.meanings[chosen]).all()
    assert dataset.floor == majority_accuracy(made.messages)


@pytest.mark.parametrize("held_out", [0.0, 0.2])
def test_all_languages_of_a_seed_have_the_same_batches_and_held_out_meanings(held_out):
    datasets = [make(grammar, held_out=held_out) for grammar in GRAMMARS]
    for dataset in datasets[1:]:
        assert (drawn(dataset) == drawn(datasets[0])).all()
        assert (dataset.held_out == datasets[0].held_out).all()


def test_the_size_of_a_batch_does_not_change_the_order_of_meanings():
    small, large = drawn(make(batch_size=8)).ravel(), drawn(make(batch_size=32), [0]).ravel()
    assert (small == large[: len(small)]).all()


@pytest.mark.parametrize("held_out", [0.1, 0.5, 0.9])
def test_held_out_meanings_are_never_in_a_batch_and_all_others_are(held_out):
    dataset = make(held_out=held_out, batch_size=64)
    seen, unseen = set(drawn(dataset).ravel().tolist()), set(dataset.held_out.tolist())
    assert len(unseen) == round(held_out * GEOMETRY.num_meanings) == len(dataset.held_out)
    assert seen | unseen == set(range(GEOMETRY.num_meanings))
    assert not seen & unseen


def test_meanings_are_drawn_uniformly_and_independently():
    """Chi-square of 125 cells: 124 expected, standard deviation 15.7. A batch has repetitions, and batches differ."""
    found = drawn(make(batch_size=128), [0, 1, 2, 3])
    expected = found.size / 125
    statistic = ((np.bincount(found.ravel(), minlength=125) - expected) ** 2 / expected).sum()
    assert abs(statistic - 124) < 4 * 15.7
    assert len(set(found[0].tolist())) < 128
    assert (found[1:] == found[:-1]).mean() == pytest.approx(1 / 125, abs=0.003)
    assert (found[:, 1:] == found[:, :-1]).mean() == pytest.approx(1 / 125, abs=0.003)
