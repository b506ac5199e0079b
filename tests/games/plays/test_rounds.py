"""Plays of rounds and talk: scripted agents with known ends, models that are drawn, what is taught and passed on."""

import numpy as np
import pytest
import torch

from ecsuite.eval.results.verification.files import check_files
from ecsuite.formats import read_corpus
from ecsuite.games.config.experiment import load_experiment
from ecsuite.games.plays.play import make_play
from ecsuite.games.runs.result import RunResult
from ecsuite.games.tasks.directions import time_bound
from ecsuite.games.training.train import train
from played_rounds import FILES, MODEL, played, rounds_of


@pytest.mark.parametrize("kind", ["collapsing", "bayesian,chooses=most", "win_stay"])
def test_scripted_agents_agree_and_their_corpus_says_on_what(kind, tmp_path):
    more = ["play.pool=3", "play.agents=4"] if kind == "win_stay" else ["play.symbols=letters"]
    result = played([f"play.participant={kind}", *more], tmp_path)
    assert result.measures["consensus"] == 1 and result.measures["accuracy"] == 1
    corpus = read_corpus(tmp_path)
    assert len({tuple(corpus.messages[row]) for row in range(len(corpus.messages))}) <= 2
    assert result.measures["consensus_round"] < 2000 == len(rounds_of(tmp_path))


def test_there_are_as_many_rounds_as_asked_and_agreement_may_end_again(tmp_path):
    played(("play.agents=4", "training.num_examples=10", "training.batch_size=4"), tmp_path)
    assert len(rounds_of(tmp_path)) == 10
    game = load_experiment("naming", ["play.agents=2", "play.objects=2"])
    play = make_play(game, torch.device("cpu"))
    play.start()
    changes = [[(0, 0, "a"), (1, 0, "a")], [(0, 0, "b")], [(0, 1, "c"), (1, 1, "c")], [(1, 0, "b")]]
    play.rounds = [object() for _ in changes]
    play._changes = {id(round_): change for round_, change in zip(play.rounds, changes, strict=True)}
    play.noted(0)
    assert play.consensus_at == 4  # and not 3, when both things had been agreed on


@pytest.mark.slow
@pytest.mark.parametrize("settings", [(), MODEL], ids=["scripted", "model"])
def test_a_run_that_was_stopped_ends_with_the_same_bytes(settings, tmp_path):
    more = ("num_examples=40", "batch_size=10", "checkpoint_every=2")
    settings = [*settings, *(f"training.{each}" for each in more)]
    whole = played(settings, tmp_path / "whole")
    assert played(settings, tmp_path / "parts", stop_after=3).stopped == "preempted"
    assert played(settings, tmp_path / "parts", resume=True) == whole
    for file in FILES:
        if (tmp_path / "whole" / file).exists():
            assert (tmp_path / "parts" / file).read_bytes() == (tmp_path / "whole" / file).read_bytes()


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    "settings",
    [
        ["play.agents=3", "play.pool=3", "training.num_examples=12", "training.batch_size=3"],
        ["play.agents=3", "play.pool=2", "play.objects=2", "training.num_examples=20", "training.batch_size=5"],
        [
            "play.agents=5", "play.pool=2", "play.num_others=2", "play.other=committed,name=a",
            "training.num_examples=30", "training.batch_size=5",
        ],
    ],
    ids=["few agents", "two objects", "a committed minority"],
)  # fmt: skip
def test_agreement_by_chance_is_that_of_agents_that_answer_at_random(settings):
    """Plays of random agents themselves, round by round: means of both differ by less than four standard errors."""
    found, levels = [], []
    for seed in range(60):
        more = ["play.participant=language_model", "play.at_once=true", f"training.seed={seed}"]
        play = make_play(load_experiment("naming", [*settings, *more]), torch.device("cpu"))
        if seed < 10:
            levels.append(play.chance())
        play.start()
        for step in range(play.steps_per_epoch):
            play.train_step(step)
        found.append(play.evaluate())
    for name in levels[0]:
        played = np.array([each[name] for each in found])
        level = np.mean([each[name] for each in levels])
        assert abs(played.mean() - level) < 4 * played.std() / len(played) ** 0.5 + 0.01, name
    assert 0.3 < levels[0]["has_consensus"] < 1


def test_many_agents_never_agree_by_chance():
    play = make_play(load_experiment("naming", []), torch.device("cpu"))
    level = play.chance()
    assert level["has_consensus"] == 0 and level["consensus_round"] == 2000
    assert 0.15 < level["consensus"] < 0.3
    ended = RunResult(stopped="epochs", step=2000, num_steps=2000, measures={**level, "consensus_round": 31.0,
                      "has_consensus": 1.0}, chance=dict(level), extra_evaluations={})  # fmt: skip
    assert "  31.000  chance level ≥2000" in ended.summary()
    some = {"has_consensus": 0.4, "consensus_round": 700.0}  # of random plays, as of a mean over runs
    assert time_bound("consensus_round", some) == "lower" and time_bound("consensus", some) is None
    letters = make_play(load_experiment("naming", ["play.symbols=letters"]), torch.device("cpu"))
    assert not letters.chance()


TALK = ("play.blocks=2", "training.batch_size=9", "world.num_attributes=2", "world.num_values=3")


def talked(settings, folder, **how):
    steps = load_experiment("talk_chain", [*TALK, *settings])
    quiet = {"device": "cpu", "progress": lambda *_: None, "note": lambda _: None}
    return train(steps, folder, **quiet, **how)


def test_agents_who_share_a_language_understand_all_of_it_and_pass_it_on(tmp_path):
    """A compositional language, all of it taught: every generation says the same, and nobody errs."""
    result = talked(["play.num_taught=9", "play.language=compositional", "training.num_epochs=3"], tmp_path)
    assert [result.measures[name] for name in ("accuracy", "recall", "shortening")] == [1, 1, 0]
    tests = [row for row in rounds_of(tmp_path) if row["phase"] == "test"]
    assert len(tests) == 3 * 2 * 9 and all(row["listener"] == -1 for row in tests)
    assert len({(tuple(row["meaning"]), row["said"]) for row in tests}) == 9
    evaluations = [name for name in result.extra_evaluations if name != "held out"]
    assert evaluations == [f"generation {number}" for number in (1, 2, 3)]
    corpus = read_corpus(tmp_path)
    assert len(corpus.messages) == 18 and set(corpus.columns["split"].tolist()) == {"train"}


def test_who_only_memorises_is_at_chance_about_held_out_meanings(tmp_path):
    """Rounds after the first about a meaning counted, too: 0.93 of a random language, and no chance level."""
    result = talked(["play.num_taught=6", "training.num_epochs=40"], tmp_path)
    taught = {tuple(row["meaning"]) for row in rounds_of(tmp_path) if row["phase"] == "test"}
    corpus = read_corpus(tmp_path)
    taught &= {tuple(each) for each in corpus.meanings[corpus.columns["split"] == "train"].tolist()}
    first = {}
    for row in rounds_of(tmp_path):
        if row["phase"] == "talk" and tuple(row["meaning"]) not in taught:
            first.setdefault((row["generation"], *row["meaning"]), row["success"])
    assert len(first) == 40 * 3  # both agents take part in each round
    accuracy, chance = (each["held out"]["accuracy"] for each in (result.extra_evaluations, result.extra_chance))
    assert accuracy == pytest.approx(np.mean(list(first.values())))
    # Most rounds have one candidate or two that were never talked about, of four.
    assert 0.5 < chance < 0.9 and accuracy == pytest.approx(chance, abs=4 * 0.5 / len(first) ** 0.5)


def test_rounds_and_answers_that_were_damaged_are_found(tmp_path):
    """A run whose answers are not whole is not repeated by `--replay`."""
    played(("play.agents=4", "training.num_examples=6", "play.participant=language_model"), tmp_path)
    assert {row.verdict for row in check_files(tmp_path)} == {"identical"}
    for file in ("rounds.jsonl", "answers.jsonl"):
        whole = (tmp_path / file).read_bytes()
        (tmp_path / file).write_bytes(whole[:-9])
        assert [row.name for row in check_files(tmp_path) if row.verdict == "damaged"] == [file]
        (tmp_path / file).write_bytes(whole)


def test_a_committed_minority_turns_the_others_only_if_it_is_large_enough(tmp_path):
    """Two names, all begin with `b`; the critical share is about a tenth (Xie et al. 2011)."""
    shares = {}
    for number in (2, 20):
        settings = [
            "play.agents=100", "play.pool=2", "play.participant=collapsing,begins_with=b", f"play.num_others={number}",
            "play.other=committed,name=a", "training.num_examples=6000", "training.batch_size=500",
        ]  # fmt: skip
        shares[number] = played(settings, tmp_path / str(number)).measures["others_share"]
    assert shares[2] < 0.1 and shares[20] == 1
