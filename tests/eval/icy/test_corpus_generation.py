"""Corpora of trained senders: the message of each meaning, and the accuracy in the metadata."""

import re
from dataclasses import replace

from ecsuite.eval.icy.benchmark import write_corpora
from ecsuite.eval.icy.jobs import plan_corpora
from ecsuite.eval.icy.study import StudyConfig, resolve
from ecsuite.jobs.graph import Runner


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


def test_each_corpus_has_its_own_folder(tmp_path):
    agent = ("husendz:rnn,hidden=8", "shufdet,decides=first")
    folder = written(study_of(*agent, target=0.3), tmp_path)
    assert re.fullmatch("husendz-rnn-hidden=8_shufdet-decides=first_5_[0-9a-f]{8}", folder.name)
    other = written(study_of(*agent, target=0.3, lr=2e-2), tmp_path)
    assert other != folder, "another setting does not overwrite it"
