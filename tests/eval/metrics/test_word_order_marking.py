"""Metric `word_order_marking`: known answers of grammars, and what it can't read."""

from dataclasses import replace

import numpy as np
import pytest

from ecsuite.corpus import Corpus
from ecsuite.eval.metrics.conclusions import p_value
from ecsuite.eval.metrics.score import Options
from ecsuite.eval.metrics.word_order_marking import WordOrderOptions, word_order_marking
from ecsuite.eval.statistics.resampling import few_draws
from ecsuite.grammars.clauses import clauses
from ecsuite.runtime.ragged import Ragged

NAMED = WordOrderOptions()


def read(corpus: Corpus, own: WordOrderOptions = NAMED) -> dict[str, float | None]:
    with few_draws():
        return {score.name: score.value for score in word_order_marking(corpus, Options(), own)}


def entropy(share: float) -> float:
    return float(-sum(each * np.log2(each) for each in (share, 1 - share) if each))


@pytest.mark.parametrize(
    ("grammar", "expected"),
    [
        ("clauses", [1, 0, 0, 0, 0]),
        ("clauses,sov=1,osv=1", [0.5, 1, 0, 0, 1]),
        ("clauses,sov=1,osv=1,marker=1", [0.5, 1, 1, 0, 0]),
        ("clauses,sov=3,osv=1,marker=0.25", [0.75, entropy(0.25), 0.25, entropy(0.25), 0.75 * entropy(0.25)]),
        ("clauses,svo=1,vso=1,agent_marker=1", [1, 1, 1, 0, 0]),
        ("clauses,svo=1,vos=1", [0.5, 1, 0, 0, 0]),
    ],
)
def test_grammars_are_read_back(grammar: str, expected: list[float]) -> None:
    found = read(clauses(grammar, 1))
    assert list(found.values()) == pytest.approx(expected, abs=0.02)


def test_copies_of_messages_are_no_evidence_of_word_order() -> None:
    """When single messages were exchanged, 19 of 20 random languages said ten times had low role uncertainty."""
    meanings = np.array([(a, b, c) for a in range(4) for b in range(4) for c in range(3) if a != b])
    messages = np.random.default_rng(0).integers(1, 9, (len(meanings), 4))
    found = []
    for times in (1, 10):
        rows = np.repeat(np.arange(len(meanings)), times)
        corpus = Corpus(messages[rows].tolist(), meanings=meanings[rows])
        found.append([
            (score.value, score.ci95, p_value(score)) for score in word_order_marking(corpus, Options())
        ])  # fmt: skip
    assert found[0] == found[1] and all(p > 0.05 for *_, p in found[0])
    fixed = word_order_marking(clauses("clauses,sov=1,osv=1,marker=1", 1), Options())
    assert p_value(fixed[-1]) < 0.001  # a language with structure still differs


def test_words_by_nouns_mark_and_values_may_be_texts() -> None:
    plain = clauses("clauses", 0)
    rows = [[each[0], 19, each[1], 19, each[2]] for each in (plain.messages[row] for row in range(720))]
    assert read(replace(plain, messages=Ragged.from_rows(rows)))["case_marking"] == 0
    marked = clauses("clauses,sov=1,osv=1,marker=1", 0)
    reverse = [marked.messages[row][::-1] for row in range(720)]
    found = read(replace(marked, messages=Ragged.from_rows(reverse)))
    assert found["case_marking"] == 1 and found["role_uncertainty"] == pytest.approx(0)
    # As tables have them: they were said to be features.
    plain = clauses("clauses,sov=3,osv=1,marker=0.25", 1)
    assert plain.meanings is not None
    names = np.char.add("n", plain.meanings.astype(str))
    assert read(replace(plain, meanings=names)) == read(plain)


def test_attributes_are_named_or_numbered() -> None:
    corpus = clauses("clauses,sov=3,osv=1", 0)
    meanings = np.asarray(corpus.meanings)[:, [2, 1, 0]]
    other = replace(corpus, meanings=meanings, attribute_names=("did", "whom", "who"), concepts=None)
    assert set(read(other).values()) == {None}
    named = WordOrderOptions(agent="who", patient="whom", action="did")
    assert read(other, named)["agent_first"] == pytest.approx(0.75)
    numbered = WordOrderOptions(agent="2", patient="1", action="0")
    assert read(replace(other, attribute_names=()), numbered) == read(other, named)


def test_chance_and_intervals_are_about_right() -> None:
    scores = word_order_marking(clauses("clauses,sov=1,osv=1,marker=0.5", 0), Options())
    for score in scores:
        assert score.ci95 is not None and score.chance is not None and score.value is not None
        assert score.ci95[0] <= score.value <= score.ci95[1]
    levels = {score.name: score.chance.level for score in scores if score.chance is not None}
    assert levels["agent_first"] == pytest.approx(0.5, abs=0.05)
    assert levels["case_marking"] < 0.1 and levels["role_uncertainty"] > 0.7
