"""Frozen, loaded and replaced are states of an agent, in a pair and in any society."""

import pytest
import torch

from ecsuite.games.config.experiment import load_experiment
from ecsuite.games.runs.checkpoints import weights_of_corpus
from ecsuite.games.runs.run import load_run
from ecsuite.games.training.train import train
from ecsuite.runtime.errors import ConfigError

TINY = (
    "training.num_examples=64", "training.batch_size=16", "training.num_epochs=2", "training.evaluate_every=4",
    "training.precision=fp32", "evaluation.num_valid=32", "evaluation.batch_size=32",
)  # fmt: skip
SOCIETIES = {
    "pair": (),
    "3 x 2": ("society.senders=3", "society.receivers=2"),
    "both": ("society.agents=3",),
    "generations": ("society.senders=2", "society.receivers=2", "generations.every=2"),
}


def trained(folder, *settings):
    experiment = load_experiment("disc_tiny", [*TINY, *settings])
    train(experiment, folder, device="cpu", progress=lambda *_: None, note=lambda _: None)
    return weights_of_corpus(folder, print)


def of_side(weights, side):
    """Weights of each agent that speaks, or listens, without the place of the agent."""
    places = sorted({int(name.split(".")[1]) for name in weights if f".{side}." in name})
    return [
        {name.partition(f"{side}.")[2]: tensor for name, tensor in weights.items() if f"agents.{place}.{side}." in name}
        for place in places
    ]  # fmt: skip


def equal(first, second):
    return first.keys() == second.keys() and all(torch.equal(first[name], second[name]) for name in first)


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pair") / "run"
    trained(folder)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("society", SOCIETIES)
@pytest.mark.parametrize(
    ("role", "side", "other"), [("sender", "speaker", "listener"), ("receiver", "listener", "speaker")]
)
def test_frozen_agents_of_another_run_stay_as_they_are(pair, tmp_path, society, role, side, other):
    """Also where a generation ends; the others learn."""
    settings = (f"training.init_{role}={pair}", f"training.freeze_{role}=true", *SOCIETIES[society])
    before, after = weights_of_corpus(pair, print), trained(tmp_path / "run", *settings)
    (source,) = of_side(before, side)
    assert all(equal(agent, source) for agent in of_side(after, side))
    untrained = load_run(tmp_path / "run").players
    assert len(of_side(after, side)) == len(untrained.sides(role))
    assert not any(equal(agent, of_side(before, other)[0]) for agent in of_side(after, other))


@pytest.mark.slow
def test_agents_of_a_society_go_on_in_another_each_as_that_of_its_number(tmp_path):
    first = trained(tmp_path / "first", *SOCIETIES["3 x 2"])
    settings = (
        f"training.init_sender={tmp_path / 'first'}",
        "training.freeze_sender=true",
        "society.senders=4",
    )
    second = trained(tmp_path / "second", *settings)
    sources, found = of_side(first, "speaker"), of_side(second, "speaker")
    assert [equal(found[number], sources[number % 3]) for number in range(4)] == [True] * 4


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (("generations.every=2", "generations.roles=senders"), "generations.roles: the senders are frozen"),
        (
            ("generations.every=4", "generations.transmit=true", "generations.size=8", "generations.sender_steps=1"),
            "generations.sender_steps: the senders are frozen",
        ),
        (("society.senders=3", "society.imitate_every=2"), "society.imitate_every: the senders are frozen"),
    ],
)  # fmt: skip
def test_what_frozen_agents_would_learn_is_refused(tmp_path, settings, message):
    with pytest.raises(ConfigError, match=message):
        trained(tmp_path / "run", "training.freeze_sender=true", *settings)
    assert not (tmp_path / "run").exists()
