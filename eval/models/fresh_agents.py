"""Learning curves of agents that learn a language from random weights.

A receiver learns the attribute values that a message means, a sender the message for attribute values. Agents of all
languages and seeds learn in parallel, with separate weights.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.func import functional_call, vmap
from torch.nn.functional import cross_entropy, one_hot

from ecsuite.agents.factory import make_receiver, make_sender
from ecsuite.agents.message import PAD
from ecsuite.agents.replicas import replicas
from ecsuite.agents.senders import MessageBuilder
from ecsuite.eval.models.replicas import Replicas
from ecsuite.games.channels.message_builders import SymbolOptions
from ecsuite.games.players.learning import GivenMessages, as_message
from ecsuite.runtime.randomness import initial_weights

Learner = Literal["receiver", "sender"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Training:
    """Hyperparameters of fresh agents."""

    agent: str = "gru"
    """Recurrent cell of sender and receiver."""
    hidden_size: int = 64
    """Width of the hidden state."""
    embedding_size: int = 16
    """Width of a symbol's embedding."""
    lr: float = 0.001
    """Learning rate of Adam."""
    num_updates: int = 400
    """Updates of the weights."""
    batch_size: int = 64
    """Maximum number of messages in an update."""
    every: int = 20
    """Number of updates between the points of a curve."""
    num_evaluated: int = 500
    """Maximum number of messages evaluated at a point."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Curves:
    """Accuracies of fresh agents during learning."""

    updates: NDArray[np.int64]
    """Number of updates before each point, (num_points,)."""
    accuracy: NDArray[np.float64]
    """Accuracy of attribute values, or of symbols, (num_languages, num_seeds, num_points)."""
    of_attributes: NDArray[np.float64]
    """Final accuracy by attribute, or of the whole message, (num_languages, num_seeds, num_attributes or 1)."""

    @property
    def area(self) -> NDArray[np.float64]:
        """Area under each curve, its mean accuracy, (num_languages, num_seeds)."""
        means: NDArray[np.float64] = self.accuracy.mean(-1)
        return means

    def updates_to(self, level: float) -> list[list[int | None]]:
        """Updates until each curve first reaches a level; None if it never does."""
        reached = self.accuracy >= level
        first = np.where(reached.any(-1), self.updates[reached.argmax(-1)], -1)
        return [[None if number < 0 else int(number) for number in row] for row in first]


def learning_curves(
    learner: Learner,
    languages: NDArray[np.integer[Any]],
    meanings: NDArray[np.int64],
    training: Training,
    seeds: Sequence[int],
    *,
    num_learnt: int | None = None,
) -> Curves:
    """Train fresh agents on languages.

    Args:
        learner: The learning agent.
        languages: Messages of each language for the agents of each seed, content ids from 1, EOS, and `PAD` after it,
            (num_languages, num_seeds, num_messages, max_len).
        meanings: Attribute values from 0 of the messages of every language, (num_messages, num_attributes).
        training: Hyperparameters.
        seeds: Seeds of the weights and of the order of the messages.
        num_learnt: Number of messages to learn, from the start; all others are evaluated. None: learn and evaluate all.
    """
    num_languages, num_seeds, num_messages, max_len = languages.shape
    vocab_size, num_values = int(languages.max()), int(meanings.max()) + 1
    modules: list[nn.Module] = []
    for _ in range(num_languages):  # agents with the same seed have the same initial weights in all languages
        for seed in seeds:
            made = _Receiver if learner == "receiver" else _Sender
            with initial_weights(seed):
                modules.append(made(meanings.shape[1], num_values, vocab_size, max_len, training))
    trained = Replicas(modules, lr=training.lr, clip=None, device=torch.device("cpu"))
    form = modules[0]

    def figures(weights: dict[str, Tensor], ids: Tensor, values: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        found: tuple[Tensor, Tensor, Tensor] = functional_call(form, weights, (ids, values))
        return found

    def side_by_side(rows: NDArray[np.int64]) -> tuple[Tensor, Tensor, Tensor]:
        """Loss and accuracy of each agent on these messages, (num_seeds, number), and accuracy by attribute."""
        taken = languages[:, np.arange(num_seeds)[:, None], rows].reshape(-1, rows.shape[1], max_len)
        values = np.broadcast_to(meanings[rows], (num_languages, *rows.shape, meanings.shape[1]))
        ids = torch.from_numpy(np.ascontiguousarray(taken)).long().transpose(1, 2)  # (replicas, steps, batch)
        with replicas():
            together: tuple[Tensor, Tensor, Tensor] = vmap(figures, randomness="same")(
                dict(trained.parameters()),
                ids,
                torch.from_numpy(values.reshape(-1, *values.shape[2:]).copy()),
            )
        return together

    rng = np.random.default_rng([*b"evaluated"])
    first, number = (0, num_messages) if num_learnt is None else (num_learnt, num_learnt)
    chosen = first + np.sort(rng.permutation(num_messages - first)[: training.num_evaluated])
    evaluated = np.broadcast_to(chosen, (num_seeds, len(chosen)))
    orders = [_batches(seed, number, min(training.batch_size, number)) for seed in seeds]
    points, updates = [], []
    for update in range(training.num_updates + 1):
        if update % training.every == 0:
            with torch.no_grad():
                _, shares, of_attributes = side_by_side(evaluated)
                points.append(shares.reshape(num_languages, num_seeds).numpy())
            updates.append(update)
        if update < training.num_updates:
            trained.update(side_by_side(np.stack([next(order) for order in orders]))[0].sum())
    return Curves(
        updates=np.array(updates),
        accuracy=np.stack(points, axis=-1).astype(np.float64),
        of_attributes=of_attributes.reshape(num_languages, num_seeds, -1).double().numpy(),
    )


class _Receiver(nn.Module):
    """A receiver and a layer that reads the value of each attribute."""

    def __init__(
        self, num_attributes: int, num_values: int, vocab_size: int, max_len: int, training: Training
    ) -> None:
        super().__init__()
        self.receiver = make_receiver(
            training.agent,
            vocab_size=vocab_size,
            max_len=max_len,
            hidden_size=training.hidden_size,
            embedding_size=training.embedding_size,
        )
        self.read = nn.Linear(self.receiver.state_size, num_attributes * num_values)
        self.num_attributes = num_attributes

    def forward(self, ids: Tensor, values: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Mean loss, accuracy, and accuracy by attribute; ids (num_steps, batch), values (batch, num_attributes)."""
        states, _ = self.receiver(as_message(ids), torch.float32)
        logits = self.read(states[0]).unflatten(-1, (self.num_attributes, -1))
        loss = cross_entropy(logits.flatten(0, 1), values.flatten())
        right = (logits.argmax(-1) == values).float()
        return loss, right.mean(), right.mean(0)


class _Sender(nn.Module):
    """A sender whose input are one-hot attribute values."""

    def __init__(
        self, num_attributes: int, num_values: int, vocab_size: int, max_len: int, training: Training
    ) -> None:
        super().__init__()
        self.sender = make_sender(
            training.agent,
            num_features=num_attributes * num_values,
            vocab_size=vocab_size,
            max_len=max_len,
            hidden_size=training.hidden_size,
            embedding_size=training.embedding_size,
        )
        self.num_values = num_values
        self.options = SymbolOptions(vocab_size=vocab_size, max_len=max_len, length="variable")

    def forward(self, ids: Tensor, values: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Mean loss and share of correct symbols, given the correct previous symbols."""
        builder = GivenMessages(self.options, ids)
        seen = one_hot(values, self.num_values).flatten(1).float()
        message = self.sender(seen, cast(MessageBuilder, builder))
        is_symbol = (ids != PAD).float()
        right = (torch.stack(builder.agreements).float() * is_symbol).sum() / is_symbol.sum()
        return -message.log_probability.mean(), right, right[None]


def _batches(seed: int, num_messages: int, size: int) -> Any:
    """Endless batches of message indices, (size,): passes in random order, without incomplete batches."""
    rng = np.random.default_rng([seed, *b"order"])
    while True:
        order = rng.permutation(num_messages)
        for start in range(0, num_messages - size + 1, size):
            yield order[start : start + size]
