"""Agents that begin with the weights of another run, and agents whose weights stay as they are."""

import shutil
import signal

import pytest
import torch

from ecsuite.games.config.experiment import load_experiment
from ecsuite.games.config.sections import ROLES
from ecsuite.games.runs.run import load_run
from ecsuite.runtime.errors import ConfigError


def weights_of(folder, role, index=0):
    """The weights of an agent of a run by name, without those of its channel and loss."""
    state = load_run(folder).players.sides(role)[index].state_dict()
    return {name: each for name, each in state.items() if name.partition(".")[0] not in ("channel", "loss")}


def same(first, second):
    return first.keys() == second.keys() and all(torch.equal(first[name], second[name]) for name in first)


@pytest.mark.slow
def test_both_agents_of_another_run_and_one_of_each(tmp_path, small, run, whole):
    other = tmp_path / "other"
    run(small("training.seed=5", "training.num_epochs=1"), other)
    both = [f"training.init_{role}={whole}" for role in ROLES]
    frozen = [*both, "training.freeze_sender=true", "training.num_epochs=1", "training.seed=9"]
    run(small(*frozen), tmp_path / "a")
    assert same(weights_of(tmp_path / "a", "sender"), weights_of(whole, "sender"))
    assert not same(weights_of(tmp_path / "a", "receiver"), weights_of(whole, "receiver"))
    mixed = [f"training.init_sender={whole}", f"training.init_receiver={other}"]
    run(small(*mixed, "training.freeze_receiver=true", "training.num_epochs=1"), tmp_path / "b")
    assert same(weights_of(tmp_path / "b", "receiver"), weights_of(other, "receiver"))
    assert not same(weights_of(tmp_path / "b", "sender"), weights_of(whole, "sender"))
    config = load_experiment(str(tmp_path / "b" / "config.yaml"))
    assert config.weights.keys() == {"sender", "receiver"} and len(config.weights["sender"]) == 64


def test_a_frozen_agent_that_never_learnt_passes_gradients_on(tmp_path, small, run):
    """A frozen random receiver: the sender learns to be understood by it."""
    run(small("training.freeze_receiver=true"), tmp_path)
    log = load_run(tmp_path).log
    assert log["train.loss"][-1] < log["train.loss"][0]


def test_other_weights_never_resume_in_silence(tmp_path, small, run, whole, kill):
    source = tmp_path / "source"
    shutil.copytree(whole, source)
    experiment = small(f"training.init_sender={source}")
    run(experiment, tmp_path / "run", progress=kill(signal.SIGTERM, 9))
    run(small("training.num_epochs=4"), source, resume=True)
    with pytest.raises(ConfigError, match=r"holds another run \(weights.sender is "):
        run(experiment, tmp_path / "run", resume=True)
    with pytest.raises(ConfigError, match="has other weights than when this config was written"):
        run(load_experiment(str(tmp_path / "run" / "config.yaml")), tmp_path / "again")


TWO = ("society.senders=2", "society.receivers=2", "training.num_epochs=1")


@pytest.mark.slow
def test_the_agents_of_a_society_begin_with_weights_of_another_run_in_turn_and_stay_if_frozen(
    tmp_path, small, run, whole
):
    """From a pair to a society, from a society to a larger one, and back to a pair."""
    run(small(*TWO, f"training.init_sender={whole}", "training.freeze_sender=true"), tmp_path / "two")
    for index in (0, 1):
        assert same(weights_of(tmp_path / "two", "sender", index), weights_of(whole, "sender"))
    learnt = [weights_of(tmp_path / "two", "receiver", index) for index in (0, 1)]
    assert not same(*learnt)
    start = [f"training.init_receiver={tmp_path / 'two'}", "training.freeze_receiver=true"]
    run(small("society.receivers=3", "training.num_epochs=1", *start), tmp_path / "three")
    for index in (0, 1, 2):
        assert same(weights_of(tmp_path / "three", "receiver", index), learnt[index % 2])
    run(small("training.num_epochs=1", *start), tmp_path / "one")
    assert same(weights_of(tmp_path / "one", "receiver"), learnt[0])


@pytest.mark.slow
def test_a_society_of_frozen_agents_is_stopped_and_goes_on_to_the_same_bytes(
    tmp_path, small, run, whole, kill, contents
):
    experiment = small(*TWO, f"training.init_sender={whole}", "training.freeze_sender=true")
    run(experiment, tmp_path / "whole")
    run(experiment, tmp_path / "parts", progress=kill(signal.SIGTERM, 3))
    run(experiment, tmp_path / "parts", resume=True)
    assert contents(tmp_path / "parts") == contents(tmp_path / "whole")


@pytest.mark.slow
def test_receivers_of_another_run_listen_in_a_society(tmp_path, small, run, whole):
    run(small(*TWO), tmp_path / "two")
    own = load_run(tmp_path / "two")
    assert own.evaluate(receiver_from=tmp_path / "two") == own.evaluate()
    other = own.evaluate(receiver_from=whole)["valid"]
    assert other != own.evaluate()["valid"] and other.keys() == own.evaluate()["valid"].keys()
    assert load_run(whole).evaluate(receiver_from=tmp_path / "two") != load_run(whole).evaluate()


def test_after_the_start_the_other_run_is_not_needed(tmp_path, small, run, whole, kill, contents):
    source = shutil.copytree(whole, tmp_path / "source")
    experiment = small(f"training.init_sender={source}", "training.freeze_sender=true")
    run(experiment, tmp_path / "whole")
    assert same(weights_of(tmp_path / "whole", "sender"), weights_of(whole, "sender"))
    run(experiment, tmp_path / "parts", progress=kill(signal.SIGTERM, 9))
    shutil.rmtree(source)
    run(experiment, tmp_path / "parts", resume=True)
    assert contents(tmp_path / "parts") == contents(tmp_path / "whole")
