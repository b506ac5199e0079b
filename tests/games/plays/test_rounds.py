"""Plays of rounds: scripted agents with known ends, and models that are drawn."""

import numpy as np
import pytest
import torch
from played_rounds import FILES, MODEL, played, rounds_of

from ecsuite.formats import read_corpus
from ecsuite.games.config.experiment import load_experiment
from ecsuite.games.plays.play import make_play
from ecsuite.runtime.errors import ConfigError


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


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("training.accumulate=2", "training.accumulate: a step of play naming has one batch: expected 1, got 2"),
        ("evaluation.mode=sample", "evaluation.mode: play naming generates no messages in evaluations"),
        ("evaluation.num_valid=8", "^evaluation.num_valid: not read by play naming: expected 1024"),
        ("evaluation.batch_size=8", "^evaluation.batch_size: not read by play naming: expected none"),
        ("play.max_symbols=3", "max_symbols: not read with symbols=pool: expected 12"),
        ("play.names=[a,b] play.pool=3", "pool: not read with names: expected 10"),
        ("play.symbols=text play.names=[a,b]", "names: not read with symbols=text: expected none"),
    ],
)  # fmt: skip
def test_settings_that_rounds_do_not_read_are_refused(setting, message, tmp_path):
    with pytest.raises(ConfigError, match=message):
        played(("play.agents=4", *setting.split()), tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
@pytest.mark.parametrize("settings", [(), MODEL], ids=["scripted", "model"])
def test_a_run_that_was_stopped_ends_with_the_same_bytes(settings, tmp_path):
    settings = [
        *settings,
        "training.num_examples=40",
        "training.batch_size=10",
        "training.checkpoint_every=2",
    ]
    whole = played(settings, tmp_path / "whole")
    assert played(settings, tmp_path / "parts", stop_after=3).stopped == "preempted"
    assert played(settings, tmp_path / "parts", resume=True) == whole
    for file in FILES:
        if (tmp_path / "whole" / file).exists():
            assert (tmp_path / "parts" / file).read_bytes() == (tmp_path / "whole" / file).read_bytes()


@pytest.mark.parametrize(
    ("symbols", "names", "message"),
    [
        ("letters", "[a,a]", "expected unique names without surrounding spaces"),
        ("syllables", '["",a]', "expected unique names without surrounding spaces"),
        ("words", "[red box,blue]", "expected words without spaces, got 'red box'"),
        ("syllables", "[pa,b,p]", "'pa' begins with 'p', so that a message could be read in two ways"),
    ],
)
def test_names_that_no_message_could_have_are_refused(symbols, names, message):
    found = load_experiment("naming", [f"play.symbols={symbols}", f"play.names={names}"])
    with pytest.raises(ConfigError, match=f"^play.names: {message}"):
        make_play(found, torch.device("cpu"))


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
    for seed in range(120):
        more = ["play.participant=language_model", "play.at_once=true", f"training.seed={seed}"]
        play = make_play(load_experiment("naming", [*settings, *more]), torch.device("cpu"))
        if seed < 20:
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
    assert (
        level["has_consensus"] == 0 and level["consensus_round"] == 2000 and 0.15 < level["consensus"] < 0.3
    )
    assert (
        set(make_play(load_experiment("naming", ["play.symbols=letters"]), torch.device("cpu")).chance())
        == set()
    )
