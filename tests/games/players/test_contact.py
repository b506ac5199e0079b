"""Communities in contact: phases, members of other runs, what is kept of languages before they meet."""

import json

import numpy as np
import pytest

from ecsuite.corpus import Corpus
from ecsuite.eval.metrics.language_similarity import contact
from ecsuite.eval.metrics.score import Options
from ecsuite.games.config.experiment import load_experiment
from ecsuite.games.config.registry import MEETINGS
from ecsuite.games.config.society import members_in
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


def of_epoch(found, epoch):
    return {(pair.sender, pair.receiver) for pair in found.phase(epoch).meetings}


def test_communities_live_apart_then_meet_over_bridges_then_all_meet():
    found = schedule("society.agents=5", PHASES)
    every = {(i, j) for i in range(5) for j in range(5) if i != j}
    apart = {(i, j) for i, j in every if (i < 3) == (j < 3)}
    assert of_epoch(found, 0) == of_epoch(found, 1) == apart
    assert of_epoch(found, 3) == apart | {(0, 3), (3, 0)}
    assert of_epoch(found, 4) == of_epoch(found, 9) == every
    assert found.communities == ([0, 0, 0, 1, 1],) * 2 and found.contact == 2
    assert {(pair.sender, pair.receiver) for pair in found.of_step(40, 1)} <= apart


def test_the_meetings_of_one_kind_are_one_phase_without_contact():
    for meets in ("all", "groups", "ring"):
        found = schedule("society.agents=4", f"society.meets={meets}")
        assert len(found.phases) == 1 and found.contact is None


def test_members_are_named_one_by_one():
    found = members_in(["a*2", "b:sender", "fresh", "c/d:receiver:frozen"])
    assert [(each.run, each.role, each.is_frozen) for each in found] == [
        ("a", None, False), ("a", None, False), ("b", "sender", False), (None, None, False), ("c/d", "receiver", True)
    ]  # fmt: skip
    options = load_experiment("disc_tiny", ["society.members=[a*2,b:sender,fresh]"]).society
    assert options.number("sender") == 4 and options.number("receiver") == 3


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


def test_a_member_takes_the_agent_of_its_turn(runs):
    from ecsuite.games.runs.checkpoints import member_weights

    options = load_experiment("disc_tiny", [f"society.members=[{runs}/b*3,{runs}/b:sender]"]).society
    found = member_weights(options, "sender", print)
    expected = [weights(runs / "b", "sender", number) for number in (0, 1, 0, 1)]
    assert all(equal(one, other) for one, other in zip(expected, found, strict=True))


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


def test_the_words_of_the_larger_community_survive():
    """Three said a, b, c, d; two said e, f, g, h; now all but one word of the last speaker are of the three."""
    large, small = [1, 2, 3, 4], [5, 6, 7, 8]
    found = scores([large] * 4 + [[1, 2, 3, 8]], [large] * 3 + [small] * 2, [0, 0, 0, 1, 1])
    assert found["survival"].value == pytest.approx(19 / 20) and found["survival"].chance.level == 0.5
    assert found["survival"].details["table"] == [[1, 0], [7 / 8, 1 / 8]]
    assert found["similarity_within"].value == pytest.approx((3 + 3 / 4) / 4)
    assert found["similarity_between"].details["before"] == 0
    assert found["distinct_messages"].value == 1


def test_words_as_near_to_both_are_shared_and_a_language_of_one_word_is_simple():
    found = scores([[9, 9], [9, 9]], [[1, 2], [3, 4]], [0, 1])
    assert found["survival"].value == 0.5 and found["distinct_messages"].value == 0.5
    assert found["similarity_within"].value is None and found["similarity_between"].value == 1


def test_without_eos_every_symbol_counts():
    """Symbol 0 was left out of what was said before."""
    found = scores([[1, 2], [3, 4]], [[1, 2], [3, 4]], [0, 1], eos=None)
    assert found["similarity_between"].details["before"] == 0.5


def test_of_one_community_nothing_is_defined():
    assert all(each.value is None for each in scores([[1, 2]] * 2, [[1, 2]] * 2, [0, 0]).values())
