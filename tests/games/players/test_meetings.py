"""Who plays with whom: kinds of meetings, and the pairs of each step."""

import time
from collections import Counter
from itertools import combinations, product

import pytest

from ecsuite.games.config.experiment import from_tree, load_experiment
from ecsuite.games.config.registry import MEETINGS
from ecsuite.games.players.schedule import Schedule
from ecsuite.games.runs.identity import RunContext
from ecsuite.runtime.errors import ConfigError


def schedule(*settings, seed=1):
    """The schedule of a society."""
    options = load_experiment("disc_tiny", settings).society
    return Schedule(MEETINGS.make(options.meets), options, seed, num_epochs=10)


def pairs_of(*settings, seed=1):
    """Sender and receiver of each pair that meets."""
    return {(meeting.sender, meeting.receiver) for meeting in schedule(*settings, seed=seed).meetings}


FOUR = ("society.senders=4", "society.receivers=4")


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        (("society.senders=2", "society.receivers=3"), {(i, j) for i in range(2) for j in range(3)}),
        (("society.agents=3",), {(i, j) for i in range(3) for j in range(3) if i != j}),
        (
            ("society.agents=4", "society.meets=ring"),
            {(0, 1), (1, 0), (1, 2), (2, 1), (2, 3), (3, 2), (3, 0), (0, 3)},
        ),
        ((*FOUR, "society.meets=ring,distance=2"), {(i, j) for i in range(4) for j in range(4)}),
        ((*FOUR, "society.meets=groups"), {(i, j) for i in range(4) for j in range(4) if i // 2 == j // 2}),
        (("society.senders=2", "society.meets={kind: list, pairs: [[0, 0], [1, 0, 0.5]]}"), {(0, 0), (1, 0)}),
    ],
)
def test_each_kind_has_its_pairs(settings, expected):
    assert pairs_of(*settings) == expected


def test_communities_are_what_is_connected():
    pairs = "society.meets={kind: list, pairs: [[0, 1], [1, 0], [2, 1]]}"
    assert schedule("society.senders=3", "society.receivers=2", pairs).communities == ([0, 1, 0], [1, 0])
    assert schedule("society.agents=4", "society.meets=groups").communities == ([0, 0, 1, 1],) * 2


@pytest.mark.parametrize("settings", [FOUR, ("society.agents=5",)])
def test_random_meetings_are_as_many_for_everyone(settings):
    found = pairs_of(*settings, "society.meets=random,partners=2")
    for place in (0, 1):
        assert set(Counter(pair[place] for pair in found).values()) == {2}
    assert settings == FOUR or not any(agent == partner for agent, partner in found)
    assert (
        len({frozenset(pairs_of(*settings, "society.meets=random,partners=2", seed=n)) for n in range(8)}) > 1
    )


@pytest.mark.parametrize("are_agents", [pytest.param(False, marks=pytest.mark.slow), True])
def test_all_random_meetings_are_equally_likely(are_agents):
    """Of four and four with two partners each: 90 sets of pairs, of which 9 have nobody that meets itself."""
    tables = [
        pairs
        for pairs in product(combinations(range(4), 2), repeat=4)
        if set(Counter(j for row in pairs for j in row).values()) == {2}
        and not (are_agents and any(i in row for i, row in enumerate(pairs)))
    ]
    assert len(tables) == (9 if are_agents else 90)
    size = ("society.agents=4",) if are_agents else FOUR
    kind, options = MEETINGS, load_experiment("disc_tiny", [*size, "society.meets=random,partners=2"]).society
    number, counts = 20 * len(tables), Counter()
    for seed in range(number):
        pairs = kind.make(options.meets).pairs(4, 4, are_agents=are_agents, seed=seed)
        counts[tuple(tuple(pair.receiver for pair in pairs if pair.sender == i) for i in range(4))] += 1
    assert set(counts) <= set(tables)
    chi_square = sum((counts[table] - 20) ** 2 / 20 for table in tables)
    freedom = len(tables) - 1
    assert chi_square < freedom + 4 * (2 * freedom) ** 0.5


def test_pairs_of_a_large_society_take_no_time():
    began = time.process_time()
    found = schedule("society.senders=60", "society.receivers=60", "society.pairs_per_step=3600").of_step(3)
    assert len(found) == 3600
    assert time.process_time() - began < 1


def test_all_play_before_any_plays_again():
    found = schedule(*FOUR)
    for step in range(50):
        pairs = found.of_step(step)
        assert len({pair.sender for pair in pairs}) == len({pair.receiver for pair in pairs}) == 4
        assert found.of_step(step) == pairs  # a pure function of the step
    played = Counter((pair.sender, pair.receiver) for step in range(50) for pair in found.of_step(step))
    assert len(played) == 16


def test_a_receiver_that_learns_hears_its_senders_in_turn():
    """Those of the phase, or of any phase where it meets nobody in this one."""
    found = schedule("society.senders=3", "society.receivers=2")
    assert [found.with_receivers([1], step)[0].sender for step in range(4)] == [0, 1, 2, 0]
    assert [meeting.receiver for meeting in found.with_receivers([1, 0], 0)] == [1, 0]


def test_pairs_play_as_often_as_their_weights_say():
    found = schedule(*FOUR, "society.meets=groups,across=0.1", "society.pairs_per_step=1")
    across = [
        pair for step in range(2000) for pair in found.of_step(step) if pair.sender // 2 != pair.receiver // 2
    ]
    assert len(across) / 2000 == pytest.approx(0.1 / 1.1, abs=0.02)


def test_a_file_becomes_a_list_in_the_run(tmp_path):
    file = tmp_path / "pairs.csv"
    file.write_text("sender,receiver,weight\n0,0,1\n1,0,0.5\n")
    experiment = load_experiment("disc_tiny", ["society.senders=2", f"society.meets=file,path={file}"])
    tree = RunContext.of(experiment).to_tree()
    assert from_tree(tree, "run").society.meets.options.pairs == ((0, 0, 1), (1, 0, 0.5))
    file.write_text("sender,receiver\n0,x\n")
    with pytest.raises(ConfigError, match=r"pairs\.csv:2: expected columns"):
        RunContext.of(experiment)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (("society.senders=2", "society.meets={kind: list, pairs: [[0, 0]]}"), "sender 1 has no partner"),
        ((*FOUR, "society.meets=random,partners=9"), "partners: expected at most 4, got 9"),
        (("society.senders=2", "society.meets=ring"), "a ring needs one receiver per sender"),
        ((*FOUR, "society.meets=ring,distance=3"), "no agent is further away than 2, got 3"),
        (("society.agents=2", "society.meets=ring,distance=2"), "no agent is further away than 1, got 2"),
        (("society.agents=3", "society.meets=random,partners=3"), "partners: expected at most 2, got 3"),
        (
            ("society.senders=2", "society.receivers=5", "society.meets=random,partners=1"),
            "receiver 1 has no partner",
        ),
        ((*FOUR, "society.meets=groups,number=5"), "a group without a partner"),
        (("society.agents=3", "society.meets=groups"), "a group without a partner"),
        ((*FOUR, "society.pairs_per_step=17"), "expected at most the 16 pairs that meet, got 17"),
        (("society.agents=2", "society.meets={kind: list, pairs: [[0, 0]]}"), "can't play with itself"),
        (("society.meets={kind: list, pairs: [[0, 7]]}",), "there are 1 senders and 1 receivers"),
        *(
            (
                (f"society.meets={{kind: list, pairs: [{row}]}}",),
                "expected rows of sender, receiver and a weight",
            )
            for row in ([0], [0.5, 0], [0, 0.5], [0, 0, 0], [0, 0, 1, 1])
        ),
        (("society.senders=2", "society.meets=file"), "expected a CSV file"),
        (("society.agents=2", "society.senders=2"), "either agents, or senders and receivers"),
        (("society.agents=1",), "expected at least 2, got 1"),
        (("society.sender_speeds=[0.5, 1]",), "expected one value for each of 1 senders, got 2"),
        (("society.shares=perception",), "set society.agents"),
        (("society.voting=true",), "needs several receivers"),
        (("society.imitate_every=5",), "needs several senders"),
        (("generations.number=2",), "expected a number of steps per generation"),
        (("generations.every=10", "generations.transmit=true"), "expected sender_steps or receiver_steps"),
        (
            ("generations.every=10", "generations.transmit=true", "generations.sender_steps=10"),
            "leave none of 10 steps to play",
        ),
    ],
)
def test_what_does_not_fit_is_refused(settings, message):
    with pytest.raises(ConfigError, match=message):
        schedule(*settings)
