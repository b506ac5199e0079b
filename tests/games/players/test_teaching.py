"""Agents that are taught a language before they play."""

import json

import numpy as np
import pytest

from ecsuite.corpus import Corpus
from ecsuite.formats import read_corpus, write_corpus
from ecsuite.games.config.experiment import load_experiment
from ecsuite.games.players import teaching
from ecsuite.grammars.clauses import clauses
from ecsuite.runtime.errors import ConfigError
from stopped_runs import trained

LANGUAGE = "clauses,sov=1,osv=1,marker=0.5"
EVENTS = (
    "world={kind: events, entities: 3, actions: 2}", "task.num_distractors=2", "channel.vocab_size=6",
    "channel.max_len=4", "sender.hidden_size=8", "receiver.hidden_size=8", "training.num_examples=12",
    "training.batch_size=6", "training.num_epochs=1", "training.evaluate_every=3", "training.checkpoint_every=1",
    "training.precision=fp32", "evaluation.num_valid=12",
)  # fmt: skip


def taught(folder, *settings, **how):
    return trained(load_experiment("disc_tiny", [*EVENTS, *settings]), folder, **how)


TAUGHT = (
    f"sender.taught={LANGUAGE}", "sender.taught.epochs=3", f"receiver.taught={LANGUAGE}", "receiver.taught.epochs=2",
)  # fmt: skip
SHARED = ("society.agents=2", "society.shares=perception", "sender.perception=mlp,size=4")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("stops", "society"), [((2, 6), ()), ((3,), (*SHARED, "receiver.perception=mlp,size=4"))], ids=["pair", "shared"]
)
def test_killed_while_taught_ends_the_same(stops, society, tmp_path):
    taught(tmp_path / "whole", *TAUGHT, *society)
    for stop in stops:
        taught(tmp_path / f"{stop}", *TAUGHT, *society, stop_after=stop)
        taught(tmp_path / f"{stop}", *TAUGHT, *society, resume=True)
        for file in ("corpus.jsonl", "metadata.json", "checkpoint-000000008.safetensors"):
            assert (tmp_path / f"{stop}" / file).read_bytes() == (tmp_path / "whole" / file).read_bytes()


def test_agents_may_only_be_taught(tmp_path):
    result = taught(tmp_path / "a", *TAUGHT, "training.num_epochs=0")
    assert (result.step, result.num_steps) == (6, 6)
    assert json.loads((tmp_path / "a" / "metadata.json").read_bytes())["training"]["epoch"] == 0
    assert taught(tmp_path / "a", *TAUGHT, resume=True).step == 8


@pytest.mark.slow
def test_teaching_ends_at_an_accuracy(tmp_path):
    settings = ("sender.taught=clauses", "sender.taught.epochs=200", "sender.taught.until_accuracy=1.0")
    settings += ("optimizer.lr=0.05", "sender.hidden_size=32")
    result = taught(tmp_path / "a", *settings)
    told = json.loads((tmp_path / "a" / "metadata.json").read_bytes())["taught"]["sender"]
    assert told["accuracy"] == 1 and told["steps"] < 400
    assert result.step == result.num_steps == told["steps"] + 2
    assert taught(tmp_path / "a", *settings).was_done


def test_a_corpus_is_taught_as_the_grammar_that_made_it_and_a_lacking_one_is_refused(tmp_path):
    corpus = clauses("clauses", 0, entities=3, actions=2)
    write_corpus(corpus, tmp_path / "language")
    write_corpus(corpus.take(np.arange(11)), tmp_path / "lacking")
    for name, language in (("grammar", "clauses"), ("corpus", tmp_path / "language")):
        taught(tmp_path / name, f"sender.taught={{language: '{language}', epochs: 2}}")
    one, other = (read_corpus(tmp_path / name).messages.values for name in ("grammar", "corpus"))
    assert one.tolist() == other.tolist()
    with pytest.raises(ConfigError, match="lacking: no message for meaning 2, 1, 1 of the world"):
        taught(tmp_path / "run", f"sender.taught={tmp_path / 'lacking'}")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("weights", [["a", "b"], [1, None], [-1, 1]])
def test_weights_that_are_no_numbers_are_refused(weights):
    with pytest.raises(ConfigError, match="expected weights of at least 0"):
        teaching._weights(Corpus([[1], [2]], columns={"weight": weights}))
