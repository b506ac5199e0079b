"""Parts in a society: losses and baselines of each speaker, rounds and operations side by side, shared weights."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from ecsuite.games.config.experiment import load_experiment
from ecsuite.games.engine.optimizers import Optimise
from ecsuite.games.plays.evaluation import evaluate
from ecsuite.games.plays.population import make_population
from ecsuite.games.worlds.world import make_world

TWO = ("society.senders=2", "society.receivers=2")


def society(experiment):
    """The society of an experiment."""
    torch.manual_seed(1)
    return make_population(experiment, make_world(experiment))


LEARNERS = (
    ("generations.every=3", "generations.transmit=true", "generations.receiver_steps=2", "generations.size=32"),
    ("receiver.taught=holistic",),
)  # fmt: skip


@pytest.mark.parametrize("settings", LEARNERS)
def test_receivers_that_are_rewarded_learn_messages_by_rewards(small, settings):
    """Also where nobody said them in training, so that they have no probability."""
    found = society(small(*TWO, *settings, "channel=reinforce", "loss=reward"))
    updates = Optimise(small().optimizer, found)
    if "taught" in settings[0]:
        gradients = updates.gradients(found.teaching.learn(0).objective)
    else:
        found.begin_step(3, updates.optimizer)
        gradients = found.train_on(3, 3, 0, updates.gradients).gradients
    names = [name for name, each in found.named_parameters() if each.requires_grad]
    changed = {
        name.split(".")[1] for name, each in zip(names, gradients, strict=True) if each is not None and each.any()
    }  # fmt: skip
    assert changed == {"2", "3"}
    assert found.senders[0].loss.baseline < 0


@pytest.mark.slow
def test_the_lowest_accuracy_is_of_a_pair_over_all_rounds(small):
    """Not the mean over batches of the lowest in each: that falls with the size of a batch."""
    found = []
    for size in (64, 16, 4):
        experiment = small(
            "society.senders=3", "society.receivers=3", "evaluation.num_valid=64", f"evaluation.batch_size={size}"
        )  # fmt: skip
        players = society(experiment)
        found.append(evaluate(players, players.world, experiment))
    assert len({round(each["lowest_accuracy"], 6) for each in found}) == 1
    assert found[0]["lowest_accuracy"] < found[0]["accuracy"]


@pytest.mark.slow
def test_agents_that_are_made_in_threads_begin_as_their_seed_says(small):
    experiments = [small(*TWO, f"training.seed={seed}") for seed in (1, 2)]
    worlds = [make_world(experiment) for experiment in experiments]

    def made(place):
        players = make_population(experiments[place], worlds[place])
        return [each.detach().clone() for each in players.parameters()]

    alone = [made(place) for place in (0, 1)]
    with ThreadPoolExecutor(2) as pool:
        together = list(pool.map(made, [0, 1] * 20))
    for number, found in enumerate(together):
        assert all(torch.equal(*each) for each in zip(found, alone[number % 2], strict=True))


def test_each_speaker_has_the_baseline_of_its_rewards(small):
    found = society(small(*TWO, "channel=reinforce", "loss=reward"))
    assert {f"agents.{index}.speaker.loss.baseline" for index in (0, 1)} <= set(found.state_dict())
    found.train_on(0, 0, 0).objective.backward()
    first, second = (float(found.senders[index].loss.baseline) for index in (0, 1))
    assert first != second
    optimizer = Optimise(small().optimizer, found).optimizer
    found.replace_agent("sender", 0, 8, optimizer)
    assert float(found.senders[0].loss.baseline) == 0
    assert float(found.senders[1].loss.baseline) == second


def test_weights_without_a_say_have_no_gradient():
    """A hierarchical receiver of one symbol makes no second step, so that the map between steps has none."""
    changes = ["society.senders=2", "receiver=hier", "channel.max_len=1", "channel.length=fixed"]
    experiment = load_experiment("disc_tiny", changes)
    players = society(experiment)
    optimise = Optimise(experiment.optimizer, players)
    found = players.train_on(0, 0, 0, optimise.gradients)
    assert {each is None for each in found.gradients} == {True, False}


class Operations(TorchDispatchMode):
    """Counts operations by name."""

    def __init__(self):
        super().__init__()
        self.counts = Counter()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.counts[func.overloadpacket.__name__] += 1
        return func(*args, **(kwargs or {}))


def operations_of(number):
    """The operations of a step of so many pairs, each of agents of its own, without the noise of each."""
    pairs = ", ".join(f"[{each}, {each}]" for each in range(number))
    agents = (f"society.senders={number}", f"society.receivers={number}")
    experiment = load_experiment("disc_tiny", [*agents, f"society.meets={{kind: list, pairs: [{pairs}]}}"])
    players = make_population(experiment, make_world(experiment))
    optimise = Optimise(experiment.optimizer, players)
    with Operations() as operations:
        players.train_on(0, 0, 0, optimise.gradients)
    drawn = ("empty", "exponential_", "clamp_", "log_", "neg_")
    return {name: count for name, count in operations.counts.items() if name not in drawn}


@pytest.mark.slow
def test_more_pairs_side_by_side_take_no_more_operations_but_for_their_noise():
    few, many = operations_of(3), operations_of(6)
    more = {name: (few.get(name, 0), count) for name, count in many.items() if count > few.get(name, 0)}
    assert set(more) <= {"select", "unbind", "detach", "view", "alias", "chunk", "split"}, more  # views


@pytest.mark.parametrize(
    "changes",
    [
        ["task.sender_input=targets_and_distractors"],
        ["world.held_out=0.25"],
        ["training.batch_size=100"],  # the last batch of an epoch is smaller
        ["task.kind=in_batch"],
        ["task.fewest_distractors=1"],
        ["world.kind=unequal_attributes", "world.num_values=[3, 2, 4]", "task.num_distractors=2"],
    ],
)
def test_rounds_that_are_drawn_at_once_are_those_of_each_pair(changes):
    players = society(load_experiment("disc_tiny", ["society.senders=3", "society.receivers=3", *changes]))
    pairs = [players.pair(number, number) for number in range(3)]
    for number in (0, 63, 81):
        drawn = players.engine.views(pairs, players.engine.rounds(pairs, number))
        epoch, within = divmod(number, size := players.engine.batches_per_epoch)
        for place, (pair, rounds) in enumerate(zip(pairs, drawn, strict=True)):
            alone = pair.rounds(players.world.batch("train", epoch * size + (within + place) % size))
            assert rounds.form == alone.form
            assert all(map(torch.equal, rounds.tensors().values(), alone.tensors().values()))
