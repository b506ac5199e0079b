"""Agents that are taught a language before they play."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ecsuite.corpus import Corpus
from ecsuite.formats import write_corpus
from ecsuite.games.config.experiment import load_experiment
from ecsuite.games.config.sections import Experiment
from ecsuite.games.players import teaching
from ecsuite.games.runs.result import RunResult
from ecsuite.games.training.train import train
from ecsuite.grammars.clauses import clauses
from ecsuite.grammars.making import make_corpus
from ecsuite.runtime.errors import ConfigError

LANGUAGE = "clauses,sov=1,osv=1,marker=0.5"
EVENTS = (
    "world={kind: events, entities: 3, actions: 2}", "task.num_distractors=2", "channel.vocab_size=6",
    "channel.max_len=4", "sender.hidden_size=8", "receiver.hidden_size=8", "training.num_examples=12",
    "training.batch_size=6", "training.num_epochs=1", "training.evaluate_every=3", "training.checkpoint_every=1",
    "training.precision=fp32", "evaluation.num_valid=12",
)  # fmt: skip


def game(*settings: str) -> Experiment:
    return load_experiment("disc_tiny", [*EVENTS, *settings])


def trained(folder: Path, *settings: str, stop: int | None = None, resume: bool = False) -> RunResult:
    """Train; `stop`: as if the scheduler asked for it after so many steps."""
    steps = iter(range(1, 1000))
    return train(
        game(*settings),
        folder,
        resume=resume,
        device="cpu",
        progress=lambda *_: None,
        note=lambda _: None,
        should_stop=lambda: "preempted" if next(steps) == stop else None,
    )


def metadata(folder: Path) -> dict[str, Any]:
    return dict(json.loads((folder / "metadata.json").read_bytes()))


TAUGHT = (
    f"sender.taught={LANGUAGE}",
    "sender.taught.epochs=3",
    f"receiver.taught={LANGUAGE}",
    "receiver.taught.epochs=2",
)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("stops", "society"),
    [
        ((2, 6), ()),
        (
            (3,),
            (
                "society.agents=2",
                "society.shares=perception",
                "sender.perception=mlp,size=4",
                "receiver.perception=mlp,size=4",
            ),
        ),
    ],
)
def test_killed_while_taught_ends_the_same(
    stops: tuple[int, ...], society: tuple[str, ...], tmp_path: Path
) -> None:
    trained(tmp_path / "whole", *TAUGHT, *society)
    for stop in stops:
        trained(tmp_path / f"{stop}", *TAUGHT, *society, stop=stop)
        trained(tmp_path / f"{stop}", *TAUGHT, *society, resume=True)
        for file in ("corpus.jsonl", "metadata.json", "checkpoint-000000008.safetensors"):
            assert (tmp_path / f"{stop}" / file).read_bytes() == (tmp_path / "whole" / file).read_bytes()


def test_agents_may_only_be_taught(tmp_path: Path) -> None:
    result = trained(tmp_path / "a", *TAUGHT, "training.num_epochs=0")
    assert (result.step, result.num_steps, metadata(tmp_path / "a")["training"]["epoch"]) == (6, 6, 0)
    assert trained(tmp_path / "a", *TAUGHT, resume=True).step == 8


@pytest.mark.slow
def test_teaching_ends_at_an_accuracy(tmp_path: Path) -> None:
    settings = ("sender.taught=clauses", "sender.taught.epochs=200", "sender.taught.until_accuracy=1.0")
    result = trained(tmp_path / "a", *settings, "optimizer.lr=0.05", "sender.hidden_size=32")
    taught = metadata(tmp_path / "a")["taught"]["sender"]
    assert taught["accuracy"] == 1 and taught["steps"] < 400
    assert result.step == result.num_steps == taught["steps"] + 2
    assert trained(tmp_path / "a", *settings, "optimizer.lr=0.05", "sender.hidden_size=32").was_done


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (["sender.taught=clauses,sov=1,marker=1", "channel.vocab_size=5"], "sender.taught: the channel has no symbol"),
        (["sender.taught=clauses", "channel.max_len=2"], "sender.taught: a message has 3 symbols, but messages of"),
        (["sender.taught={language: clauses, share: 0}"], "sender.taught.share: expected float > 0.0, got 0"),
        (["receiver.taught={language: clauses, until_accuracy: 1.5}"], "receiver.taught.until_accuracy: expected"),
        (["sender.taught=claws"], "sender.taught: 'claws' is neither a grammar nor a corpus: see `ecsuite list"),
        (["sender.taught=dyck"], "sender.taught: dyck has no meanings: expected a language"),
        (["sender.taught={language: [clauses, concat], shares: [1]}"], "sender.taught.shares: expected 2 numbers"),
        (["sender.taught={language: []}"], "sender.taught.language: expected a grammar or a corpus"),
        (["world=attributes"], "sender.taught: four: no message for meaning 0, 3 of the world"),
        (["sender.taught=clauses", "training.freeze_sender=true"], "sender.taught: the senders are frozen"),
        (["training.num_epochs=0"], "training.num_epochs: expected at least 1 without sender.taught"),
        (["sender.taught=lacking"], "sender.taught: lacking: no message for meaning 2, 1, 1 of the world"),
    ],
)  # fmt: skip
def test_languages_that_do_not_fit_are_refused(
    settings: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    corpus = clauses("clauses", 0, entities=3, actions=2)
    write_corpus(corpus.take(np.arange(11)), tmp_path / "lacking")
    if "world=attributes" in settings:
        settings = ["sender.taught=four", "world={kind: attributes, num_attributes: 2, num_values: 4}"]
        write_corpus(
            make_corpus("concat", num_attributes=2, num_values=3, word_length=1, vocab_size=6),
            tmp_path / "four",
        )
    with pytest.raises(ConfigError) as error:
        trained(tmp_path / "run", *settings)
    assert str(error.value).replace("--set: ", "").startswith(message)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("weights", [["a", "b"], [1, None], [-1, 1]])
def test_weights_that_are_no_numbers_are_refused(weights):
    with pytest.raises(ConfigError, match="expected weights of at least 0"):
        teaching._weights(Corpus([[1], [2]], columns={"weight": weights}))
