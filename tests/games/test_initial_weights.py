"""Agents that begin with the weights of another run, and agents whose weights stay as they are."""

import shutil
import signal

import pytest
import torch

from ecsuite.files.tensor_files import read_tensors
from ecsuite.games.config.experiment import load_experiment
from ecsuite.games.config.sections import ROLES
from ecsuite.games.runs.run import load_run
from ecsuite.runtime.errors import ConfigError


def weights_of(folder, role, index=0):
    """The weights of an agent of a run by name, without those of its channel and loss."""
    state = load_run(folder).players.sides(role)[index].state_dict()
    return {
        name: tensor for name, tensor in state.items() if name.partition(".")[0] not in ("channel", "loss")
    }


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
    mixed = [
        f"training.init_sender={whole}",
        f"training.init_receiver={other}",
        "training.freeze_receiver=true",
    ]
    run(small(*mixed, "training.num_epochs=1"), tmp_path / "b")
    assert same(weights_of(tmp_path / "b", "receiver"), weights_of(other, "receiver"))
    assert not same(weights_of(tmp_path / "b", "sender"), weights_of(whole, "sender"))
    config = load_experiment(str(tmp_path / "b" / "config.yaml"))
    assert config.weights.keys() == {"sender", "receiver"} and len(config.weights["sender"]) == 64


def test_a_warm_start_begins_where_the_other_run_ended(tmp_path, small, run, whole):
    start = [f"training.init_{role}={whole}" for role in ROLES]
    result = run(small(*start, "optimizer.lr=1e-12", "training.num_epochs=1"), tmp_path)
    assert result.measures["loss"] == pytest.approx(load_run(whole).measures["loss"], rel=1e-4)


def test_a_frozen_agent_that_never_learnt_passes_gradients_on(tmp_path, small, run):
    """A frozen random receiver: the sender learns to be understood by it."""
    run(small("training.freeze_receiver=true"), tmp_path)
    log = load_run(tmp_path).log
    assert log["train.loss"][-1] < log["train.loss"][0]


def test_after_the_start_the_other_run_is_not_needed(tmp_path, small, run, whole, kill, contents):
    source = shutil.copytree(whole, tmp_path / "source")
    experiment = small(f"training.init_sender={source}", "training.freeze_sender=true")
    run(experiment, tmp_path / "whole")
    run(experiment, tmp_path / "parts", progress=kill(signal.SIGTERM, 9))
    shutil.rmtree(source)
    run(experiment, tmp_path / "parts", resume=True)
    assert contents(tmp_path / "parts") == contents(tmp_path / "whole")
    with pytest.raises(
        ConfigError, match=r"training.init_sender: .*source: expected a run folder with a checkpoint"
    ):
        run(experiment, tmp_path / "new")
    assert not (tmp_path / "new").exists()


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


def test_the_same_weights_are_the_same_run_wherever_they_lie(tmp_path, small, run, whole):
    source = shutil.copytree(whole, tmp_path / "source")
    run(small(f"training.init_sender={source}"), tmp_path / "run")
    assert run(small(f"training.init_sender={whole}"), tmp_path / "run").was_done


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            "channel.vocab_size=9",
            "the sender of .* does not fit: network.embed.weight is 8 x 6 there and 8 x 10 here",
        ),
        ("sender.hidden_size=32", "the sender of .* does not fit: network.* there and .* here"),
        ("sender.kind=lstm", "the sender of .* does not fit: network.cells.0.* there and .* here"),
    ],
)
def test_agents_that_do_not_fit_are_named_with_both_sizes(tmp_path, small, run, whole, change, message):
    with pytest.raises(ConfigError, match=message):
        run(small(f"training.init_sender={whole}", change), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_objects_of_other_sizes_are_refused_where_their_product_is_the_same(tmp_path, small, run, whole):
    """Twice four and four times two values are as many numbers to see, and mean other things."""
    sizes = (
        "world.num_attributes=4",
        "world.num_values=2",
        "training.num_epochs=1",
        "evaluation.corpus_size=16",
    )
    run(small(*sizes), tmp_path / "other")
    said = "expected a run with objects of the same sizes, but num_attributes is 4 in the run and 2 here, num_values"
    for setting in ("training.init_sender={}", "society.members=[{},fresh]"):
        with pytest.raises(ConfigError, match=said):
            run(small(setting.format(tmp_path / "other")), tmp_path / "run")
    with pytest.raises(ConfigError, match=said):
        load_run(whole).evaluate(receiver_from=tmp_path / "other")


def test_frozen_weights_get_no_update_and_no_moments(tmp_path, small, run):
    run(small("training.freeze_sender=true", "training.num_epochs=1"), tmp_path)
    tensors, _ = read_tensors(tmp_path / "checkpoint-000000008.safetensors")
    players = load_run(tmp_path).players
    trained = [name for name, parameter in players.named_parameters() if parameter.requires_grad]
    moments = [name for name in tensors if name.endswith(".exp_avg")]
    assert len(moments) == len(trained) and not any(".speaker." in name for name in trained)


def test_a_receiver_of_another_run_listens(tmp_path, small, run, whole):
    run(small("training.seed=5"), tmp_path / "other")
    own = load_run(whole)
    assert own.evaluate(receiver_from=whole) == own.evaluate()
    assert own.evaluate(receiver_from=tmp_path / "other") != own.evaluate()
    run(small("receiver.hidden_size=8", "training.num_epochs=1"), tmp_path / "narrow")
    with pytest.raises(
        ConfigError, match=r"the receiver of .*narrow does not fit: network.* there and .* here"
    ):
        own.evaluate(receiver_from=tmp_path / "narrow")


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
    experiment = small(
        *TWO[:2], f"training.init_sender={whole}", "training.freeze_sender=true", "training.num_epochs=1"
    )
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
