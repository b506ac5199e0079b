"""Ease of learning: fresh agents learn words of values sooner than random messages, whatever symbols are called."""

from functools import partial

import numpy as np
import pytest

import ecsuite.eval.metrics.ease_of_learning as module
import ecsuite.eval.models.fresh_agents as fresh_agents
from ecsuite.corpus import Corpus
from ecsuite.eval.metrics.ease_of_learning import ease_of_learning
from ecsuite.eval.metrics.score import Options
from ecsuite.grammars.geometry import Geometry
from ecsuite.grammars.icy import language


@pytest.fixture
def few(monkeypatch):
    """Few updates and two seeds."""
    short = partial(fresh_agents.Training, num_updates=60, every=20, lr=0.01, hidden_size=16)
    monkeypatch.setattr(fresh_agents, "Training", short)
    monkeypatch.setattr(module, "NUM_SEEDS", 2)


@pytest.fixture
def fewer(few, monkeypatch):
    """So few that nothing is learnt."""
    monkeypatch.setattr(fresh_agents, "Training", partial(fresh_agents.Training, num_updates=2, every=1))


def corpus_of(name, num_attributes=2, num_values=4):
    """All messages of a grammar."""
    geometry = Geometry(num_attributes=num_attributes, num_values=num_values, word_length=2, vocab_size=5)
    return language(name, geometry, 1).corpus()


def values(corpus):
    """Ease of learning and of speaking."""
    return [score.value for score in ease_of_learning(corpus, Options())]


@pytest.mark.slow
def test_words_of_values_are_easier_than_random_messages(few):
    receiver, sender = ease_of_learning(corpus_of("concat", num_attributes=3), Options())
    hol = values(corpus_of("hol", num_attributes=3))
    assert receiver.value > hol[0] + 0.05 and sender.value > hol[1] + 0.05
    for score in (receiver, sender):
        assert score.details["anchors"]["concat"] > score.details["anchors"]["hol"]
        assert score.value > score.chance.level and 0 <= score.value <= 1
        assert len(score.chance.draws) == len(score.details["by_seed"]) == 2
        assert score.ci95 is None  # one over seeds would be taken for one over corpora
        assert len(score.details["curves"]["corpus"]) == len(score.details["updates"]) == 4


def test_chance_is_paired_by_seed(few, monkeypatch):
    """What agents of a seed have in common with all they learn does not widen the chance level."""

    def curves(learner, languages, meanings, training, seeds):
        of_seed, of_shuffle = np.array([0.3, 0.5]), np.array([0.1, 0.12])
        area = np.stack([of_seed + 0.2, of_seed + of_shuffle, of_seed, of_seed])
        of_all, steps = area[..., None], np.array([0])
        return fresh_agents.Curves(updates=steps, accuracy=of_all, of_attributes=of_all)

    monkeypatch.setattr(fresh_agents, "learning_curves", curves)
    score, _ = ease_of_learning(corpus_of("concat"), Options())
    assert score.value == pytest.approx(0.6) and score.chance.draws == pytest.approx((0.6 - 0.1, 0.6 - 0.08))


def test_chance_exchanges_whole_meanings(few, monkeypatch):
    """With single messages, a random language said ten times was easy: 0.84, and 0.36 by chance."""
    learnt = []

    def curves(learner, languages, meanings, training, seeds):
        learnt.append((languages[1], meanings))
        area = np.ones((4, 2, 1))
        return fresh_agents.Curves(updates=np.array([0]), accuracy=area, of_attributes=area)

    monkeypatch.setattr(fresh_agents, "learning_curves", curves)
    hol, rows = corpus_of("hol"), np.repeat(np.arange(16), np.arange(1, 17))
    ease_of_learning(Corpus([list(hol.messages[row]) for row in rows], meanings=hol.meanings[rows]), Options())
    for of_seeds, meanings in learnt:
        for messages in of_seeds:
            pairs = np.unique(np.concatenate([messages, meanings], axis=1), axis=0)
            assert len(pairs) == len(np.unique(messages, axis=0)) == 16  # as in the language itself


def test_neither_names_of_symbols_nor_the_order_of_messages_matter(fewer):
    corpus = corpus_of("shufdet")
    messages, order = np.array(list(corpus.messages)), np.random.default_rng(1).permutation(16)
    other = Corpus((90 - 7 * messages[order]).tolist(), meanings=corpus.meanings[order])
    assert values(other) == values(Corpus(messages.tolist(), meanings=corpus.meanings))
    assert None not in values(Corpus([[1], [2, 3], [3, 3, 1]], meanings=[[0], [1], [2]]))  # several lengths


@pytest.mark.slow
@pytest.mark.parametrize("sizes", [(2, 4), (2, 6), (3, 4), (2, 10)])
def test_concat_is_above_hol_at_every_size(sizes):
    scores = ease_of_learning(corpus_of("concat", *sizes), Options())
    assert all(score.details["anchors"]["concat"] > score.details["anchors"]["hol"] for score in scores)
