"""From a sender to a corpus: one message a meaning, whatever the batches; noise is a function of its purpose."""

import numpy as np
import pytest
import torch

from ecsuite.games.channels.channels import words_to_symbols
from ecsuite.games.config.experiment import load_experiment, override
from ecsuite.games.plays.evaluation import record_corpus
from ecsuite.games.plays.population import Population
from ecsuite.games.worlds import object_worlds
from ecsuite.games.worlds.world import make_world


def record(*overrides):
    experiment = load_experiment("disc_tiny", overrides)
    world = make_world(experiment)
    torch.manual_seed(0)
    return record_corpus(Population.from_experiment(experiment, world), experiment)


def rows_of(messages):
    return [message.tolist() for message in messages]


def rows(corpus):
    return rows_of(corpus.messages)


@pytest.mark.parametrize("size", [1, 5, 16])
def test_batches_do_not_matter(monkeypatch, size):
    whole = rows(record())
    monkeypatch.setattr(object_worlds, "CORPUS_BATCH", size)
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


def test_speakers_who_are_alike_sample_other_messages():
    experiment = load_experiment(
        "disc_tiny", ["society.senders=2", "society.receivers=2", "evaluation.mode=sample"]
    )
    players = Population.from_experiment(experiment, make_world(experiment))
    first, second = players.senders
    second.load_state_dict(first.state_dict())
    corpus = record_corpus(players, experiment)
    said = [
        rows_of(corpus.messages.take(np.flatnonzero(corpus.columns["speaker"] == each))) for each in (0, 1)
    ]
    assert len(said[0]) == len(said[1]) == 16 and said[0] != said[1]


@pytest.mark.parametrize(
    ("num_levels", "values", "ids"),
    [
        (2, [[0, 0, 0], [1, 0, 0], [0, 0, 1], [1, 1, 1]], [1, 2, 5, 8]),
        (3, [[0, 0], [0.5, 0], [0, 0.5], [1, 1]], [1, 2, 4, 9]),
        (11, [[0.3, 0.7]], [1 + 3 + 77]),
        (2, [[0.49, 0.51, 0.5]], [3]),  # rounded as the channel rounds, half to even
    ],
)
def test_words_by_hand(num_levels, values, ids):
    messages, names = words_to_symbols(np.array(values, dtype=np.float32)[None], num_levels)
    assert rows_of(messages) == [ids] and names is None


@pytest.mark.parametrize(("num_levels", "word_size"), [(2, 1), (3, 4), (12, 2), (2, 30)])
def test_ids_and_digits_of_words_are_one_to_one(num_levels, word_size):
    levels = np.random.default_rng(0).integers(num_levels, size=(50, 3, word_size))
    messages, names = words_to_symbols((levels / (num_levels - 1)).astype(np.float32), num_levels)
    assert names is None and messages.lengths.tolist() == [3] * 50
    ids = np.array(rows_of(messages))
    assert ids.min() >= 1 and ids.max() <= num_levels**word_size  # EOS has the id 0
    back = (ids[..., None] - 1) // num_levels ** np.arange(word_size) % num_levels
    assert (back == levels).all()


@pytest.mark.parametrize(("num_levels", "word_size"), [(2, 31), (10, 12), (100, 64)])
def test_words_too_many_to_number_get_dense_ids_and_their_digits_as_names(num_levels, word_size):
    rng = np.random.default_rng(0)
    levels = rng.integers(num_levels, size=(7, word_size))[rng.integers(7, size=(20, 3))]
    messages, names = words_to_symbols((levels / (num_levels - 1)).astype(np.float32), num_levels)
    ids = np.array(rows_of(messages))
    assert np.unique(ids).tolist() == [1, 2, 3, 4, 5, 6, 7] and len(names) == 8 and names[0] == ""
    join = "." if num_levels > 10 else ""
    for word, said in zip(levels.reshape(-1, word_size).tolist(), ids.ravel().tolist(), strict=True):
        assert names[said] == join.join(map(str, word))
    if num_levels <= 10:
        assert list(names) == sorted(names)  # in the order of the digits


def test_the_largest_id_fits():
    """2^30 words are the most that ids of two levels number: all values at the highest level are the last of them."""
    messages, names = words_to_symbols(np.ones((1, 1, 30), dtype=np.float32), 2)
    assert rows_of(messages) == [[2**30]] and names is None
    assert words_to_symbols(np.ones((1, 1, 31), dtype=np.float32), 2)[1] == ("", "1" * 31)


SETS = (
    "world.kind=thing", "world.num_attributes=3", "world.rule_length=2", "world.held_out=0.25", "task.kind=concept",
    "task.num_targets=3", "channel.kind=quantized", "channel.num_levels=3", "channel.word_size=4",
    "training.batch_size=16",
)  # fmt: skip


def record_sets(*overrides):
    experiment = override(load_experiment("disc_tiny", SETS), overrides)
    torch.manual_seed(0)
    world = make_world(experiment)
    return record_corpus(Population.from_experiment(experiment, world), experiment), world


@pytest.mark.parametrize("size", [1, 16, 40])
def test_a_game_about_sets_gives_a_message_for_each_of_its_rounds(size):
    corpus, world = record_sets(f"evaluation.corpus_size={size}")
    assert len(corpus.messages) == len(corpus.meanings) == len(corpus.concepts) == size
    rounds = [world.batch("valid", number).rules for number in range(3)]
    rules = np.concatenate(rounds)[:size]
    assert (corpus.meanings == world.rules.meanings[rules]).all()
    for meaning, phrase in zip(corpus.meanings.tolist(), corpus.concepts, strict=True):
        said = [f"attribute{place}={value}" for place, value in enumerate(meaning) if value >= 0]
        assert [corpus.concept_names[concept] for concept in phrase] == said and len(said) == 2
    assert corpus.eos is None and corpus.symbol_names is None
    assert corpus.metadata == {"vocab_size": 81, "max_len": 3}
    assert (corpus.messages.lengths == 3).all()


def test_batches_do_not_matter_to_a_game_about_sets():
    whole = rows(record_sets("evaluation.corpus_size=40")[0])
    assert rows(record_sets("evaluation.corpus_size=40", "training.batch_size=7")[0]) == whole
    assert rows(record_sets("evaluation.corpus_size=40", "evaluation.batch_size=7")[0]) == whole
    assert rows(record_sets("evaluation.corpus_size=5")[0]) == whole[:5]


def test_words_of_64_values_have_names():
    corpus, _ = record_sets("channel.word_size=64", "channel.num_levels=2", "evaluation.corpus_size=30")
    assert corpus.metadata == {"vocab_size": None, "max_len": 3}
    said = np.unique(np.concatenate(rows(corpus)))
    assert said.tolist() == list(range(1, len(corpus.symbol_names)))
    assert all(len(name) == 64 and set(name) <= {"0", "1"} for name in corpus.symbol_names[1:])


def test_metadata_states_that_continuous_words_are_rounded():
    corpus, _ = record_sets("channel.kind=continuous")
    assert corpus.metadata == {
        "vocab_size": 81,
        "max_len": 3,
        "symbols": "rounded to 3 levels here; the receiver gets the exact values",
    }
    assert rows(corpus) == rows(record_sets()[0])  # the same agents, over a channel that rounds


def test_an_informed_sender_gives_a_message_for_each_round_of_evaluation():
    """What it says depends on the distractors, so that a meaning has as many messages as rounds."""
    informed = ["task.sender_input=targets_and_distractors", "evaluation.corpus_size=40"]
    corpus = record(*informed, "training.batch_size=16")
    world = make_world(load_experiment("disc_tiny", [*informed, "training.batch_size=16"]))
    rounds = [world.batch("valid", number) for number in range(3)]
    meanings = np.concatenate([batch.values[batch.shown[:, 0]] for batch in rounds])[:40]
    assert len(corpus.messages) == 40 and (corpus.meanings == meanings).all()


def test_a_corpus_about_rules_may_be_longer_than_an_evaluation():
    corpus, _ = record_sets("evaluation.corpus_size=40", "evaluation.num_valid=5")
    assert rows(corpus) == rows(record_sets("evaluation.corpus_size=40")[0])
