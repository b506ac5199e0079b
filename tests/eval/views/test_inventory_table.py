"""The full table of morphemes: the inventory, and messages cut into morphemes."""

from ecsuite.corpus import Corpus
from ecsuite.eval.views.scorecard import score_corpus

MEANINGS = [[a, b] for a in range(6) for b in range(6)]


def test_the_inventory_and_cut_messages_are_shown():
    corpus = Corpus([[a, 10 + b] for a, b in MEANINGS], meanings=MEANINGS)
    lines = [line.split() for line in score_corpus(corpus, ["morphemes"]).full(160).splitlines()]
    assert ["5", "attribute0=5", "0.650", "6"] in lines
    assert ["[0:", "attribute0=0]", "[10:", "attribute1=0]", "attribute0=0", "attribute1=0"] in lines
