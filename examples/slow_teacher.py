"""A play: the signalling game with a further term in the loss, and a module that is saved with the agents."""

import copy
from dataclasses import dataclass

import torch
from torch import nn

from ecsuite.games.plays.signalling import Signalling
from ecsuite.parts.config import Share, Weight


class SlowTeacher(Signalling):
    """Signalling game whose agents stay near the moving average of their weights, so that languages change little."""

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options:
        """Options of the play."""

        strength: Weight = 1.0
        """Weight of the squared distance from the average in the loss."""
        inertia: Share = 0.9
        """Weight of the previous average in the new average."""

    def __init__(self, options, *, experiment, device):
        super().__init__(options, experiment=experiment, device=device)
        self.average = copy.deepcopy(self.players).requires_grad_(False)
        # What the module holds is saved and restored; the agents are under the name `players`.
        self.module = nn.ModuleDict({"players": self.players, "average": self.average})

    def loss(self, played):
        """Return the game's objective plus the weighted distance from the average."""
        pairs = zip(self.players.parameters(), self.average.parameters(), strict=True)
        return played.objective + self.options.strength * sum((a - b).square().sum() for a, b in pairs)

    def update(self, step, optimise):
        """Update the weights, then the average."""
        measures = super().update(step, optimise)
        with torch.no_grad():
            for average, weight in zip(self.average.parameters(), self.players.parameters(), strict=True):
                average.lerp_(weight, 1 - self.options.inertia)
        return measures
