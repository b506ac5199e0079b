"""Who plays with whom: kinds of meetings, and the pairs of each step."""

from collections import Counter

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


@pytest.mark.parametrize("settings", [FOUR, ("society.agents=5",)])
def test_random_meetings_are_as_many_for_everyone(settings):
    found = pairs_of(*settings, "society.meets=random,partners=2")
    for place in (0, 1):
        assert set(Counter(pair[place] for pair in found).values()) == {2}
    assert settings == FOUR or not any(agent == partner for agent, partner in found)
    assert (
        len({frozenset(pairs_of(*settings, "society.meets=random,partners=2", seed=n)) for n in range(8)}) > 1
    )


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
        (("society.senders=2", "society.receivers=5", "society.meets=random,partners=1"), "receiver 1 has no partner"),
        ((*FOUR, "society.meets=groups,number=5"), "a group without a partner"),
        (("society.agents=3", "society.meets=groups"), "a group without a partner"),
        ((*FOUR, "society.pairs_per_step=17"), "expected at most the 16 pairs that meet, got 17"),
        (("society.agents=2", "society.meets={kind: list, pairs: [[0, 0]]}"), "can't play with itself"),
        (("society.meets={kind: list, pairs: [[0, 7]]}",), "there are 1 senders and 1 receivers"),
        *(
            ((f"society.meets={{kind: list, pairs: [{row}]}}",), "expected rows of sender, receiver and a weight")
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
)  # fmt: skip
def test_what_does_not_fit_is_refused(settings, message):
    with pytest.raises(ConfigError, match=message):
        schedule(*settings)
