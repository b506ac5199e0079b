"""Text infilling: share of masked symbols, lengths and positions of spans, and unchanged other symbols."""

import numpy as np
import pytest

from ecsuite.eval.models.encoder_decoder import infill

MASK, PAD = 1_000_001, 1_000_000


def filled(whole, seed=0):
    """Remaining symbols, lengths, and whether each original symbol is masked."""
    symbols, lengths = infill(whole, mask=MASK, pad=PAD, rng=np.random.default_rng(seed))
    return symbols, lengths, np.stack([~np.isin(*rows) for rows in zip(whole, symbols, strict=True)])


def blocks(batch, block):
    """Blocks in which every symbol is unique."""
    return np.arange(batch * block).reshape(batch, block)


@pytest.mark.slow
def test_places_are_masked_equally_often_but_near_the_edges():
    """Spans do not cross the edges, so positions near the edges are masked less often, equally on both sides."""
    _, _, is_masked = filled(blocks(4_000, 100), 3)
    share = is_masked.mean(0)
    np.testing.assert_allclose(share[10:-10], 0.3, atol=0.035)
    np.testing.assert_allclose(share[:10], share[:-11:-1], atol=0.035)
    assert share[0] < 0.2
