"""Parts in a society: losses and baselines of each speaker, noise of learning, batch statistics, shared weights."""

from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

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


SHARED = (
    "society.agents=4", "society.shares=perception", "society.pairs_per_step=12",
    "sender.perception=linear,size=9", "receiver.perception=linear,size=9",
)  # fmt: skip


@pytest.mark.slow
def test_agents_that_share_are_kept_and_read_again(small, run, tmp_path):
    settings = [*SHARED, "evaluation.num_valid=8"]
    run(small(*settings, "training.num_epochs=1"), tmp_path / "run")
    assert (tmp_path / "run" / "corpus.jsonl").is_file()


def test_a_step_in_which_all_are_slow_changes_nothing(small, run, tmp_path):
    settings = (
        "society.receivers=2", "society.sender_speeds=[0.000001]", "society.receiver_speeds=[0.000001]",
    )  # fmt: skip
    run(small(*settings), tmp_path / "run")
    assert (tmp_path / "run" / "corpus.jsonl").is_file()


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
