"""Grammar `clauses`: shares of orders and markers as they are asked for, variants, chains."""

from collections import Counter

import numpy as np

from ecsuite.grammars.clauses import clause_variants, clauses


def test_orders_and_markers_have_their_shares() -> None:
    corpus = clauses("clauses,sov=3,osv=1,marker=0.25", 0, entities=5, actions=4)
    events = np.asarray(corpus.meanings)
    assert len(events) == 80
    assert (events[:, 0] != events[:, 1]).all()
    found: Counter[str] = Counter()
    for (agent, patient, action), row in zip(events.tolist(), range(80), strict=True):
        words = {agent + 1: "s", patient + 1: "o", action + 6: "v", 10: "m"}
        found["".join(words[symbol] for symbol in corpus.messages[row].tolist())] += 1
    assert found["sov"] + found["somv"] == 60
    assert found["osv"] + found["omsv"] == 20
    assert found["somv"] + found["omsv"] == 20


def test_words_are_the_same_in_all_languages() -> None:
    free, fixed = clauses("clauses,sov=1,osv=1", 3), clauses("clauses", 0)
    assert len(fixed.messages) == 720
    sets = [
        sorted(map(sorted, (each.messages[row].tolist() for row in range(720)))) for each in (free, fixed)
    ]
    assert sets[0] == sets[1]


def test_variants_are_all_clauses_with_their_weights() -> None:
    corpus = clause_variants("clauses,sov=1,osv=1,marker=0.2,agent_marker=1", 0, entities=2, actions=1)
    rows = [corpus.messages[row].tolist() for row in range(0, 8, 2)]
    assert rows == [[1, 5, 2, 3], [1, 5, 2, 4, 3], [2, 1, 5, 3], [2, 4, 1, 5, 3]]
    assert np.allclose(corpus.columns["weight"][::2], [0.4, 0.1, 0.4, 0.1])


def test_corruptions_keep_the_lengths_of_clauses() -> None:
    plain, shuffled = clauses("clauses,marker=0.5", 0), clauses("clauses,marker=0.5+shuf", 0)
    assert plain.messages.lengths.tolist() == shuffled.messages.lengths.tolist()
    assert sorted(plain.messages[5].tolist()) == sorted(shuffled.messages[5].tolist())
    assert plain.messages.values.tolist() != shuffled.messages.values.tolist()
    assert clauses("clauses+rot", 0).messages[0].tolist() == [1, 2, 12]
