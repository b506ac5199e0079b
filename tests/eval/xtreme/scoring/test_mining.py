"""Retrieval on embeddings with known neighbours."""

import numpy as np
import pytest

from ecsuite.eval.xtreme.scoring import bitexts
from ecsuite.eval.xtreme.scoring.bitexts import mine_pairs, nearest


def at(*degrees):
    """Unit vectors at these angles."""
    angles = np.radians(degrees)
    return np.stack((np.cos(angles), np.sin(angles)), axis=1)


def test_the_first_of_equals_is_nearest_and_zeros_have_cosine_0():
    assert nearest(at(0), np.concatenate((at(90), at(0, 0)))).tolist() == [1]
    assert nearest(np.zeros((1, 2)), at(0, 90)).tolist() == [0]


def test_blocks_change_nothing(monkeypatch):
    rng = np.random.default_rng(1)
    sources, targets = rng.normal(size=(23, 5)) + 1, rng.normal(size=(31, 5)) + 1
    whole, near = mine_pairs(sources, targets), nearest(sources, targets)
    monkeypatch.setattr(bitexts, "_ROWS", 4)
    assert nearest(sources, targets).tolist() == near.tolist()
    for one, other in zip(mine_pairs(sources, targets), whole, strict=True):
        assert one == pytest.approx(other, abs=1e-6)


def test_what_is_no_embedding_is_refused():
    with pytest.raises(ValueError, match=r"at least one sentence, got shape \(0, 2\)"):
        nearest(at(0), np.zeros((0, 2)))
    with pytest.raises(ValueError, match="expected equal widths, got 2 and 3"):
        mine_pairs(at(0), np.ones((1, 3)))
