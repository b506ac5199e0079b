"""Communities in contact: phases, members of other runs, what is kept of languages before they meet."""

import json

import numpy as np
import pytest

from ecsuite.corpus import Corpus
from ecsuite.eval.metrics.language_similarity import contact
from ecsuite.eval.metrics.score import Options
from ecsuite.games.config.experiment import load_experiment
from ecsuite.games.config.registry import MEETINGS
from ecsuite.games.players.schedule import Schedule
from ecsuite.games.plays.population import make_population
from ecsuite.games.runs.run import load_run
from ecsuite.games.worlds.world import make_world
from ecsuite.runtime.errors import ConfigError
from ecsuite.runtime.ragged import Ragged
from ecsuite.testing.trial import Trial

PHASES = 'society.meets=["groups,sizes=[3,2] until 2","groups,sizes=[3,2],across=1,bridges=1 until 4",all]'


def schedule(*settings):
    options = load_experiment("disc_tiny", settings).society
    return Schedule(MEETINGS.make(options.meets), options, 1, num_epochs=10)


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("members")
    Trial.of("channel", "gumbel", ("training.num_epochs=1",)).train(folder / "a")
    Trial.of("channel", "gumbel", ("training.num_epochs=1", "society.agents=2", "training.seed=2")).train(
        folder / "b"
    )
    Trial.of("channel", "gumbel", ("training.num_epochs=1", "channel.vocab_size=7")).train(folder / "other")
    return folder


def weights(run, role, number):
    return {
        name: value.clone() for name, value in load_run(run).players.sides(role)[number].named_parameters()
    }


def equal(one, other):
    return all((one[name] == other[name]).all() for name in one)


def test_members_begin_with_the_weights_of_their_runs_and_frozen_ones_keep_them(runs, tmp_path):
    members = f"society.members=[{runs}/a:frozen,{runs}/b*2,fresh,{runs}/b:sender]"
    trial = Trial.of("channel", "gumbel", (members,))
    trial.train(tmp_path / "whole")
    trial.train(tmp_path / "parts", stop_after=3)
    trial.train(tmp_path / "parts", resume=True)
    for file in ("corpus.jsonl", "before.jsonl", "log.jsonl", "checkpoint-000000006.safetensors"):
        contents = [(tmp_path / name / file).read_bytes() for name in ("whole", "parts")]
        if file == "log.jsonl":
            contents = [[json.loads(line)["valid"] for line in each.splitlines()] for each in contents]
        assert contents[0] == contents[1], file
    for role in ("sender", "receiver"):
        assert equal(weights(tmp_path / "whole", role, 0), weights(runs / "a", role, 0))
        assert not equal(weights(tmp_path / "whole", role, 1), weights(runs / "b", role, 0))
    begun = np.unique((load_run(tmp_path / "whole").corpus).columns["community"])
    assert begun.tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (("society.members=[{}/a,{}/other]",), "sender of .*other does not fit: network.embed.weight is .* there and"),
        (("society.members=[{}/none,fresh]",), "society.members: .*none: expected a run folder with a checkpoint"),
        (("society.members=[{}/a:frozen]",), "all are frozen: nothing is left to train"),
        (("society.members=[fresh*x]",), r"expected a number of agents after \*, such as runs/a\*4, got 'fresh\*x'"),
        (("society.members=[{}/a:sender]",), "none is a receiver"),
        (("society.members=[fresh,fresh]", "society.agents=3"), "2 are named, but society.agents is 3"),
        (("society.members=[fresh,fresh]", "training.init_sender={}/a"), "society.members sets the initial weights"),
        (("society.agents=4", "society.meets=[groups until 5,all]"), "begins with epoch 5, but training"),
        (("society.agents=4", "society.meets=[groups until 3,all until 2,ring]"), "ends at 2, expected a later end"),
        (("society.agents=4", "society.meets=[groups,all]"), "expected a phase and the epoch of its end"),
        (("society.agents=4", "society.meets=groups,sizes=[4,2]"), "have 6 members: expected 4"),
        (("society.agents=4", "society.meets=groups,bridges=1"), "no pair plays across: expected across above 0"),
    ],
)  # fmt: skip
def test_what_can_not_be_is_refused_in_a_line(runs, tmp_path, settings, message):
    with pytest.raises(ConfigError, match=message):
        Trial.of("channel", "gumbel", [each.replace("{}", str(runs)) for each in settings]).train(
            tmp_path / "run"
        )


def test_understanding_within_and_between_communities_is_measured():
    trial = Trial.of("channel", "gumbel", ("society.agents=5", PHASES, "training.num_epochs=5"))
    players = make_population(trial.experiment, make_world(trial.experiment))
    accuracy = np.array([float((i < 3) == (j < 3)) for i in range(5) for j in range(5) if i != j])
    figures = players.summary({"accuracy": accuracy})
    assert figures["accuracy_within"] == 1 and figures["accuracy_between"] == 0
    assert {"accuracy_within", "accuracy_between"} <= players.chance().keys()


def corpus(now, before, community, **more):
    """A corpus of speakers who each say a symbol a meaning, and said another one before."""
    number = len(now[0])
    return Corpus(
        Ragged.from_rows([[symbol] for said in now for symbol in said]),
        meanings=np.tile(np.arange(number)[:, None], (len(now), 1)),
        columns={
            "speaker": np.repeat(np.arange(len(now)), number),
            "community": np.repeat(community, number),
            "before": np.array([f"{symbol} 0" for said in before for symbol in said]),
        },
        **{"eos": 0, **more},
    )


def scores(*arguments, **more):
    return {score.name: score for score in contact(corpus(*arguments, **more), Options())}


def test_without_eos_every_symbol_counts():
    """Symbol 0 was left out of what was said before."""
    found = scores([[1, 2], [3, 4]], [[1, 2], [3, 4]], [0, 1], eos=None)
    assert found["similarity_between"].details["before"] == 0.5
