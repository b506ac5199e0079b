"""Tasks: what the receiver predicts from its state, with loss and measures."""

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
    """Loss and measures of the receiver's output, for each possible end of the message and each example."""

    loss: Tensor
    """In nats, (num_ends, batch)."""
    measures: Mapping[str, Tensor]
    """Measures to report, (num_ends, batch) each, always including `accuracy`."""


class Task(Protocol):
    """Interface of tasks."""

    @property
    def __call__(self) -> Callable[..., TaskOutput]:
        """Compute loss and measures from the receiver's states."""

    def chance(self) -> Mapping[str, float]:
        """Chance level of each measure."""


class Discrimination(nn.Module):
    """Identify the target among candidates: the logit of a candidate is its encoding times the receiver's state.

    The encoding of a candidate is tanh(W x + b); candidates are encoded once, not once per end of the message. The loss
    is the cross-entropy of the softmax over candidates.

    Args:
        hidden_size: Width of the receiver's state.
        num_attributes: Number of attributes of an object.
        num_values: Number of values of an attribute.
        num_candidates: Number of candidates.
    """

    def __init__(
        self, *, hidden_size: int, num_attributes: int, num_values: int, num_candidates: int
    ) -> None:
        super().__init__()
        self.num_values, self.num_candidates = num_values, num_candidates
        self.encode = Linear(num_attributes * num_values, hidden_size)

    def forward(self, states: Tensor, candidates: Tensor, targets: Tensor) -> TaskOutput:
        """Loss and measures.

        Args:
            states: The receiver's states, (num_ends, batch, hidden).
            candidates: Attribute values, (batch, num_candidates, num_attributes).
            targets: Index of the target among the candidates, (batch,).
        """
        encodings = tanh(self.encode(one_hot(candidates, self.num_values, states.dtype)))
        logits = torch.bmm(
            states.transpose(0, 1), encodings.transpose(1, 2)
        ).float()  # (batch, num_ends, candidates)
        labels = targets[:, None].expand(-1, len(states))
        loss = cross_entropy(logits.transpose(1, 2), labels, reduction="none").t()
        return TaskOutput(loss=loss, measures={"accuracy": (logits.argmax(-1) == labels).float().t()})

    def chance(self) -> Mapping[str, float]:
        """One divided by the number of candidates."""
        return {"accuracy": 1 / self.num_candidates}


class Reconstruction(nn.Module):
    """Reconstruct the object: one softmax over values per attribute.

    The loss is the cross-entropy, averaged over attributes. `accuracy` is the share of objects with all attributes
    correct.

    Args:
        hidden_size: Width of the receiver's state.
        num_attributes: Number of attributes of an object.
        num_values: Number of values of an attribute.
    """

    def __init__(self, *, hidden_size: int, num_attributes: int, num_values: int) -> None:
        super().__init__()
        self.num_attributes, self.num_values = num_attributes, num_values
        self.decode = Linear(hidden_size, num_attributes * num_values)

    def forward(self, states: Tensor, candidates: Tensor, targets: Tensor) -> TaskOutput:
        """Loss and measures of states (num_ends, batch, hidden) and the target, (batch, 1, num_attributes)."""
        logits = self.decode(states).float().unflatten(-1, (self.num_attributes, self.num_values))
        labels = candidates[:, 0].expand(len(states), -1, -1)  # (num_ends, batch, num_attributes)
        loss = (
            cross_entropy(logits.flatten(0, 2), labels.flatten(), reduction="none").view_as(labels).mean(-1)
        )
        correct = (logits.argmax(-1) == labels).float()
        return TaskOutput(
            loss=loss, measures={"accuracy": correct.amin(-1), "attribute_accuracy": correct.mean(-1)}
        )

    def chance(self) -> Mapping[str, float]:
        """Every attribute is guessed."""
        return {
            "accuracy": self.num_values**-self.num_attributes,
            "attribute_accuracy": 1 / self.num_values,
        }


TASKS: dict[str, str] = {
    "discrimination": "identify the sender's object among candidates",
    "reconstruction": "predict every attribute of the sender's object",
    "concept": "classify which candidates satisfy the rule that the sender's targets satisfy",
}
"""One line about each task, by name."""
