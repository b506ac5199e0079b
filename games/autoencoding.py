"""The task of an auto-encoder: the receiver rebuilds what the sender saw, pixel by pixel, from the message."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import ClassVar

import torch
from torch import Tensor, nn

import ecsuite.games.chance as answers
from ecsuite.agents.linear import Linear
from ecsuite.games.tasks import Task, TaskOutput, Truth
from ecsuite.games.worlds.world import Batch, RoundSpec, World
from ecsuite.parts.config import Natural
from ecsuite.runtime.errors import ConfigError


class Autoencoding(Task):
    """Rebuild the features of the sender's object: pixels from 0 to 1, numbers, or one-hot values.

    The loss is the squared error, the mean over features. `accuracy` is the share of rounds in which no other object of
    the batch is nearer to the one that was rebuilt than the right one.

    Raises:
        ConfigError: If there are too many features for a layer of the receiver.
    """

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options:
        """Options of the task."""

        hidden_size: Natural = 0
        """Width of a layer with ReLU between the receiver's state and the features; 0: none."""

    scores_candidates: ClassVar[bool] = False
    asks_features: ClassVar[bool] = True

    def __init__(self, options: Options, *, world: World, state_size: int) -> None:
        super().__init__(options, world=world, state_size=state_size)
        num_features, width = prod(world.object_shape), options.hidden_size
        if num_features > MAX_FEATURES:
            raise ConfigError(
                f"task autoencoding: expected objects of at most {MAX_FEATURES:,} features or pixel values, got "
                f"{num_features:,}: expected smaller images, as in world digits"
            )
        hidden = (Linear(state_size, width), nn.ReLU()) if width else ()
        self.rebuild = nn.Sequential(*hidden, Linear(width or state_size, num_features))

    @staticmethod
    def rounds(options: Options) -> RoundSpec:
        """What the task asks of the world."""
        return RoundSpec()

    def forward(self, answer: Tensor, truth: Truth) -> TaskOutput:
        """Compare the rebuilt features with those of the target. See `Task`."""
        assert truth.features is not None
        rebuilt = self.rebuild(answer).float()  # (num_ends, batch, num_features)
        targets = truth.features.float()  # (batch, num_features)
        loss = (rebuilt - targets).square().mean(-1)
        return TaskOutput(loss=loss, measures={"accuracy": _is_nearest(rebuilt.detach(), targets).float()})

    def chance_of(self, world: World, split: str) -> Mapping[str, float]:
        """Some object of the batch, the mean of all, or the most frequent one; see `ecsuite.games.chance`."""
        family = (answers.another_object, *answers.constant_features(_is_nearest))
        return answers.chance_levels(world, self._targets, family, split)

    def _targets(self, batch: Batch) -> Tensor:
        """The features of the targets of a batch, (batch, num_features)."""
        objects = torch.from_numpy(batch.objects[batch.shown[:, 0]])
        return self.world.features(objects, torch.float32).flatten(1)


def _is_nearest(rebuilt: Tensor, targets: Tensor) -> Tensor:
    """Whether no other target is nearer to what was rebuilt than its own, (num_ends, batch).

    Args:
        rebuilt: Features, (num_ends, batch, num_features).
        targets: Features, (batch, num_features).
    """
    # The squared distance to each object of the batch, up to the same number for all of them.
    distances = targets.square().sum(-1) - 2 * rebuilt @ targets.t()
    own = distances.diagonal(dim1=1, dim2=2)
    return own <= distances.amin(-1) + TOLERANCE


MAX_FEATURES = 2**14
"""Most features of an object: the last layer has a row of weights for each."""
TOLERANCE = 1e-4
"""Squared distances are equal up to this: equal objects may be in one batch."""
