"""Text infilling: share of masked symbols, lengths and positions of spans, and unchanged other symbols."""

import numpy as np
import pytest

from ecsuite.eval.models.encoder_decoder import infill, span_lengths

MASK, PAD = 1_000_001, 1_000_000


def filled(whole, seed=0):
    """Remaining symbols, lengths, and whether each original symbol is masked."""
    symbols, lengths = infill(whole, mask=MASK, pad=PAD, rng=np.random.default_rng(seed))
    return symbols, lengths, np.stack([~np.isin(*rows) for rows in zip(whole, symbols, strict=True)])


def blocks(batch, block):
    """Blocks in which every symbol is unique."""
    return np.arange(batch * block).reshape(batch, block)


@pytest.mark.parametrize(("batch", "block"), [(1, 64), (40, 256), (7, 10), (3, 4), (2, 1)])
def test_the_same_share_is_taken_out_of_each_block_and_the_rest_is_in_order(batch, block):
    whole = blocks(batch, block)
    symbols, lengths, is_masked = filled(whole)
    assert (is_masked.sum(1) == round(0.3 * block)).all()
    assert symbols.shape[1] <= block
    for row in range(batch):
        left = symbols[row, : lengths[row]]
        assert (symbols[row, lengths[row] :] == PAD).all()
        assert PAD not in left
        np.testing.assert_array_equal(left[left != MASK], whole[row, ~is_masked[row]])


def test_a_mask_stands_where_symbols_are_missing():
    """Between two remaining symbols, others are missing only if there is at least one mask."""
    whole = blocks(50, 100)
    symbols, lengths, _ = filled(whole, 1)
    num_gaps = num_empty = 0
    for row in range(50):
        left = symbols[row, : lengths[row]]
        places = np.flatnonzero(left != MASK)
        edges = np.concatenate([[whole[row, 0] - 1], left[places], [whole[row, -1] + 1]])
        num_masks = np.diff(np.concatenate([[-1], places, [len(left)]])) - 1
        num_missing = np.diff(edges) - 1
        assert (num_masks[num_missing > 0] > 0).all()
        num_gaps += (num_missing > 0).sum()
        num_empty += ((num_missing == 0) & (num_masks > 0)).sum()
    assert num_gaps > 200  # about nine spans a block
    assert num_empty > 5  # spans of length 0 are masks where nothing is missing


def test_lengths_of_spans_are_poisson_but_for_the_last():
    lengths = span_lengths(2000, 300, np.random.default_rng(2))
    used = lengths >= 0
    assert (np.where(used, lengths, 0).sum(1) == 300).all()
    assert (np.diff(used.astype(int), axis=1) <= 0).all()  # spans come first, then fillers
    first = lengths[:, :50].ravel()  # far from the end
    assert first.mean() == pytest.approx(3, abs=0.03)
    assert first.var() == pytest.approx(3, abs=0.06)
    assert (first == 0).mean() == pytest.approx(np.exp(-3), abs=0.003)


@pytest.mark.slow
def test_places_are_masked_equally_often_but_near_the_edges():
    """Spans do not cross the edges, so positions near the edges are masked less often, equally on both sides."""
    _, _, is_masked = filled(blocks(4_000, 100), 3)
    share = is_masked.mean(0)
    np.testing.assert_allclose(share[10:-10], 0.3, atol=0.035)
    np.testing.assert_allclose(share[:10], share[:-11:-1], atol=0.035)
    assert share[0] < 0.2


def test_noise_depends_on_the_generator_alone():
    whole = blocks(4, 30)
    (first, *_), (again, *_), (other, *_) = (filled(whole, seed) for seed in (5, 5, 6))
    np.testing.assert_array_equal(first, again)
    assert first.shape != other.shape or (first != other).any()
    np.testing.assert_array_equal(whole, blocks(4, 30))
