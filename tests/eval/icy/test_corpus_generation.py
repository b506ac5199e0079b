"""Corpora of trained senders: the message of each meaning, and the accuracy in the metadata."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest
import torch

from ecsuite.eval.icy import agents
from ecsuite.eval.icy.agents import make_agent, messages_of, parse_model
from ecsuite.eval.icy.benchmark import Icy, write_corpora
from ecsuite.eval.icy.jobs import plan_corpora
from ecsuite.eval.icy.study import StudyConfig, resolve
from ecsuite.formats import read_corpus
from ecsuite.grammars.geometry import Geometry
from ecsuite.grammars.icy import language
from ecsuite.jobs.graph import Runner

GEOMETRY = Geometry(num_attributes=2, num_values=3, word_length=2)


def study_of(model, grammar="perm", lr=1e-2, **settings):
    sizes = {"num_attributes": 2, "num_values": 3, "word_length": 2, "hidden_size": 16}
    config = {"models": (model,), "grammars": (grammar,), "seeds": (5,), "target": 0.99} | sizes | settings
    study = resolve(StudyConfig(**config))
    return replace(study, training=replace(study.training, lr=lr, batch_size=32, window=5))


def written(study, folder):
    """The folder of the corpus of the only grammar besides CONCAT."""
    study = replace(study, corpora=folder / "said")
    results = Runner(folder=folder / "kept").run(list(plan_corpora(study).values()), needs_arrays=True)
    return write_corpora(study, results)[-1]


def rows(corpus):
    assert set(corpus.messages.lengths) == {GEOMETRY.message_length}
    return corpus.messages.values.reshape(-1, GEOMETRY.message_length)


@pytest.mark.parametrize("model", ["husendz:dgsend", "fc2l"])
def test_a_trained_sender_produces_the_language(tmp_path, model):
    corpus, target = read_corpus(written(study_of(model), tmp_path)), language("perm", GEOMETRY, 5)
    assert np.array_equal(corpus.meanings, target.meanings)
    assert (rows(corpus) == target.messages).mean() > 0.97
    assert corpus.metadata["symbol_accuracy"] == (rows(corpus) == target.messages).mean()
    assert corpus.concept_names == target.corpus().concept_names


def test_eos_is_never_produced():
    """Not even by an untrained sender for which EOS has the highest logit."""
    agent = make_agent(parse_model("sender", "fc1l"), "sender", GEOMETRY, 16)
    weights = {name: torch.zeros_like(value) for name, value in agent.state_dict().items()}
    assert (messages_of("fc1l", weights, GEOMETRY, 16) == 1).all()


def test_the_metadata_names_model_and_language(tmp_path):
    study = study_of("fc1l", "shufdet,decides=first", target=0.5)
    result = Icy().measure(study, Runner(folder=tmp_path / "kept"))
    metadata = json.loads((written(study, tmp_path) / "metadata.json").read_text())
    assert metadata["speaker"] == "fc1l"
    assert metadata["taught"] == "shufdet,decides:first|2x3|w2|V4|seed:5|v:1"
    assert metadata["protocol"] == study.training.signature(20)
    assert metadata["updates"] == result.rows[0].cells[0].runs[0]["steps"]
    assert (metadata["vocab_size"], metadata["num_messages"], metadata["eos"]) == (4, 9, None)
    assert "signature" not in metadata, "that of the language is not that of what is said"


def test_each_corpus_has_its_own_folder(tmp_path):
    agent = ("husendz:rnn,hidden=8", "shufdet,decides=first")
    folder = written(study_of(*agent, target=0.3), tmp_path)
    assert re.fullmatch("husendz-rnn-hidden=8_shufdet-decides=first_5_[0-9a-f]{8}", folder.name)
    other = written(study_of(*agent, target=0.3, lr=2e-2), tmp_path)
    assert other != folder, "another setting does not overwrite it"


def test_messages_do_not_depend_on_the_batch_size(monkeypatch):
    agent = make_agent(parse_model("sender", "gru"), "sender", GEOMETRY, 16)
    whole = messages_of("gru", agent.state_dict(), GEOMETRY, 16)
    monkeypatch.setattr(agents, "MEANINGS_PER_BATCH", 2)
    assert np.array_equal(messages_of("gru", agent.state_dict(), GEOMETRY, 16), whole)
