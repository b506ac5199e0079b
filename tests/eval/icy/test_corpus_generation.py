"""Corpora of trained senders: the message of each meaning, and the accuracy in the metadata."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest
import torch

from ecsuite.eval.icy import corpus_generation as speaking
from ecsuite.eval.icy.acquisition import Outcome, learn
from ecsuite.eval.icy.batches import Run
from ecsuite.eval.icy.corpus_generation import write_sender_corpus
from ecsuite.eval.icy.models import make_agent, parse_model
from ecsuite.eval.icy.parameter_counts import parameter_count
from ecsuite.eval.icy.protocol import Protocol
from ecsuite.formats import read_corpus
from ecsuite.grammars.geometry import Geometry
from ecsuite.grammars.icy import language

GEOMETRY = Geometry(num_attributes=2, num_values=3, word_length=2)
PROTOCOL = Protocol(hidden_size=16, batch_size=32, lr=1e-2, window=5, target=0.99)


def learnt(model, grammar="perm", protocol=PROTOCOL, cap=None):
    return learn(model, "sender", GEOMETRY, [Run(grammar=grammar, seed=5, cap=cap)], protocol)[0]


def rows(corpus):
    assert set(corpus.messages.lengths) == {GEOMETRY.message_length}
    return corpus.messages.values.reshape(-1, GEOMETRY.message_length)


@pytest.mark.parametrize("model", ["gru", "husendz:dgsend", "transformer", "fc2l", "sru"])
def test_a_trained_sender_produces_the_language(tmp_path, model):
    folder = write_sender_corpus(learnt(model), model, GEOMETRY, PROTOCOL, tmp_path)
    corpus, target = read_corpus(folder), language("perm", GEOMETRY, 5)
    assert np.array_equal(corpus.meanings, target.meanings)
    assert (rows(corpus) == target.messages).mean() > 0.97
    assert corpus.metadata["symbol_accuracy"] == (rows(corpus) == target.messages).mean()
    assert corpus.concept_names == target.corpus().concept_names


def test_an_untrained_sender_produces_other_messages(tmp_path):
    """After three updates: still content symbols only, and one message for every meaning."""
    folder = write_sender_corpus(learnt("lstm", cap=3), "lstm", GEOMETRY, PROTOCOL, tmp_path)
    corpus, target = read_corpus(folder), language("perm", GEOMETRY, 5)
    assert len(rows(corpus)) == 9
    assert 1 <= rows(corpus).min() and rows(corpus).max() <= GEOMETRY.vocab_size
    assert corpus.metadata["symbol_accuracy"] == (rows(corpus) == target.messages).mean() < 0.8


def test_eos_is_never_produced(tmp_path):
    """Not even by an untrained sender for which EOS has the highest logit."""
    agent = make_agent(parse_model("sender", "fc1l"), "sender", GEOMETRY, 16)
    weights = {name: torch.zeros_like(value) for name, value in agent.state_dict().items()}
    assert parameter_count(agent) == sum(value.numel() for value in weights.values())
    outcome = Outcome(
        grammar="hol", seed=1, steps=0, reached=False, is_early=False, accuracy=0, floor=0, held_out=None, seconds=0,
        weights=weights,
    )  # fmt: skip
    corpus = read_corpus(write_sender_corpus(outcome, "fc1l", GEOMETRY, PROTOCOL, tmp_path))
    assert (rows(corpus) == 1).all()


def test_the_metadata_names_model_and_language(tmp_path):
    outcome = learnt("fc1l", "shufdet,decides=first", replace(PROTOCOL, target=0.5))
    folder = write_sender_corpus(outcome, "fc1l", GEOMETRY, PROTOCOL, tmp_path)
    metadata = json.loads((folder / "metadata.json").read_text())
    assert metadata["speaker"] == "fc1l"
    assert metadata["taught"] == "shufdet,decides:first|2x3|w2|V4|seed:5|v:1"
    assert metadata["protocol"] == PROTOCOL.signature()
    assert metadata["updates"] == outcome.steps
    assert (metadata["vocab_size"], metadata["num_messages"], metadata["eos"]) == (4, 9, None)
    assert "signature" not in metadata, "that of the language is not that of what is said"


@pytest.mark.parametrize(
    ("model", "grammar", "name"),
    [
        ("fc1l", "rot+perm", "fc1l_rot+perm_5"),
        ("husendz:rnn,hidden=8", "concat", "husendz-rnn-hidden=8_concat_5"),
        ("fc2l", "shufdet,decides=first", "fc2l_shufdet-decides=first_5"),
    ],
)
def test_each_corpus_has_its_own_folder(tmp_path, model, grammar, name):
    outcome = learnt(model, grammar, cap=2)
    folder = write_sender_corpus(outcome, model, GEOMETRY, PROTOCOL, tmp_path)
    assert re.fullmatch(re.escape(name) + "_[0-9a-f]{8}", folder.name), "not the benchmark's own setting"
    write_sender_corpus(outcome, model, GEOMETRY, PROTOCOL, tmp_path)  # overwrites the existing corpus
    assert [path.name for path in tmp_path.iterdir()] == [folder.name]
    other = write_sender_corpus(outcome, model, GEOMETRY, replace(PROTOCOL, lr=0.5), tmp_path)
    assert other != folder, "another setting does not overwrite it"


def test_messages_do_not_depend_on_the_batch_size(tmp_path, monkeypatch):
    outcome = learnt("gru", cap=20)
    whole = write_sender_corpus(outcome, "gru", GEOMETRY, PROTOCOL, tmp_path / "whole")
    monkeypatch.setattr(speaking, "BATCH", 2)
    parts = write_sender_corpus(outcome, "gru", GEOMETRY, PROTOCOL, tmp_path / "parts")
    for file in ("corpus.jsonl", "meanings.jsonl", "metadata.json"):
        assert (whole / file).read_bytes() == (parts / file).read_bytes()
