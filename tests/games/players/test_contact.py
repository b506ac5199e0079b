"""Who plays with whom: kinds of meetings, communities in contact, members of other runs, languages that survive."""

import json
from collections import Counter

import numpy as np
import pytest

from ecsuite.corpus import Corpus
from ecsuite.eval.metrics.language_similarity import contact
from ecsuite.eval.metrics.score import Options
from ecsuite.games.config.experiment import from_tree, load_experiment
from ecsuite.games.config.registry import MEETINGS
from ecsuite.games.players.schedule import Schedule
from ecsuite.games.plays.population import make_population
from ecsuite.games.runs.identity import RunContext
from ecsuite.games.runs.run import load_run
from ecsuite.games.worlds.world import make_world
from ecsuite.runtime.errors import ConfigError
from ecsuite.runtime.ragged import Ragged
from ecsuite.testing.trial import Trial

PHASES = 'society.meets=["groups,sizes=[3,2] until 2","groups,sizes=[3,2],across=1,bridges=1 until 4",all]'


def schedule(*settings, seed=1):
    options = load_experiment("disc_tiny", settings).society
    return Schedule(MEETINGS.make(options.meets), options, seed, num_epochs=10)


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder, epoch = tmp_path_factory.mktemp("members"), "training.num_epochs=1"
    runs = {"a": (), "b": ("society.agents=2", "training.seed=2"), "other": ("channel.vocab_size=7",)}
    for name, more in runs.items():
        Trial.of("channel", "gumbel", (epoch, *more)).train(folder / name)
    return folder


def weights(run, role, number):
    side = load_run(run).players.sides(role)[number]
    return {name: value.clone() for name, value in side.named_parameters()}


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
        (("society.members=[{0}/a,{0}/other]",), "sender of .*other does not fit: network.embed.weight is .* there"),
        (("society.members=[{}/none,fresh]",), "society.members: .*none: expected a run folder with a checkpoint"),
        (("society.members=[{}/a:frozen]",), "all are frozen: nothing is left to train"),
        (("society.members=[{}/a:sender]",), "none is a receiver"),
        (("society.members=[fresh,fresh]", "training.init_sender={}/a"), "society.members sets the initial weights"),
    ],
)  # fmt: skip
def test_what_can_not_be_is_refused_in_a_line(runs, tmp_path, settings, message):
    with pytest.raises(ConfigError, match=message):
        Trial.of("channel", "gumbel", [each.format(runs) for each in settings]).train(tmp_path / "run")


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


def pairs_of(*settings, seed=1):
    """Sender and receiver of each pair that meets."""
    return {(meeting.sender, meeting.receiver) for meeting in schedule(*settings, seed=seed).meetings}


FOUR = ("society.senders=4", "society.receivers=4")


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        (("society.senders=2", "society.receivers=3"), {(i, j) for i in range(2) for j in range(3)}),
        (("society.agents=3",), {(i, j) for i in range(3) for j in range(3) if i != j}),
        (("society.agents=4", "society.meets=ring"), {(i, (i + d) % 4) for i in range(4) for d in (1, 3)}),
        ((*FOUR, "society.meets=ring,distance=2"), {(i, j) for i in range(4) for j in range(4)}),
        ((*FOUR, "society.meets=groups"), {(i, j) for i in range(4) for j in range(4) if i // 2 == j // 2}),
        (("society.senders=2", "society.meets={kind: list, pairs: [[0, 0], [1, 0, 0.5]]}"), {(0, 0), (1, 0)}),
    ],
)
def test_each_kind_has_its_pairs(settings, expected):
    assert pairs_of(*settings) == expected


def test_all_play_before_any_plays_again():
    found = schedule(*FOUR)
    for step in range(50):
        pairs = found.of_step(step)
        assert len({pair.sender for pair in pairs}) == len({pair.receiver for pair in pairs}) == 4
        assert found.of_step(step) == pairs  # a pure function of the step
    played = Counter((pair.sender, pair.receiver) for step in range(50) for pair in found.of_step(step))
    assert len(played) == 16


@pytest.mark.parametrize("settings", [FOUR, ("society.agents=5",)])
def test_random_meetings_are_as_many_for_everyone(settings):
    found = pairs_of(*settings, "society.meets=random,partners=2")
    for place in (0, 1):
        assert set(Counter(pair[place] for pair in found).values()) == {2}
    assert settings == FOUR or not any(agent == partner for agent, partner in found)
    drawn = {frozenset(pairs_of(*settings, "society.meets=random,partners=2", seed=n)) for n in range(8)}
    assert len(drawn) > 1


def test_a_file_becomes_a_list_in_the_run(tmp_path):
    file = tmp_path / "pairs.csv"
    file.write_text("sender,receiver,weight\n0,0,1\n1,0,0.5\n")
    experiment = load_experiment("disc_tiny", ["society.senders=2", f"society.meets=file,path={file}"])
    tree = RunContext.of(experiment).to_tree()
    assert from_tree(tree, "run").society.meets.options.pairs == ((0, 0, 1), (1, 0, 0.5))
    file.write_text("sender,receiver\n0,x\n")
    with pytest.raises(ConfigError, match=r"pairs\.csv:2: expected columns"):
        RunContext.of(experiment)


def test_communities_live_apart_then_meet_over_bridges_then_all_meet():
    found = schedule("society.agents=5", PHASES)
    every = {(i, j) for i in range(5) for j in range(5) if i != j}
    apart = {(i, j) for i, j in every if (i < 3) == (j < 3)}
    for epoch, expected in ((1, apart), (3, apart | {(0, 3), (3, 0)}), (4, every), (9, every)):
        assert {(pair.sender, pair.receiver) for pair in found.phase(epoch).meetings} == expected
    assert found.communities == ([0, 0, 0, 1, 1],) * 2 and found.contact == 2


def test_the_words_of_the_larger_community_survive():
    """Three said a, b, c, d; two said e, f, g, h; now all but one word of the last speaker are of the three."""
    large, small = [1, 2, 3, 4], [5, 6, 7, 8]
    found = scores([large] * 4 + [[1, 2, 3, 8]], [large] * 3 + [small] * 2, [0, 0, 0, 1, 1])
    assert found["survival"].value == pytest.approx(19 / 20) and found["survival"].chance.level == 0.5
    assert found["survival"].details["table"] == [[1, 0], [7 / 8, 1 / 8]]
    assert found["similarity_within"].value == pytest.approx((3 + 3 / 4) / 4)
    assert found["similarity_between"].details["before"] == 0
    assert found["distinct_messages"].value == 1
