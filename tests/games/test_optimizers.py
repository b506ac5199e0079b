"""Optimizers, schedules, accumulated batches, and rates of their own."""

import pytest
import torch
from torch import nn

from ecsuite.files.tensor_files import read_tensors
from ecsuite.games.config.experiment import load_experiment
from ecsuite.games.config.registry import OPTIMIZERS, SCHEDULES
from ecsuite.games.engine.optimizers import Optimise
from ecsuite.games.plays.population import make_population
from ecsuite.games.worlds.world import make_world
from stopped_runs import trained as train_until

SMALL = [
    "training.num_examples=24", "training.batch_size=4", "training.num_epochs=2", "training.evaluate_every=2",
    "training.checkpoint_every=1", "evaluation.num_valid=8", "evaluation.corpus_size=16", "training.precision=fp32",
]  # fmt: skip


def trained(folder, *changes, **how):
    """Train a small run; returns its weights."""
    train_until(load_experiment("disc_tiny", [*SMALL, *changes]), folder, **how)
    return read_tensors(max(folder.glob("checkpoint-*.safetensors")))[0]


def factors(*changes, steps_per_epoch=4, num_epochs=5):
    experiment = load_experiment("disc_tiny", [f"training.num_epochs={num_epochs}", *changes])
    part = experiment.schedule
    options = SCHEDULES.load(part.kind).horizon(part.options, num_epochs)
    schedule = SCHEDULES.load(part.kind)(options, steps_per_epoch=steps_per_epoch)
    return [schedule.factor(step) for step in range(steps_per_epoch * num_epochs)]


def test_factors_of_schedules_by_hand():
    cosine = factors("schedule=cosine,last=0.2")
    assert cosine[0] == 1 and cosine[10] == pytest.approx(0.6) and 0.2 < cosine[-1] < 0.21
    assert factors("schedule=linear") == pytest.approx([1 - step / 20 for step in range(20)])
    assert factors("schedule=cosine,warmup_steps=4")[:5] == pytest.approx([0.2, 0.4, 0.6, 0.8, 1.0])
    assert factors("schedule=steps,every=2,by=0.5") == [1.0] * 8 + [0.5] * 8 + [0.25] * 4


@pytest.mark.slow
@pytest.mark.parametrize("kind", sorted(OPTIMIZERS.parts))
def test_every_optimizer_resumes_to_the_same_weights(kind, tmp_path):
    change = f"optimizer={kind}" + (",momentum=0.9,nesterov=true" if kind == "sgd" else "")
    whole = trained(tmp_path / "whole", change)
    trained(tmp_path / "parts", change, stop_after=5)
    parts = trained(tmp_path / "parts", change, resume=True)
    assert whole.keys() == parts.keys() and all(torch.equal(whole[name], parts[name]) for name in whole)


def changed(optimizer, seen, factor=1.0):
    """What an update by gradient descent takes from weights whose gradient is what they see."""
    model = nn.Linear(3, 1, bias=False)
    before = model.weight.detach().clone()
    updates = Optimise(load_experiment("disc_tiny", [f"optimizer=sgd,{optimizer}"]).optimizer, model)
    model(torch.tensor([seen])).sum().backward()
    updates.factor = factor
    updates.step()
    return before - model.weight.detach()


def test_updates_by_hand():
    """The rate times the gradient; clipped are its norm, or its values, which leaves their signs."""
    assert torch.allclose(changed("lr=0.5", [1.0, 1.0, 1.0], factor=0.1), torch.tensor(0.05))
    assert changed("lr=1.0,clip_norm=0.5", [100.0] * 3).norm().item() == pytest.approx(0.5, rel=1e-4)
    clipped = changed("lr=1.0,clip_value=0.5", [-100.0, 0.25, 3.0])
    assert torch.allclose(clipped, torch.tensor([[-0.5, 0.25, 0.5]]))


class Sum(nn.Module):
    """Weights that all have the same gradient, of the same memory, and one that has a part of it."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Parameter(torch.zeros(3)), nn.Parameter(torch.zeros(3))
        self.part = nn.Parameter(torch.zeros(2))

    def forward(self, values):
        return ((self.first + self.second + torch.cat([self.part, torch.zeros(1)])) * values).sum()


def test_gradients_of_the_same_memory_are_clipped_once():
    model, values = Sum(), torch.tensor([3.0, 0.0, 4.0])
    updates = Optimise(load_experiment("disc_tiny", ["optimizer=sgd,lr=1.0,clip_norm=1.0"]).optimizer, model)
    updates(model(values))
    norm = (2 * 25 + 9) ** 0.5
    for weight in (model.first, model.second):
        torch.testing.assert_close(weight.detach(), -values / norm)
    torch.testing.assert_close(model.part.detach(), -values[:2] / norm)


def rates_of(*settings):
    """The players of a game, and the rate of each of their parameters."""
    rates = ("optimizer.sender_lr=0.5", "optimizer.receiver_lr=0.1")
    experiment = load_experiment("disc_tiny", [*rates, *settings])
    players = make_population(experiment, make_world(experiment))
    groups = Optimise(experiment.optimizer, players, players.modules_of).optimizer.param_groups
    assert sum(len(group["params"]) for group in groups) == len(list(players.parameters()))
    return players, {id(each): group["lr"] for group in groups for each in group["params"]}


def test_agents_have_rates_of_their_own_and_a_perception_of_both_is_updated_once():
    players, rates = rates_of()
    assert {rates[id(each)] for each in players.senders[0].parameters()} == {0.5}
    assert {rates[id(each)] for each in players.receivers[0].parameters()} == {0.1}
    perceptions = (f"{role}.perception=tanh,size=9" for role in ("sender", "receiver"))
    players, rates = rates_of("society.agents=2", "society.shares=perception", *perceptions)
    for agent in players.agents:
        assert {rates[id(each)] for each in agent.speaker.perception.parameters()} == {0.5}


def test_batches_that_are_accumulated_equal_one_large_batch_of_the_same_rounds(tmp_path):
    """Reconstruction without noise: the rounds of a batch do not depend on how they are divided."""
    shared = ["channel=soft", "optimizer=sgd,lr=0.1", "task=reconstruction", "training.num_examples=16"]
    whole = trained(tmp_path / "whole", *shared, "training.batch_size=16")
    parts = trained(tmp_path / "parts", *shared, "training.accumulate=4")
    names = [name for name in whole if name.startswith("model.")]
    assert names and all(torch.allclose(whole[name], parts[name], atol=1e-5) for name in names)
