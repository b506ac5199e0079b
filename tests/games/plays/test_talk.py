"""Talk in pairs and chains: what is taught, tested and passed on."""

import json
from pathlib import Path

import pytest
import torch
from played_rounds import rounds_of
from stopped_runs import trained

from ecsuite.formats import read_corpus
from ecsuite.games.config.experiment import load_experiment
from ecsuite.games.plays.play import make_play
from ecsuite.games.training.train import train
from ecsuite.runtime.errors import ConfigError

FINISHED = Path(__file__).parents[2] / "fixtures" / "small" / "finished"
TALK = ("play.blocks=2", "training.batch_size=9", "world.num_attributes=2", "world.num_values=3")


def talked(settings, folder, **how):
    steps = load_experiment("talk_chain", [*TALK, *settings])
    quiet = {"device": "cpu", "progress": lambda *_: None, "note": lambda _: None}
    return train(steps, folder, **quiet, **how)


def test_agents_who_share_a_language_understand_all_of_it_and_pass_it_on(tmp_path):
    """A compositional language, all of it taught: every generation says the same, and nobody errs."""
    result = talked(["play.num_taught=9", "play.language=compositional", "training.num_epochs=3"], tmp_path)
    assert (
        result.measures["accuracy"] == result.measures["recall"] == 1 and result.measures["shortening"] == 0
    )
    tests = [row for row in rounds_of(tmp_path) if row["phase"] == "test"]
    assert len(tests) == 3 * 2 * 9 and all(row["listener"] == -1 for row in tests)
    assert len({(tuple(row["meaning"]), row["said"]) for row in tests}) == 9
    evaluations = [name for name in result.extra_evaluations if name != "held out"]
    assert evaluations == [f"generation {number}" for number in (1, 2, 3)]
    corpus = read_corpus(tmp_path)
    assert len(corpus.messages) == 18 and set(corpus.columns["split"].tolist()) == {"train"}


def test_a_new_generation_knows_what_its_teacher_said_in_the_test_and_nothing_else(tmp_path):
    teachers = set()
    for seed in range(1, 5):
        settings = ["play.blocks=0", "play.num_taught=4", "play.language=none", "training.num_epochs=2"]
        result = talked([*settings, f"training.seed={seed}"], tmp_path / f"{seed}")
        said = {}
        for row in rounds_of(tmp_path / f"{seed}"):
            said.setdefault((row["generation"], row["speaker"]), {})[tuple(row["meaning"])] = row["said"]
        kept = [sum(said[1, 0][each] == said[0, teacher][each] for each in said[1, 0]) for teacher in (0, 1)]
        assert max(kept) >= 4 and min(kept) < 9 and result.measures.keys() == {"recall"}  # nobody listened
        teachers.add(kept.index(max(kept)))
    assert teachers == {0, 1}  # which of them, is drawn


def test_figures_are_of_rounds_that_were_played_and_those_of_training_of_rounds_with_a_listener(tmp_path):
    """Tests have no listener; before a generation is tested nothing is recalled, and of one block none is shorter."""
    settings = ["play.language=none", "training.num_epochs=2", "training.evaluate_every=1", "play.blocks=2"]
    talked(settings, tmp_path)
    rows, log = (
        rounds_of(tmp_path),
        [json.loads(e) for e in (tmp_path / "log.jsonl").read_text().splitlines()],
    )
    assert [sorted({"shortening", "recall"} & entry["valid"].keys()) for entry in log] == [
        [], ["shortening"], ["shortening"], ["shortening"], [], ["shortening"], *[["recall", "shortening"]] * 2
    ]  # fmt: skip
    for step, entry in enumerate(log):
        part = rows[9 * step : 9 * step + 9]
        won = sum(row["success"] for row in part) / 9
        assert entry["train"] == ({"accuracy": won} if part[0]["listener"] >= 0 else {})
    talked([*settings, "training.evaluate_every=8"], tmp_path / "whole")
    train = json.loads((tmp_path / "whole" / "log.jsonl").read_text())["train"]
    heard = [row["success"] for row in rows if row["listener"] >= 0]
    assert train == {"accuracy": sum(heard) / len(heard)} and 0 < sum(heard)


def test_messages_of_rounds_have_no_end_that_would_count(tmp_path):
    summary = talked(["training.num_epochs=1"], tmp_path).summary()
    assert "mean message length" in summary and "EOS" not in summary


def test_each_of_two_participants_with_one_model_has_its_own_calls_and_limits(tmp_path):
    """The sum of what is told of them is what was asked, also after the run was stopped."""
    two = [
        "play.num_others=2",
        "play.other=language_model,prompt=kouwenhoven2025",
        "play.participant=language_model",
    ]
    settings = [*TALK, *two, "play.agents=4", "training.num_epochs=1", "training.checkpoint_every=1"]
    for folder, how in (("whole", ({},)), ("parts", ({"stop_after": 2}, {"resume": True}))):
        for each in how:
            trained(load_experiment("talk_chain", settings), tmp_path / folder, **each)
        told = json.loads((tmp_path / folder / "metadata.json").read_text())["participants"]
        asked = [json.loads(e) for e in (tmp_path / folder / "answers.jsonl").read_text().splitlines()]
        assert sum(each["calls"] for each in told.values()) == len(asked) == 2 * 18 + 4 * 9
        assert all(each["calls"] >= 18 for each in told.values())
    limit = f"play.participant.max_calls={told['play.participant']['calls']}"
    assert trained(load_experiment("talk_chain", [*settings, limit]), tmp_path / "limit").stopped == "epochs"


def test_the_candidates_of_a_round_are_different_things_with_the_one_that_is_meant():
    game = load_experiment("talk_chain", [*TALK, "play.task=discrimination", "play.candidates=3"])
    play = make_play(game, torch.device("cpu"))
    plans = [play._talk(number, number, 0) for number in range(400)]
    assert all(len({*plan.candidates}) == 3 and plan.thing in plan.candidates for plan in plans)
    places = {plan.candidates.index(plan.thing) for plan in plans}
    assert places == {0, 1, 2}
    assert len({(plan.thing, each) for plan in plans for each in plan.candidates}) == 9 * 9


def test_trained_networks_talk_with_a_model(tmp_path):
    """A speaker of the run says what the run says, in the letters of the play; models hear it."""
    from ecsuite.games.runs.run import load_run

    run = load_run(FINISHED)
    channel = run.pair.channel
    letters = list("abcdefghij")[: channel.vocab_size]
    settings = [
        "play.language=none", "training.num_epochs=1", "play.blocks=1", "play.symbols=letters", f"play.names={letters}",
        f"play.max_symbols={channel.max_len}", "play.participant=language_model", "play.num_others=1",
        f"play.other=trained,run={FINISHED}", "play.num_taught=null",
        f"world.num_attributes={len(run.pair.world.num_values)}", f"world.num_values={run.pair.world.num_values[0]}",
    ]  # fmt: skip
    talked(settings, tmp_path)
    rows = [row for row in rounds_of(tmp_path) if row["speaker"] == 1]
    expected = run.speak([row["meaning"] for row in rows])
    assert [row["message"] for row in rows] == [
        [letters[each - 1] for each in said] or ["a"] for said in expected
    ]
    listened = [row for row in rounds_of(tmp_path) if row["listener"] == 1]
    assert listened and all(row["answer"] in row["candidates"] for row in listened)
    with pytest.raises(ConfigError, match="the world of the play differs"):
        talked([*settings, "world.num_attributes=9"], tmp_path / "other")
    assert not (tmp_path / "other").exists()
