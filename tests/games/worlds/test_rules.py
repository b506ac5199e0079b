"""Rules: how many there are, what they are called, who obeys them, and which are held out."""

from ecsuite.games.worlds.rules import conjunctions


def test_rules_by_hand():
    assert conjunctions((2, 3), 1).tolist() == [[0, -1], [1, -1], [-1, 0], [-1, 1], [-1, 2]]
    assert conjunctions((2, 3), 2).tolist() == [[0, 0], [0, 1], [0, 2], [1, 0], [1, 1], [1, 2]]
