"""Views: the agents' observations of the objects of a batch, and scores of the candidates of a receiver.

In training, each agent can get its own perturbed view of every object.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ecsuite.agents.options import PerceptionOptions
from ecsuite.games.channels.noise import Noise, normal, uniform
from ecsuite.games.tasks.tasks import Task, Truth
from ecsuite.games.worlds.candidates import each_once
from ecsuite.games.worlds.world import Batch, Integers, World
from ecsuite.runtime.devices import sent
from ecsuite.runtime.errors import ConfigError

MAX_OBJECTS_PER_CANDIDATE = 16
"""Maximum ratio of objects in a batch to candidates in a round for scoring every round against all objects."""


@dataclass(frozen=True, kw_only=True, slots=True)
class View:
    """Objects that one agent sees in the rounds of a batch."""

    features: Tensor
    """Features of each object once, (num_objects, *object_shape)."""
    num_seen: int
    """Number of objects per round."""
    indices: Tensor | None
    """Indices of the objects of each round, (batch, num_seen). None: objects are stored by round and position."""
    is_shared: bool = False
    """Whether all rounds have all objects, in order."""
    present: Tensor | None = None
    """Mask of objects that are present in a round, (batch, num_seen); None: all."""

    def of_rounds(self, vectors: Tensor) -> Tensor:
        """Select vectors of the objects, (num_objects, size), for each round, (batch, num_seen, size)."""
        return vectors.unflatten(0, (-1, self.num_seen)) if self.indices is None else vectors[self.indices]


@dataclass(frozen=True, kw_only=True, slots=True)
class SeenRounds:
    """Rounds of a batch as seen by the agents."""

    shown: View
    """The sender's view, targets first."""
    candidates: View | None
    """The receiver's view; None if the task has no candidates."""
    truth: Truth
    """Correct answers."""
    num_positive: int
    """Number of targets in `shown`."""

    @property
    def form(self) -> Hashable:
        """Key of rounds with equal computations: shapes of tensors, and everything else but tensor values."""
        views = tuple(view and (view.num_seen, view.is_shared) for view in (self.shown, self.candidates))
        return self.num_positive, views, tuple((name, each.shape) for name, each in self.tensors().items())

    def tensors(self) -> dict[str, Tensor]:
        """Tensors by name."""
        parts = {"shown": self.shown, "candidates": self.candidates, "truth": self.truth}
        tensors = {
            f"{part}.{name}": getattr(value, name, None) for part, value in parts.items() for name in TENSORS
        }
        return {name: tensor for name, tensor in tensors.items() if tensor is not None}

    def parts(self, number: int) -> "list[SeenRounds]":
        """Split rounds whose objects are stored by round and position into `number` equal parts."""
        tensors = {name: tensor.chunk(number) for name, tensor in self.tensors().items()}
        return [
            self.with_tensors({name: chunks[place] for name, chunks in tensors.items()})
            for place in range(number)
        ]

    def with_tensors(self, tensors: Mapping[str, Tensor]) -> "SeenRounds":
        """Rounds with other tensors."""

        def of(part: str, value: Any) -> Any:
            changed = {name: tensors[f"{part}.{name}"] for name in TENSORS if f"{part}.{name}" in tensors}
            return replace(value, **changed)

        candidates = None if self.candidates is None else of("candidates", self.candidates)
        parts = {"shown": of("shown", self.shown), "candidates": candidates, "truth": of("truth", self.truth)}
        return replace(self, **parts)


TENSORS = ("features", "indices", "present", "labels", "values")
"""Names of tensors of views and of correct answers."""


def rendered(rounds: Sequence[SeenRounds], world: World, task: Task, dtype: torch.dtype) -> list[SeenRounds]:
    """Convert rounds of `world.unrendered()` to rounds of the world itself; all images are rendered at once."""
    seen = ["shown.features", *(["candidates.features"] if task.scores_candidates else [])]
    rows = [each.tensors()[name] for each in rounds for name in seen]
    images = iter(world.features(torch.cat(rows), dtype).split([len(each) for each in rows]))
    changed = [{name: next(images) for name in seen} for _ in rounds]
    for each, tensors in zip(rounds, changed, strict=True):
        if (targets := each.truth.features) is not None:
            tensors["truth.features"] = world.features(targets, torch.float32).flatten(1)
    return [each.with_tensors(tensors) for each, tensors in zip(rounds, changed, strict=True)]


def score_candidates(queries: Tensor, vectors: Tensor, candidates: View) -> Tensor:
    """Compute dot products of queries, (num_ends, batch, size), and candidates: (num_ends, batch, num_candidates).

    If rounds share few objects, with vectors (num_objects, size), one product with all
    objects is faster than copies of the candidates' vectors: ten times with 256 candidates per round.
    """
    if candidates.is_shared:
        return queries @ vectors.t()
    indices = candidates.indices
    if indices is not None and len(vectors) <= MAX_OBJECTS_PER_CANDIDATE * indices.shape[1]:
        rounds = torch.arange(len(indices), device=indices.device)[:, None]
        return (queries @ vectors.t())[:, rounds, indices]
    by_round = candidates.of_rounds(vectors)
    return torch.bmm(queries.transpose(0, 1), by_round.transpose(1, 2)).transpose(0, 1)


def shown_objects(
    batch: Batch, world: World, dtype: torch.dtype, device: torch.device, *, has_padding: bool
) -> View:
    """The sender's view of a batch; `has_padding`: see `_distinct_view`."""
    if batch.candidates is None:
        return _view(batch.objects[batch.shown.ravel()], batch.shown.shape[1], None, world, dtype, device)
    return _distinct_view(batch.objects, batch.shown, world, dtype, device, has_padding=has_padding)


def seen_candidates(
    batch: Batch, world: World, dtype: torch.dtype, device: torch.device, *, has_padding: bool
) -> View:
    """The receiver's view of a batch; `has_padding`: see `_distinct_view`.

    Without padding, targets replace absent candidates, which batch normalisation would include.
    """
    candidates = batch.candidates
    if batch.present is not None and not has_padding:
        indices = batch.candidate_indices()
        targets = np.take_along_axis(indices, batch.labels.argmax(1)[:, None], axis=1)
        candidates = np.where(batch.present, indices, targets)
    if candidates is None:
        view = _view(batch.objects, batch.labels.shape[1], None, world, dtype, device)
    elif batch.shares_candidates:
        objects = batch.objects[candidates[0]]
        view = _view(objects, candidates.shape[1], None, world, dtype, device)
        view = replace(view, is_shared=True)
    else:
        view = _distinct_view(batch.objects, candidates, world, dtype, device, has_padding=has_padding)
    if batch.present is not None:
        view = replace(view, present=sent(torch.from_numpy(batch.present), device))
    return view


def round_parts(
    batch: Batch, world: World, task: Task, dtype: torch.dtype, device: torch.device, *, has_padding: bool
) -> tuple[View | None, Truth]:
    """The receiver's view of the rounds of a batch (None: no candidates), and the correct answers.

    `has_padding`: see `_distinct_view`.
    """
    candidates = values = features = None
    if task.scores_candidates:
        candidates = seen_candidates(batch, world, dtype, device, has_padding=has_padding)
    elif task.asks_features:
        targets = sent(torch.from_numpy(batch.objects[batch.shown[:, 0]]), device)
        features = world.features(targets, torch.float32).flatten(1)
    else:
        assert batch.values is not None
        values = sent(torch.from_numpy(batch.values[batch.shown[:, 0]]), device)
        if (seen := task.seen_values(values)) is not None:
            candidates = View(features=seen, num_seen=1, indices=None)
        values = task.asked_values(values)
    labels = sent(torch.from_numpy(np.array(batch.labels)), device)
    return candidates, Truth(labels=labels, values=values, features=features)


def _distinct_view(
    objects: NDArray[Any],
    indices: Integers,
    world: World,
    dtype: torch.dtype,
    device: torch.device,
    *,
    has_padding: bool,
) -> View:
    """Objects with these indices, (batch, num_seen), each once.

    With padding, copies of the last object follow, up to an eighth of all: then few shapes occur, and steps can be
    replayed. Batch normalisation would give this object a higher weight.
    """
    used, (places,) = each_once(indices)
    if has_padding:
        step = 1 << max(len(used).bit_length() - 4, 0)
        num_rows = min(-(-len(used) // step) * step, indices.size)
        used = np.pad(used, (0, num_rows - len(used)), mode="edge")
    return _view(objects[used], indices.shape[1], places, world, dtype, device)


def _view(
    objects: NDArray[Any],
    num_seen: int,
    indices: Integers | None,
    world: World,
    dtype: torch.dtype,
    device: torch.device,
) -> View:
    """Objects on the device, as input of perceptions."""
    return View(
        features=world.features(sent(torch.from_numpy(objects), device), dtype),
        num_seen=num_seen,
        indices=None if indices is None else sent(torch.from_numpy(indices), device),
    )


class Perturbation:
    """Perturbation of objects and dropout of vectors, from the options of an agent's perception.

    Raises:
        ConfigError: If `shift` is set and objects are not images.
    """

    def __init__(self, role: str, options: PerceptionOptions, object_shape: tuple[int, ...]) -> None:
        self.is_active = True
        """Whether the agent is in training mode and not frozen; otherwise nothing is perturbed."""
        self.dropout = options.dropout
        self.noise, self.shift, self.brightness = options.noise, options.shift, options.brightness
        self.changes_objects = bool(self.noise or self.shift or self.brightness)
        if self.shift and len(object_shape) != 3:
            raise ConfigError(
                f"{role}.perception.shift: only images can be shifted: expected 0 for vectors of {object_shape[0]} "
                "features"
            )
        if self.shift and self.shift >= object_shape[0]:
            raise ConfigError(
                f"{role}.perception.shift: expected fewer pixels than the {object_shape[0]} of an image, got "
                f"{self.shift}"
            )

    def __call__(self, objects: Tensor, generator: Noise | None) -> Tensor:
        """Perturb objects, (num_objects, *object_shape), in training.

        Args:
            objects: Features, or images from 0 to 1.
            generator: Source of the perturbations.
        """
        if not (self.changes_objects and self.is_active):
            return objects
        one_each = (len(objects), *(1 for _ in objects.shape[1:]))
        if self.shift:
            objects = shifted(objects, uniform((2, len(objects)), generator, objects.device), self.shift)
        if self.brightness:
            factors = 1 + self.brightness * (2 * uniform(one_each, generator, objects.device) - 1)
            objects = objects * factors.to(objects.dtype)
        if self.noise:
            objects = objects + (self.noise * normal(objects.shape, generator, objects.device)).to(
                objects.dtype
            )
        return objects

    def dropped_out(self, vectors: Tensor, generator: Noise | None) -> Tensor:
        """Inverted dropout in training, from the step's generator, so that a resumed run drops the same values."""
        if self.dropout == 0 or not self.is_active:
            return vectors
        is_kept = uniform(vectors.shape, generator, vectors.device) >= self.dropout
        scaled: Tensor = vectors * (is_kept / (1 - self.dropout)).to(vectors.dtype)
        return scaled


def shifted(images: Tensor, draws: Tensor, most: int) -> Tensor:
    """Shift images (num_images, height, width, 3) by up to `most` pixels down and right, or up and left.

    Pixels that leave an image on one side enter on the opposite side.

    Args:
        images: Images whose height and width are at least `most`.
        draws: Numbers from 0 to 1 for rows and columns of each image, (2, num_images).
        most: Maximum shift in pixels.
    """
    by = (draws * (2 * most + 1)).long() - most
    _, height, width, _ = images.shape
    rows = (torch.arange(height, device=images.device) - by[0][:, None]) % height
    columns = (torch.arange(width, device=images.device) - by[1][:, None]) % width
    every = torch.arange(len(images), device=images.device)[:, None, None]
    moved: Tensor = images[every, rows[:, :, None], columns[:, None, :]]
    return moved
