"""Seeded draws: pure functions of their place, uniform, without repeats where that is asked for."""

import numpy as np
from scipy.stats import chisquare

from ecsuite.runtime.randomness import distinct_draws, epoch_order, random_words


def test_epoch_orders_are_pure_functions_of_seed_and_epoch():
    first = epoch_order(1, 0, 30).copy()
    assert (epoch_order(1, 1, 30) != first).any() and (epoch_order(2, 0, 30) != first).any()
    assert (epoch_order(1, 0, 30) == first).all()
    assert epoch_order(1, 0, 1).tolist() == [0]


def test_distinct_draws_are_sets_and_each_set_is_equally_likely():
    drawn = np.sort(distinct_draws(random_words(1, "sets", np.arange(20 * 500), 3), 6), axis=1)
    assert drawn.min() == 0 and drawn.max() == 5 and (np.diff(drawn, axis=1) > 0).all()
    sets, counts = np.unique(drawn, axis=0, return_counts=True)
    assert len(sets) == 20
    assert chisquare(counts).pvalue > 1e-4


def test_as_many_distinct_draws_as_there_are_numbers_are_all_of_them():
    words = random_words(1, "sets", np.arange(50), 7)
    assert (np.sort(distinct_draws(words, 7), axis=1) == np.arange(7)).all()
    assert distinct_draws(words[:, :1], 1).tolist() == [[0]] * 50
    assert distinct_draws(words[:0], 7).shape == (0, 7)


def test_random_words_are_uniform_bits():
    words = random_words(1, "train", np.arange(20_000), 3)
    bits = (words[..., None] >> np.arange(64, dtype=np.uint64)) & np.uint64(1)
    assert np.abs(bits.mean((0, 1)) - 0.5).max() < 0.015
    assert len(np.unique(words)) == words.size
