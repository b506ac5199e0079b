"""Tasks: what the receiver must do with what it understood, and how that is scored."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from ecsuite.agents.cells import tanh
from ecsuite.agents.linear import Linear
from ecsuite.games.worlds.attributes import one_hot


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskOutput:
    """How the receiver's answers are scored, for each possible end of the message and each example."""

    loss: Tensor
    """In nats, (num_ends, batch)."""
    measures: Mapping[str, Tensor]
    """Figures to report, (num_ends, batch) each; `accuracy` is always among them."""


class Task(Protocol):
    """What a game needs of a task."""

    @property
    def __call__(self) -> Callable[..., TaskOutput]:
        """Judge what the receiver gives."""

    def chance(self) -> Mapping[str, float]:
        """What guessing gives, for each measure."""


class Discrimination(nn.Module):
    """Find the target among candidates: the score of a candidate is its encoding times the receiver's state.

    The encoding of a candidate is tanh(W x + b); candidates are encoded once, whatever the message's length. Loss:
    cross-entropy of the softmax over candidates.

    Args:
        hidden_size: Width of the receiver's state.
        num_attributes: Attributes of an object.
        num_values: Values of an attribute.
        num_candidates: Objects to choose from.
    """

    def __init__(
        self, *, hidden_size: int, num_attributes: int, num_values: int, num_candidates: int
    ) -> None:
        super().__init__()
        self.num_values, self.num_candidates = num_values, num_candidates
        self.encode = Linear(num_attributes * num_values, hidden_size)

    def forward(self, states: Tensor, candidates: Tensor, targets: Tensor) -> TaskOutput:
        """Judge states (num_ends, batch, hidden) against candidates (batch, num_candidates, num_attributes)."""
        encodings = tanh(self.encode(one_hot(candidates, self.num_values, states.dtype)))
        scores = torch.bmm(
            states.transpose(0, 1), encodings.transpose(1, 2)
        ).float()  # (batch, num_ends, candidates)
        wanted = targets[:, None].expand(-1, len(states))
        loss = cross_entropy(scores.transpose(1, 2), wanted, reduction="none").t()
        return TaskOutput(loss=loss, measures={"accuracy": (scores.argmax(-1) == wanted).float().t()})

    def chance(self) -> Mapping[str, float]:
        """One in the number of candidates."""
        return {"accuracy": 1 / self.num_candidates}


class Reconstruction(nn.Module):
    """Rebuild the object: one softmax over values for each attribute.

    Loss: mean over attributes of the cross-entropy. `accuracy` is the share of objects rebuilt exactly.

    Args:
        hidden_size: Width of the receiver's state.
        num_attributes: Attributes of an object.
        num_values: Values of an attribute.
    """

    def __init__(self, *, hidden_size: int, num_attributes: int, num_values: int) -> None:
        super().__init__()
        self.num_attributes, self.num_values = num_attributes, num_values
        self.decode = Linear(hidden_size, num_attributes * num_values)

    def forward(self, states: Tensor, candidates: Tensor, targets: Tensor) -> TaskOutput:
        """Judge states (num_ends, batch, hidden) against the only candidate, (batch, 1, num_attributes)."""
        logits = self.decode(states).float().unflatten(-1, (self.num_attributes, self.num_values))
        wanted = candidates[:, 0].expand(len(states), -1, -1)  # (num_ends, batch, num_attributes)
        loss = (
            cross_entropy(logits.flatten(0, 2), wanted.flatten(), reduction="none").view_as(wanted).mean(-1)
        )
        right = (logits.argmax(-1) == wanted).float()
        return TaskOutput(
            loss=loss, measures={"accuracy": right.amin(-1), "attribute_accuracy": right.mean(-1)}
        )

    def chance(self) -> Mapping[str, float]:
        """Guessing every attribute."""
        return {
            "accuracy": self.num_values**-self.num_attributes,
            "attribute_accuracy": 1 / self.num_values,
        }


TASKS: dict[str, str] = {
    "discrimination": "find the sender's object among candidates",
    "reconstruction": "rebuild the sender's object, attribute by attribute",
    "concept": "tell which candidates obey the rule that the sender's objects obey",
}
"""Tasks by the names that users write, with a line each."""
