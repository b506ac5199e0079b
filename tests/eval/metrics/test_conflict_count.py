"""Conflict count: constructed languages, comparison with all permutations and with another program."""

import itertools
from collections import Counter, defaultdict
from functools import partial

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from languages import grid, score_of

from ecsuite.eval.metrics.disentanglement import conflict_count

score = partial(score_of, conflict_count)


def slow_count(messages, meanings):
    """Reference implementation: minimum over all permutations of the rows outside the majority."""
    counts = []
    for attributes in itertools.permutations(range(meanings.shape[1])):
        votes = defaultdict(Counter)
        for said, meant in zip(messages.tolist(), meanings.tolist(), strict=True):
            for position, attribute in enumerate(attributes):
                votes[position, said[position]][meant[attribute]] += 1
        counts.append(sum(vote.total() - max(vote.values()) for vote in votes.values()))
    return min(counts)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 5))
def test_definition(seed, width):
    rng = np.random.default_rng(seed)
    num_rows = int(rng.integers(1, 20))
    messages, meanings = rng.integers(0, 4, (num_rows, width)), rng.integers(0, 3, (num_rows, width))
    assert score(messages, meanings).value == slow_count(messages, meanings)


def test_korbak_et_al_agree():
    """36, by measuring-non-trivial-compositionality, commit 2b365626, `metrics/conflict_count.py`, run on this."""
    messages = np.random.default_rng(0).integers(0, 4, (27, 3))
    assert score(messages, grid(3, 3, 3)).value == 36


def test_many_attributes_need_no_search():
    """Twelve positions are 479,001,600 permutations."""
    meanings = np.random.default_rng(0).integers(0, 5, (50, 12))
    order = np.random.default_rng(1).permutation(12)
    assert score(meanings[:, order], meanings).value == 0
