"""From a sender to a corpus: one message a meaning, whatever the batches; noise is a function of its purpose."""

import numpy as np
import pytest
import torch

from ecsuite.config import load_experiment
from ecsuite.games import speaking
from ecsuite.games.game import Game
from ecsuite.games.making import make_world
from ecsuite.games.speaking import attribute_concepts, noise_generator, record_corpus


def record(*overrides):
    experiment = load_experiment("disc_tiny", overrides)
    torch.manual_seed(0)
    return record_corpus(Game(experiment), make_world(experiment), experiment)


def rows(corpus):
    return [message.tolist() for message in corpus.messages]


@pytest.mark.parametrize("size", [1, 5, 16])
def test_batches_do_not_matter(monkeypatch, size):
    whole = rows(record())
    monkeypatch.setattr(speaking, "BATCH", size)
    assert rows(record()) == whole


def test_the_corpus_is_of_the_size_asked_for_at_most_the_whole_space():
    assert len(record("evaluation.corpus_size=7").messages) == 7
    whole = record("evaluation.corpus_size=1000000")
    assert len(whole.messages) == 16
    assert whole.metadata == {"vocab_size": 5, "max_len": 3}


def test_greedy_speech_repeats_and_sampled_speech_repeats_with_its_seed():
    assert rows(record()) == rows(record())
    sampled = rows(record("evaluation.mode=sample"))
    assert rows(record("evaluation.mode=sample")) == sampled != rows(record())
    assert rows(record("evaluation.mode=sample", "training.seed=2")) != sampled


def test_concepts_of_attribute_values():
    concepts, names = attribute_concepts(np.array([[0, 2], [1, 1]]), 3)
    assert [[names[concept] for concept in row] for row in concepts] == [
        ["attribute0=0", "attribute1=2"],
        ["attribute0=1", "attribute1=1"],
    ]
    assert len(names) == 6


def test_noise_is_a_function_of_seed_purpose_and_index():
    def first(*place):
        return torch.rand(4, generator=noise_generator(*place, torch.device("cpu"))).tolist()

    assert first(1, "train", 0) == first(1, "train", 0)
    places = [(1, "train", 0), (2, "train", 0), (1, "valid", 0), (1, "train", 1), (1, "train", 2**40)]
    assert len({tuple(first(*place)) for place in places}) == len(places)
