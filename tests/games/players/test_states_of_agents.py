"""Frozen, loaded and replaced are states of an agent, in a pair and in any society; weights belong to a run."""

import shutil
import signal

import pytest
import torch

from ecsuite.games.config.experiment import load_experiment
from ecsuite.games.config.sections import ROLES
from ecsuite.games.runs.run import load_run
from ecsuite.runtime.errors import ConfigError

ONE = "training.num_epochs=1"
TWO = ("society.senders=2", "society.receivers=2", ONE)
SOCIETIES = {
    "pair": (ONE,),
    "3 x 2": ("society.senders=3", "society.receivers=2", ONE),
    "both": ("society.agents=3", ONE),
    "generations": (*TWO, "generations.every=2"),
}


def weights_of(folder, role, index=0):
    """The weights of an agent of a run by name, without those of its channel and loss."""
    state = load_run(folder).players.sides(role)[index].state_dict()
    return {name: each for name, each in state.items() if name.partition(".")[0] not in ("channel", "loss")}


def same(first, second):
    return first.keys() == second.keys() and all(torch.equal(first[name], second[name]) for name in first)


@pytest.mark.slow
@pytest.mark.parametrize("society", SOCIETIES)
@pytest.mark.parametrize("role", ROLES)
def test_frozen_agents_of_another_run_stay_as_they_are(small, run, whole, tmp_path, society, role):
    """Also where a generation ends; the others learn."""
    frozen = (f"training.init_{role}={whole}", f"training.freeze_{role}=true")
    run(small(*frozen, *SOCIETIES[society]), tmp_path / "run")
    other, players = ({*ROLES} - {role}).pop(), load_run(tmp_path / "run").players
    for index in range(len(players.sides(role))):
        assert same(weights_of(tmp_path / "run", role, index), weights_of(whole, role))
    for index in range(len(players.sides(other))):
        assert not same(weights_of(tmp_path / "run", other, index), weights_of(whole, other))


@pytest.mark.slow
def test_one_agent_of_each_of_two_runs(tmp_path, small, run, whole):
    other, mixed = tmp_path / "other", tmp_path / "mixed"
    run(small("training.seed=5", ONE), other)
    start = (f"training.init_sender={whole}", f"training.init_receiver={other}", ONE)
    run(small(*start, "training.freeze_receiver=true"), mixed)
    assert same(weights_of(mixed, "receiver"), weights_of(other, "receiver"))
    assert not same(weights_of(mixed, "sender"), weights_of(whole, "sender"))
    config = load_experiment(str(mixed / "config.yaml"))
    assert config.weights.keys() == {"sender", "receiver"} and len(config.weights["sender"]) == 64


@pytest.mark.slow
def test_agents_of_a_society_go_on_in_another_in_turn(tmp_path, small, run):
    """From a society to a larger one, and back to a pair, whose receivers also listen to the senders of another run."""
    run(small(*TWO), tmp_path / "two")
    learnt = [weights_of(tmp_path / "two", "receiver", index) for index in (0, 1)]
    start = [f"training.init_receiver={tmp_path / 'two'}", "training.freeze_receiver=true", ONE]
    run(small("society.receivers=3", *start), tmp_path / "three")
    for index in (0, 1, 2):
        assert same(weights_of(tmp_path / "three", "receiver", index), learnt[index % 2])
    run(small(*start), tmp_path / "one")
    assert not same(*learnt) and same(weights_of(tmp_path / "one", "receiver"), learnt[0])
    own, pair = load_run(tmp_path / "two"), load_run(tmp_path / "one")
    assert own.evaluate(receiver_from=tmp_path / "two") == own.evaluate()
    other = own.evaluate(receiver_from=tmp_path / "one")["valid"]
    assert other != own.evaluate()["valid"] and other.keys() == own.evaluate()["valid"].keys()
    assert pair.evaluate(receiver_from=tmp_path / "two") == pair.evaluate()


@pytest.mark.parametrize("society", [(), pytest.param(TWO, marks=pytest.mark.slow)], ids=["pair", "society"])
def test_after_the_start_the_other_run_is_not_needed(tmp_path, small, run, whole, kill, contents, society):
    source = shutil.copytree(whole, tmp_path / "source")
    experiment = small(f"training.init_sender={source}", "training.freeze_sender=true", *society)
    run(experiment, tmp_path / "whole")
    run(experiment, tmp_path / "parts", progress=kill(signal.SIGTERM, 3))
    shutil.rmtree(source)
    run(experiment, tmp_path / "parts", resume=True)
    assert contents(tmp_path / "parts") == contents(tmp_path / "whole")


def test_other_weights_never_resume_in_silence(tmp_path, small, run, whole, kill):
    source = shutil.copytree(whole, tmp_path / "source")
    experiment = small(f"training.init_sender={source}")
    run(experiment, tmp_path / "run", progress=kill(signal.SIGTERM, 9))
    run(small("training.num_epochs=4"), source, resume=True)
    with pytest.raises(ConfigError, match=r"holds another run \(weights.sender is "):
        run(experiment, tmp_path / "run", resume=True)
    with pytest.raises(ConfigError, match="has other weights than when this config was written"):
        run(load_experiment(str(tmp_path / "run" / "config.yaml")), tmp_path / "again")


def test_a_frozen_agent_that_never_learnt_passes_gradients_on(tmp_path, small, run):
    """A frozen random receiver: the sender learns to be understood by it."""
    run(small("training.freeze_receiver=true"), tmp_path)
    log = load_run(tmp_path).log
    assert log["train.loss"][-1] < log["train.loss"][0]
