import dataclasses
import importlib.util
import itertools
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

import ecsuite
from ecsuite.games.channels.noise import gumbel, noise_generator
from ecsuite.games.config.experiment import load_experiment
from ecsuite.games.players.pair import make_pair
from ecsuite.games.worlds.world import make_world

PEER = Path(ecsuite.__file__).parent / "benchmarks" / "peers" / "plain_torch.py"
PARTS = {
    "speaker.perception.": "sender.see.", "speaker.network.": "sender.", "listener.network.": "receiver.",
    "listener.perception.": "receiver.see.", "listener.projection.": "receiver.project.",
    "listener.task.": "receiver.",
}  # fmt: skip


@pytest.fixture(scope="module")
def peer():
    spec = importlib.util.spec_from_file_location("plain_torch", PEER)
    sys.modules["plain_torch"] = module = importlib.util.module_from_spec(spec)  # where `dataclasses` looks
    spec.loader.exec_module(module)
    return module


def own_name(name):
    ours, peers = next((each for each in PARTS.items() if name.startswith(each[0])), (None, None))
    if ours is None:
        return None
    name = peers + name.removeprefix(ours)
    if name in ("receiver.see.weight", "receiver.see.bias"):
        name = name.replace("see", "see.0")
    cell, end = ("cell", "") if name.startswith("sender") else ("encode", "_l0")
    for part, short in (("input_map", "ih"), ("hidden_map", "hh")):
        for kind in ("weight", "bias"):
            name = name.replace(f"cells.0.{part}.{kind}", f"{cell}.{kind}_{short}{end}")
    return name


@pytest.mark.parametrize("name", ["disc_tiny", "objects_game", "digits", "compo_vs_generalization"])
def test_losses_of_ten_steps_are_those_of_plain_torch(peer, name):
    experiment = load_experiment(name)
    world = make_world(experiment)
    torch.manual_seed(0)
    pair = make_pair(experiment, world)
    sizes = peer.GAMES[name]
    game = peer.Game(sizes)
    game.load_state_dict({own_name(key): value.clone() for key, value in pair.state_dict().items()})
    optimizers = [torch.optim.Adam(each.parameters(), lr=sizes.lr) for each in (pair, game)]
    shape = (sizes.max_len, sizes.batch_size, sizes.vocab_size + 1)
    for step in range(10):
        batch = world.batch("train", step)
        candidates, labels = batch.candidate_indices(), batch.labels
        places = np.argsort(~labels, axis=1, kind="stable")  # the target first
        objects = torch.from_numpy(batch.objects[np.take_along_axis(candidates, places, 1)])
        values = (
            torch.zeros(0) if batch.values is None else torch.from_numpy(batch.values[batch.shown[:, 0]]).long()
        )  # fmt: skip
        features = world.features(objects.flatten(0, 1), torch.float32).unflatten(0, objects.shape[:2])
        ours = pair.play(batch, "train", noise_generator(0, "noise", step, torch.device("cpu")))
        noise = gumbel(shape, noise_generator(0, "noise", step, torch.device("cpu")), torch.device("cpu"))
        loss, _ = game(peer.Rounds(candidates=features, values=values), noise)
        assert loss.item() == pytest.approx(ours.objective.item(), abs=1e-5)
        for optimizer, objective in zip(optimizers, (ours.objective, loss), strict=True):
            optimizer.zero_grad()
            objective.backward()
            optimizer.step()


def test_sizes_are_those_of_our_games(peer):
    for name, sizes in peer.GAMES.items():
        experiment = load_experiment(name)
        channel, training = experiment.channel.options, experiment.training
        assert (sizes.channel, sizes.vocab_size, sizes.max_len) == (
            experiment.channel.kind, channel.vocab_size, channel.max_len,
        )  # fmt: skip
        assert sizes.is_fixed == (channel.length == "fixed")
        assert (sizes.batch_size, sizes.lr) == (training.batch_size, experiment.optimizer.options.lr)
        assert sizes.num_distractors == getattr(experiment.task.options, "num_distractors", None)


def test_reinforce_learns(peer):
    torch.manual_seed(0)
    sizes = dataclasses.replace(peer.GAMES["disc_tiny"], channel="reinforce", batch_size=64)
    accuracies = [accuracy for _, accuracy in itertools.islice(peer.train(sizes), 150)]
    assert np.mean(accuracies[-20:]) > 0.5  # chance level 0.25
