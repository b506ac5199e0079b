"""Retrieval on embeddings with known neighbours."""

import numpy as np
import pytest

from ecsuite.eval.xtreme.scoring import bitexts
from ecsuite.eval.xtreme.scoring.bitexts import mine_bitext, mine_pairs, nearest, pairs_above, tune_threshold
from ecsuite.eval.xtreme.scoring.task import Bitext


def at(*degrees):
    """Unit vectors at these angles."""
    angles = np.radians(degrees)
    return np.stack((np.cos(angles), np.sin(angles)), axis=1)


def bitext(sources, targets):
    return Bitext(
        source_ids=tuple(f"s{row}" for row in range(len(sources))),
        sources=tuple(sources),
        target_ids=tuple(f"t{row}" for row in range(len(targets))),
        targets=tuple(targets),
        gold=None,
    )


def test_nearest_is_by_angle_not_by_length():
    candidates = at(0, 50, 90) * [[1], [100], [0.01]]
    assert nearest(at(10, 80, 40), candidates).tolist() == [0, 2, 1]


def test_the_first_of_equals_is_nearest_and_zeros_have_cosine_0():
    assert nearest(at(0), np.concatenate((at(90), at(0, 0)))).tolist() == [1]
    assert nearest(np.zeros((1, 2)), at(0, 90)).tolist() == [0]


def test_a_rotation_changes_nothing():
    rng = np.random.default_rng(0)
    sources, targets = rng.normal(size=(40, 6)) + 1, rng.normal(size=(50, 6)) + 1
    turn = np.linalg.qr(rng.normal(size=(6, 6)))[0]
    assert nearest(sources, targets).tolist() == nearest(sources @ turn, targets @ turn).tolist()
    one, other = mine_pairs(sources, targets), mine_pairs(sources @ turn, targets @ turn)
    assert one[0].tolist() == other[0].tolist() and one[1].tolist() == other[1].tolist()
    assert one[2] == pytest.approx(other[2], abs=1e-5)


def test_margin_with_one_neighbour_is_the_cosine_over_the_means():
    sources, targets = at(0, 90), at(20, 80)
    rows, columns, scores = mine_pairs(sources, targets, num_neighbours=1)
    assert (rows.tolist(), columns.tolist(), scores) == ([0, 1], [0, 1], pytest.approx([1, 1]))


def test_margin_with_two_neighbours():
    def cosine(degrees):
        return np.cos(np.radians(degrees))

    rows, columns, scores = mine_pairs(at(0, 60), at(10, 40))
    near, far = (cosine(10) + cosine(40)) / 2, (cosine(50) + cosine(20)) / 2  # of the sources
    first, second = (cosine(10) + cosine(50)) / 2, (cosine(40) + cosine(20)) / 2  # of the targets
    assert (rows.tolist(), columns.tolist()) == ([0, 1], [0, 1])
    assert scores == pytest.approx([cosine(10) / ((near + first) / 2), cosine(20) / ((far + second) / 2)])


def test_the_margin_penalises_hubs():
    """One target is nearest to all sources; with the margin, each source gets its own."""
    sources = at(0, 30, 60)
    targets = np.concatenate((at(0, 30, 60), at(30)))
    targets = np.concatenate((targets, np.zeros((4, 1))), axis=1)
    targets[:3, 2] = 1  # so that the hub at 30 degrees is the nearest
    sources = np.concatenate((sources, np.zeros((3, 1))), axis=1)
    assert nearest(sources, targets).tolist() == [3, 3, 3]
    rows, columns, _ = mine_pairs(sources, targets)
    assert dict(zip(rows.tolist(), columns.tolist(), strict=True)) == {0: 0, 1: 3, 2: 2}


def test_each_sentence_is_paired_once():
    rows, columns, scores = mine_pairs(at(0, 2, 50), at(1, 51))
    assert len(rows) == len(set(rows.tolist())) == len(set(columns.tolist())) == 2
    assert (np.diff(scores) <= 0).all()


def test_orthogonal_neighbours_give_score_0():
    assert mine_pairs(at(0, 0), at(90, 270))[2].tolist() == [0]


def test_blocks_change_nothing(monkeypatch):
    rng = np.random.default_rng(1)
    sources, targets = rng.normal(size=(23, 5)) + 1, rng.normal(size=(31, 5)) + 1
    whole, near = mine_pairs(sources, targets), nearest(sources, targets)
    monkeypatch.setattr(bitexts, "_ROWS", 4)
    assert nearest(sources, targets).tolist() == near.tolist()
    for one, other in zip(mine_pairs(sources, targets), whole, strict=True):
        assert one == pytest.approx(other, abs=1e-6)


def test_repeated_sentences_are_in_no_pair():
    found = mine_bitext(bitext("aab", "xyz"), np.eye(3)[[0, 0, 1]], np.eye(3) + 0.1)
    assert list(found) == [("s2", "t1")]
    found = mine_bitext(bitext("abc", "xyy"), np.eye(3), np.eye(3)[[0, 1, 1]] + 0.1)
    assert [pair for pair, score in found.items() if score > 1] == [("s0", "t0")]
    found = mine_bitext(bitext(["a", "b"], ["x", "y"]), at(0, 60), at(1, 61))
    assert set(found) == {("s0", "t0"), ("s1", "t1")}


def test_threshold_has_the_highest_f1():
    scores = {("a", "x"): 1.5, ("b", "y"): 1.2, ("c", "z"): 1.0, ("d", "w"): 0.8}
    gold = {("a", "x"), ("b", "y")}
    assert tune_threshold(scores, gold) == pytest.approx(1.1)
    assert pairs_above(scores, 1.1) == gold
    assert tune_threshold(scores, gold | {("d", "w")}) == pytest.approx(0.8)  # the last one: its own score
    assert tune_threshold(dict(reversed(scores.items())), gold) == pytest.approx(1.1)


def test_pairs_with_equal_scores_are_accepted_together():
    scores = {("a", "x"): 1.0, ("b", "y"): 1.0, ("c", "z"): 1.0, ("d", "w"): 0.5}
    assert pairs_above(scores, tune_threshold(scores, {("a", "x")})) == {("a", "x"), ("b", "y"), ("c", "z")}


def test_no_right_pair_has_no_threshold():
    assert tune_threshold({("a", "x"): 1.0}, {("b", "y")}) == 0
    assert tune_threshold({}, {("b", "y")}) == 0


def test_what_is_no_embedding_is_refused():
    with pytest.raises(ValueError, match=r"at least one sentence, got shape \(0, 2\)"):
        nearest(at(0), np.zeros((0, 2)))
    with pytest.raises(ValueError, match="expected equal widths, got 2 and 3"):
        mine_pairs(at(0), np.ones((1, 3)))
