"""Replicas against modules that are trained alone with torch's own optimiser and clipping."""

import pytest
import torch
from torch import nn

from ecsuite.eval.models.replicas import Replicas

CPU = torch.device("cpu")
STEPS = 6


def modules(count=3):
    made = []
    for seed in range(count):
        torch.manual_seed(seed)
        made.append(nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 3)))
    return made


def batch(seed, step):
    return torch.randn(7, 4, generator=torch.Generator().manual_seed(100 * seed + step))


def loss_of(forward, seed, step):
    """Replica `seed` has gradients ten times as large as its neighbour's, so that clipping affects them differently."""
    return 10.0**seed * forward(batch(seed, step)).square().sum()


def train(replicas, seeds, steps):
    """Update replicas, which are those of the given seeds."""
    for step in steps:
        parameters = replicas.parameters()

        def forward(inputs, place, parameters=parameters):
            hidden = (inputs @ parameters["0.weight"][place].T + parameters["0.bias"][place]).tanh()
            return hidden @ parameters["2.weight"][place].T + parameters["2.bias"][place]

        losses = [
            loss_of(lambda inputs, place=place: forward(inputs, place), seed, step)
            for place, seed in enumerate(seeds)
        ]
        replicas.update(torch.stack(losses).sum())


def trained_alone(seed, clip=None, steps=STEPS):
    module = modules()[seed]
    optimizer = torch.optim.Adam(module.parameters(), lr=0.01)
    for step in range(steps):
        optimizer.zero_grad()
        loss_of(module, seed, step).backward()
        if clip is not None:
            nn.utils.clip_grad_norm_(module.parameters(), clip)
        optimizer.step()
    return module.state_dict()


def assert_same(mine, wanted):
    assert list(mine) == list(wanted)
    for name, value in wanted.items():
        torch.testing.assert_close(mine[name], value, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("clip", [None, 2.0])
def test_each_replica_is_trained_independently(clip):
    replicas = Replicas(modules(), lr=0.01, clip=clip, device=CPU)
    train(replicas, [0, 1, 2], range(STEPS))
    for seed in range(3):
        assert_same(replicas.replica(seed), trained_alone(seed, clip))
