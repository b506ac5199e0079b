"""Morphemes: known ones are found, languages without any have none, whatever symbols are called."""

from types import SimpleNamespace

import numpy as np
import pytest

import ecsuite.eval.metrics.morphemes as module
from ecsuite.corpus import Corpus
from ecsuite.eval.metrics import find_metric
from ecsuite.eval.metrics.conclusions import p_value
from ecsuite.eval.metrics.morpheme_induction import _best, _Pairs, meanings_of, num_meanings
from ecsuite.eval.metrics.morphemes import MOST_MESSAGES, csar, morphemes
from ecsuite.eval.metrics.score import Options
from ecsuite.grammars.geometry import Geometry
from ecsuite.grammars.icy import language
from ecsuite.runtime.ragged import Ragged
from languages import grid

MEANINGS, MANY = grid(5, 5), grid(10, 10)
WORDS = [[0], [1, 2], [3, 4, 5], [6, 6], [7]], [[8, 9], [10], [11, 12], [13], [14, 15]]


def found_in(messages, meanings=MEANINGS, metric=morphemes):
    """The score, and its inventory as a set of forms with meanings."""
    score = metric(Corpus(messages, meanings=meanings), Options())[0]
    inventory = score.details.get("inventory", ())
    return score, {(tuple(map(int, each["form"])), tuple(each["meaning"])) for each in inventory}


def corpus_of(name, num_attributes=2, num_values=6):
    geometry = Geometry(num_attributes=num_attributes, num_values=num_values, word_length=2, vocab_size=6)
    return language(name, geometry, 1).corpus()


def test_words_of_values_are_its_morphemes_and_a_holistic_language_has_none():
    score, pairs = found_in([WORDS[0][a] + WORDS[1][b] for a, b in MEANINGS])
    assert pairs == {
        (tuple(word), (f"attribute{place}={value}",))
        for place, attribute in enumerate(WORDS)
        for value, word in enumerate(attribute)
    }
    assert score.value == score.details["covered_symbols"] == 1
    assert score.details["synonymy"] == score.details["polysemy"] == 0 and score.details["form_length"] == 1.7
    assert p_value(score) < 0.05
    assert score.details["segmented"][0]["message"] == "[0: attribute0=0] [8 9: attribute1=0]"
    concat, holistic = (morphemes(corpus_of(name), Options())[0] for name in ("concat", "hol"))
    assert concat.value == 1 and concat.details["num_morphemes"] == 12 and holistic.value == 0
    assert p_value(holistic) == 1 and holistic.details["inventory"] == []


def test_known_inventories():
    score, pairs = found_in([[a + 10 * (b % 2), 30 + b] for a, b in MANY], MANY)
    assert len(pairs) == 30 and score.value == 1 and 0.45 < score.details["synonymy"] <= 0.5
    assert score.details["polysemy"] == 0
    different = MANY[MANY[:, 0] != MANY[:, 1]]
    score, pairs = found_in(different.tolist(), different)
    assert {form for form, _ in pairs} == {(value,) for value in range(10)} and len(pairs) == 20
    assert score.details["polysemy"] == pytest.approx(1, abs=0.05)
    names = {(a, b): 10 + a * 2 + b for a in range(2) for b in range(2)}
    meanings = grid(2, 2, 8)
    _, pairs = found_in([[names[a, b], 30 + c] for a, b, c in meanings], meanings)
    assert ((10,), ("attribute0=0", "attribute1=0")) in pairs and len(pairs) == 12
    score, pairs = found_in([[1, 2], [3]], [[0, 1], [1, 1]])
    assert score.value == 0 and not pairs


@pytest.mark.parametrize("metric", [morphemes, csar])
def test_neither_names_of_symbols_nor_the_order_of_messages_matter(metric):
    corpus = corpus_of("rot")
    messages = [row.tolist() for row in corpus.messages]
    order = np.random.default_rng(1).permutation(len(messages))
    order = order if metric is morphemes else np.sort(order)
    renamed = [[90 - 7 * symbol for symbol in messages[i]] for i in order]
    first, pairs = found_in(messages, corpus.meanings, metric)
    second, others = found_in(renamed, corpus.meanings[order], metric)
    assert 0 < first.value == second.value
    assert {(tuple(90 - 7 * symbol for symbol in form), meaning) for form, meaning in pairs} == others


def half_said(seed, order):
    """A corpus in which 8 of 10 messages say the first value, 7 the second, in some order; concepts have names.

    They are numbered in the order in which they are met, as those of files are.
    """
    rng = np.random.default_rng(seed)
    meanings = rng.integers(3, size=(60, 2))
    said = np.where(rng.random((60, 2)) < [0.8, 0.7], np.add(meanings, [0, 3]), rng.integers(6, size=(60, 2)))
    rest = [rng.integers(5, size=rng.integers(3)).tolist() for _ in range(60)]
    names = list(dict.fromkeys(f"{place}{value}" for i in order for place, value in enumerate(meanings[i])))
    concepts = [[names.index(f"{place}{value}") for place, value in enumerate(meanings[i])] for i in order]
    return Corpus([said[i].tolist() + rest[i] for i in order], concepts=concepts, concept_names=names)


@pytest.mark.sample(1)
@pytest.mark.parametrize("metric", [morphemes, csar])
def test_of_a_language_that_says_half_the_order_of_messages_does_not_matter(metric):
    values = set()
    for seed in range(8):
        order = np.random.default_rng(seed).permutation(60)
        (first,), (second,) = (metric(half_said(seed, each), Options()) for each in (range(60), order))
        assert first == second
        values.add(first.value)
    assert max(values) > 0.4


def test_without_an_end_known_morphemes_are_found_and_random_messages_have_many():
    messages = [WORDS[0][a] + WORDS[1][b] for a, b in MEANINGS]
    score, pairs = found_in(messages, metric=csar)
    assert pairs == found_in(messages)[1] and score.value == 1 and score.chance is None
    _, noise = found_in(np.random.default_rng(1).integers(6, size=(25, 4)).tolist(), metric=csar)
    assert len(noise) > 15
    # The last message alone has the form 9, and is about the value 2.
    messages, meanings = [[0], [1], [0], [1], [9]], [[0], [1], [0], [1], [2]]
    assert ((9,), ("attribute0=2",)) in found_in(messages, meanings, csar)[1]
    assert ((9,), ("attribute0=2",)) not in found_in(messages, meanings)[1]
    many = Corpus([[0], [1]] * MOST_MESSAGES, meanings=[[0], [1]] * MOST_MESSAGES)
    (score,) = csar(many, Options())
    assert score.value is None and "2,000 messages" in score.reason


def test_of_many_messages_some_are_drawn(monkeypatch):
    """Ten million would take hundreds of gigabytes."""
    meanings = np.tile(MEANINGS, (8, 1))
    messages = [[a, 10 + b] for a, b in meanings]
    (every,) = morphemes(Corpus(messages, meanings=meanings), Options())
    monkeypatch.setattr(module, "MAX_MESSAGES", 150)
    (some,) = morphemes(Corpus(messages, meanings=meanings), Options())
    assert "|messages:150|" in some.signature and "messages:" not in every.signature
    assert every.value == some.value == 1
    assert sum(each["num_messages"] for each in some.details["inventory"]) <= 300


def test_equal_weights_and_sets_of_concepts():
    # As in the authors' program, before the form that was selected least often.
    both = np.array([0, 1])
    pairs = _Pairs(form=both, meaning=both, joint=np.ones(2), weight=np.array([0.2, 0.5]))
    units = SimpleNamespace(size=np.array([2, 1]))
    assert _best(pairs, np.array([0.1, 0.1]), units, units, np.array([0, 3])) == 1
    assert _best(pairs, np.array([0.2, 0.1]), units, units, np.array([0, 3])) == 0
    concepts = Ragged.from_rows([[0, 1, 2], [1], [], [0, 2]])
    assert num_meanings(concepts) == len(meanings_of(concepts).row) == 7 + 1 + 3


@pytest.mark.parametrize(("name", "number"), [("morphemes", 2000), ("csar", 50)])
def test_wide_meanings_are_refused_before_they_take_all_memory(name, number):
    rng = np.random.default_rng(0)
    corpus = Corpus(rng.integers(1, 9, (1000, 5)).tolist(), meanings=rng.integers(0, 4, (1000, number)))
    [score] = find_metric(name)(corpus, Options())
    sets = 1000 * (number + number * (number - 1) // 2)
    assert score.value is None
    assert score.reason == f"takes too long for {sets:,} sets of concepts: a message has up to {number:,} concepts"
