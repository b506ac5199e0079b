"""Training by several processes: shares of a batch make the whole, and torchrun gives the result of one process."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import torch

from ecsuite.games.distributed import Processes
from ecsuite.games.experiment import load_experiment
from ecsuite.games.noise import ProcessNoise, exponential, gumbel, normal, uniform
from ecsuite.games.society.society import make_players
from ecsuite.games.world_making import make_world
from ecsuite.runtime.errors import ConfigError

SMALL = ("training.precision=fp32", "training.batch_size=8", "training.num_examples=64")
GAMES = {
    "gumbel": ("disc_tiny",),
    "reinforce with a mean baseline": ("disc_tiny", "channel=reinforce"),
    "a greedy baseline, a cost of length": (
        "disc_tiny", "channel=reinforce,baseline=greedy", "loss.length_cost=0.1", "channel.length=variable",
    ),
    "sampled answers": ("disc_tiny", "channel=reinforce", "loss=reward,entropy_coefficient=0.1"),
    "the batch as candidates": ("disc_tiny", "task=in_batch"),
    "rules": ("thing_qt",),
    "dropout": ("disc_tiny", "sender.perception.dropout=0.5", "receiver.perception.dropout=0.5"),
    "reconstruction": ("recon_large",),
    "objects by place": ("disc_large", "sender.hidden_size=16", "receiver.hidden_size=16"),
}  # fmt: skip


def players(name, *changes):
    experiment = load_experiment(name, [*SMALL, *changes])
    world = make_world(experiment)
    torch.manual_seed(0)
    return make_players(experiment, world), world


@pytest.mark.parametrize("name", GAMES)
def test_shares_of_a_batch_make_the_whole(name):
    """Measures, gradients and baselines are those of one process, up to the order of sums."""

    def played(processes):
        game, _ = players(*GAMES[name])
        game.processes = processes
        result = game.train_on(0, 0, 0)
        result.objective.backward()
        gradients = {of: each.grad for of, each in game.named_parameters() if each.grad is not None}
        return {"objective": result.objective, **result.measures, **gradients, **dict(game.named_buffers())}

    whole = played(Processes())
    first, second = (played(Processes(rank=rank, number=2)) for rank in range(2))
    for of, value in whole.items():
        torch.testing.assert_close((first[of] + second[of]) / 2, value, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("draw", "shape", "of_batch"),
    [(exponential, (4, 3), 0), (uniform, (4, 3), 0), (gumbel, (2, 4, 3), 1), (normal, (2, 4, 3), 1)],
)
def test_noise_belongs_to_the_example(draw, shape, of_batch):
    device = torch.device("cpu")
    whole_shape = [2 * size if place == of_batch else size for place, size in enumerate(shape)]
    whole = draw(whole_shape, torch.Generator().manual_seed(1), device)
    parts = []
    for rank in range(2):
        noise = ProcessNoise(generator=torch.Generator().manual_seed(1), rank=rank, num_processes=2)
        parts.append(draw(shape, noise, device))
    assert torch.equal(torch.cat(parts, of_batch), whole)


@pytest.mark.parametrize("name", ["disc_tiny", "disc_large", "thing_qt"])
def test_a_part_of_a_batch_has_the_same_objects(name):
    _, world = players(name)
    batch = world.batch("train", 0)
    part = batch.part(2, 6)
    assert len(part) == 4
    assert np.array_equal(part.objects[part.shown], batch.objects[batch.shown[2:6]])
    assert np.array_equal(
        part.objects[part.candidate_indices()], batch.objects[batch.candidate_indices()[2:6]]
    )


@pytest.mark.parametrize(
    ("changes", "number", "message"),
    [
        (("task=in_batch", "receiver.perception.dropout=0.5"), 2, "receiver.perception.dropout"),
        ((), 3, "training.batch_size: 8 examples do not divide into 3 equal shares"),
        (("training.num_examples=63",), 2, "the last batch of an epoch: 7 examples"),
        (("loss.length_cost=0.1", "loss.length_cost_power=2"), 2, "loss.length_cost_power"),
    ],
)
def test_what_can_not_be_shared_is_refused(changes, number, message):
    experiment = load_experiment("disc_tiny", [*SMALL, *changes])
    game, world = players("disc_tiny", *changes)
    power = experiment.loss.options.length_cost_power
    with pytest.raises(ConfigError, match=message):
        Processes(number=number).require_fits(game, world, is_foreign=False, length_cost_power=power)
    Processes().require_fits(game, world, is_foreign=False, length_cost_power=power)


OPTIONS = ("training.precision=fp32", "training.evaluate_every=4", "training.checkpoint_every=4",
           "training.num_examples=1024", "training.num_epochs=2")  # fmt: skip


def started(number, out, *arguments):
    """The command train-game in as many processes."""
    launcher = [
        sys.executable,
        "-m",
        "torch.distributed.run",
        f"--nproc-per-node={number}",
        "--standalone",
        "-m",
    ]
    program = launcher if number > 1 else [sys.executable, "-m"]
    settings = [part for option in OPTIONS for part in ("--set", option)]
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[3])}
    command = [*program, "ecsuite", "train-game", "disc_tiny", *settings, "--out", str(out), *arguments]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    )


def log_of(folder):
    return [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]


def require_same_log(one, two):
    assert [entry["step"] for entry in one] == [entry["step"] for entry in two] != []
    for first, second in zip(one, two, strict=True):
        for part in ("train", "valid"):
            assert second[part]["loss"] == pytest.approx(first[part]["loss"], rel=1e-4)


@pytest.mark.slow
def test_two_processes_train_as_one_does(tmp_path):
    one, two = (started(number, tmp_path / str(number)) for number in (1, 2))
    for process in (one, two):
        out, err = process.communicate(timeout=280)
        assert process.returncode == 0, err
        assert out.count("Corpus in") == 1
    require_same_log(log_of(tmp_path / "1"), log_of(tmp_path / "2"))
    metadata = json.loads((tmp_path / "2/metadata.json").read_text())
    assert metadata["num_processes"] == 2


@pytest.mark.slow
@pytest.mark.parametrize("number", [1, 2])
def test_a_killed_run_goes_on(tmp_path, number):
    """Also with another number of processes; a second start after its end changes nothing."""
    killed = started(2, tmp_path / "run", "--epochs", "400")
    until = time.monotonic() + 200
    while not list((tmp_path / "run").glob("checkpoint-*")) and time.monotonic() < until:
        time.sleep(0.1)
    killed.send_signal(signal.SIGTERM)
    killed.communicate(timeout=100)
    done = len(log_of(tmp_path / "run"))
    again = started(number, tmp_path / "run", "--epochs", "400", "--max-minutes", "0.05", "--resume")
    _, err = again.communicate(timeout=280)
    assert again.returncode == 0, err
    assert len(log_of(tmp_path / "run")) > done
    assert (tmp_path / "run/corpus.jsonl").exists()


@pytest.mark.slow
def test_a_refusal_is_told_once(tmp_path):
    process = started(3, tmp_path / "run")
    _, err = process.communicate(timeout=280)
    assert err.count("do not divide into 3 equal shares") == 1
    assert "exitcode  : 2" in err
    assert not (tmp_path / "run").exists()
