"""Plays of rounds: scripted agents with known ends, and models that are drawn."""

import json

import numpy as np
import pytest
import torch
from played_rounds import FILES, MODEL, played, rounds_of
from stopped_runs import trained

from ecsuite.eval.results.verification.files import check_files
from ecsuite.formats import read_corpus
from ecsuite.games.config.experiment import load_experiment
from ecsuite.games.participants.participant import label
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
        (
            "training.accumulate=2",
            "training.accumulate: a step of play naming has one batch: expected 1, got 2",
        ),
        ("evaluation.mode=sample", "evaluation.mode: play naming generates no messages in evaluations"),
        ("evaluation.num_valid=8", "^evaluation.num_valid: not read by play naming: expected 1024"),
        ("evaluation.batch_size=8", "^evaluation.batch_size: not read by play naming: expected none"),
        ("play.max_symbols=3", "max_symbols: not read with symbols=pool: expected 12"),
        ("play.names=[a,b] play.pool=3", "pool: not read with names: expected 10"),
        ("play.symbols=text play.names=[a,b]", "names: not read with symbols=text: expected none"),
    ],
)
def test_settings_that_rounds_do_not_read_are_refused(setting, message, tmp_path):
    with pytest.raises(ConfigError, match=message):
        played(("play.agents=4", *setting.split()), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_rounds_and_answers_that_were_damaged_are_found(tmp_path):
    """A run whose answers are not whole is not repeated by `--replay`."""
    played(("play.agents=4", "training.num_examples=6", "play.participant=language_model"), tmp_path)
    assert {row.verdict for row in check_files(tmp_path)} == {"identical"}
    for file in ("rounds.jsonl", "answers.jsonl"):
        whole = (tmp_path / file).read_bytes()
        (tmp_path / file).write_bytes(whole[:-9])
        assert [row.name for row in check_files(tmp_path) if row.verdict == "damaged"] == [file]
        (tmp_path / file).write_bytes(whole)


@pytest.mark.parametrize("at_once", [False, True])
def test_the_corpus_has_what_each_said_last_also_as_the_second_of_two_who_speak_at_once(at_once, tmp_path):
    """On a chain of agents the last one is never the first of two."""
    meets = "play.meets=list,pairs=[[0,1],[1,2],[2,3]]"
    played(["play.agents=4", meets, f"play.at_once={at_once}", "training.num_examples=30"], tmp_path)
    last = {}
    for row in rounds_of(tmp_path):
        last[row["speaker"]] = row["said"]
        if at_once:
            last[row["listener"]] = row["answer"]
    corpus = read_corpus(tmp_path)
    said = [corpus.symbol_names[symbol] for (symbol,) in map(tuple, corpus.messages)]
    assert dict(zip(corpus.columns["speaker"].tolist(), said, strict=True)) == last
    assert sorted(last) == ([0, 1, 2, 3] if at_once else [0, 1, 2])


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


def test_meetings_say_who_plays_with_whom(tmp_path):
    played(["play.agents=8", "play.meets=ring", "training.num_examples=200"], tmp_path)
    apart = {(row["speaker"] - row["listener"]) % 8 for row in rounds_of(tmp_path)}
    assert apart == {1, 7}


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


def test_a_limit_of_cost_ends_the_run(tmp_path):
    prices = ("play.participant.prompt_price=1000", "play.participant.max_cost=5")
    notes = []
    assert played([*MODEL, *prices], tmp_path, notes=notes).stopped == "limit"
    assert any("play.participant.max_cost: the limit of 5.0 is reached" in note for note in notes)
    paid = json.loads((tmp_path / "metadata.json").read_text())["participants"]["play.participant"]
    tokens = [
        json.loads(line)["prompt_tokens"] for line in (tmp_path / "answers.jsonl").read_text().splitlines()
    ]
    assert paid["cost"] == pytest.approx(sum(tokens) / 1000) and 5 <= paid["cost"] < 5 + max(tokens) / 1000
    with pytest.raises(ConfigError, match="max_cost: needs prompt_price and answer_price"):
        load_experiment("naming", [*MODEL, prices[1]])


def test_networks_are_not_shown_objects_with_other_names_of_values(tmp_path):
    for file, colours in (("a", "red green blue"), ("b", "white black pink")):
        rows = "".join(f"{colour},{shape}\n" for colour in colours.split() for shape in ("cup", "hat", "sun"))
        (tmp_path / f"{file}.csv").write_text(f"colour,shape\n{rows}")
    trained(
        load_experiment(
            "objects",
            [f"world.objects={tmp_path}/a.csv", "training.num_epochs=1", "training.num_examples=32"],
        ),
        tmp_path / "run",
    )
    settings = [
        "play=talk", "play.blocks=1", "play.symbols=letters", "play.names=[a,b,c,d,e,f,g,h,i,j]", "play.max_symbols=5",
        f"play.participant=trained,run={tmp_path}/run", "training.num_epochs=1",
    ]  # fmt: skip
    for file in "ab":
        game = load_experiment(
            "talk_chain", ["world=objects", f"world.objects={tmp_path}/{file}.csv", *settings]
        )
        if file == "a":
            assert trained(game, tmp_path / "talk").stopped == "epochs"
            continue
        with pytest.raises(
            ConfigError, match="was trained on other objects: expected a world with the values colour="
        ):
            trained(game, tmp_path / "other")


def test_candidates_have_letters():
    assert [label(number) for number in (0, 25, 26, 51, 52, 701, 702)] == [
        "A",
        "Z",
        "AA",
        "AZ",
        "BA",
        "ZZ",
        "AAA",
    ]


@pytest.mark.parametrize(("number", "last"), [(5, "e"), (26, "z"), (28, "ab"), (703, "aaa")])
def test_the_chance_that_two_say_the_same_name_of_a_pool(number, last):
    found = load_experiment("naming", ["play.agents=4", f"play.pool={number}"])
    play = make_play(found, torch.device("cpu"))
    assert play.chance()["accuracy"] == 1 / number and play.words.choices[-1] == last
    assert len(set(play.words.choices)) == number


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
