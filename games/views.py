"""What the agents see of the rounds of a batch, and the scores of the objects that a receiver chooses among."""

from dataclasses import dataclass

import torch
from torch import Tensor

from ecsuite.games.tasks import Truth

MAX_OBJECTS_PER_CANDIDATE = 16
"""Up to this ratio of objects in a batch to candidates in a round, every round is scored against all objects."""


@dataclass(frozen=True, kw_only=True, slots=True)
class View:
    """The objects that one agent sees in the rounds of a batch."""

    features: Tensor
    """Each object once, (num_objects, *object_shape)."""
    num_seen: int
    """Objects of each round."""
    indices: Tensor | None
    """The objects of each round, (batch, num_seen). None: they are laid out by place, round by round."""
    is_shared: bool = False
    """Whether all rounds have all of the objects, in their order."""
    present: Tensor | None = None
    """Which objects are there in a round, (batch, num_seen); None: all."""

    def of_rounds(self, vectors: Tensor) -> Tensor:
        """Vectors of the objects, (num_objects, size), to those of each round, (batch, num_seen, size)."""
        return vectors.unflatten(0, (-1, self.num_seen)) if self.indices is None else vectors[self.indices]


@dataclass(frozen=True, kw_only=True, slots=True)
class SeenRounds:
    """The rounds of a batch as the agents see them."""

    shown: View
    """What the sender sees, targets first."""
    candidates: View | None
    """What the receiver sees; None if the task has no candidates."""
    truth: Truth
    """What is right."""
    num_positive: int
    """Number of targets in `shown`."""


def score_candidates(queries: Tensor, vectors: Tensor, candidates: View) -> Tensor:
    """Dot products of queries, (num_ends, batch, size), and candidates' vectors, (num_ends, batch, num_candidates).

    Where rounds share their objects, whose vectors are (num_objects, size), these are few: then one product with all
    objects takes less time than a copy of each candidate's vector, a tenth with 256 candidates per round.
    """
    if candidates.is_shared:
        return queries @ vectors.t()
    indices = candidates.indices
    if indices is not None and len(vectors) <= MAX_OBJECTS_PER_CANDIDATE * indices.shape[1]:
        rounds = torch.arange(len(indices), device=indices.device)[:, None]
        return (queries @ vectors.t())[:, rounds, indices]
    by_round = candidates.of_rounds(vectors)
    return torch.bmm(queries.transpose(0, 1), by_round.transpose(1, 2)).transpose(0, 1)
