"""Agents that learn messages which others said: senders to say them, receivers to understand them."""

from collections.abc import Sequence
from typing import cast

import torch
from torch import Tensor

from ecsuite.agents.autocast import call_sender
from ecsuite.agents.message import EOS, PAD, Message
from ecsuite.agents.senders import MessageBuilder
from ecsuite.games.channels import Channel
from ecsuite.games.game import Game, StepResult
from ecsuite.games.message_builders import SymbolOptions, without_eos
from ecsuite.games.noise import Noise
from ecsuite.games.worlds.world import Batch
from ecsuite.runtime.errors import ConfigError

LEARNING_LOSS = "learning_loss"
"""Measure of training: the mean loss of agents that learn messages, in nats."""


class GivenMessages:
    """A message builder that returns given symbols, whatever the logits, and keeps their log-probabilities."""

    def __init__(self, options: SymbolOptions, ids: Tensor) -> None:
        self.options, self.ids = options, ids
        self.log_probabilities: list[Tensor] = []
        self.agreements: list[Tensor] = []
        """Whether the most likely symbol of each step is the given one, (batch,)."""

    @property
    def done(self) -> bool:
        """Whether the message is complete."""
        return len(self.log_probabilities) == self.options.max_len

    def step(self, logits: Tensor) -> Tensor:
        """Logits (batch, vocab_size + 1) to the given ids (batch,); PAD after the end."""
        given = self.ids[len(self.log_probabilities)]
        logits = logits.float()
        if self.options.length == "fixed":
            logits = without_eos(logits)
        own = logits.log_softmax(-1).gather(-1, given.clamp(min=EOS)[:, None])[:, 0]
        self.log_probabilities.append(own.masked_fill(given == PAD, 0.0))
        self.agreements.append(logits.argmax(-1) == given)
        return given

    def message(self) -> Message:
        """The given message with the sum of the log-probabilities of its symbols."""
        total = torch.stack(self.log_probabilities).sum(0)
        return as_message(self.ids, log_probability=total)


def as_message(ids: Tensor, log_probability: Tensor | None = None) -> Message:
    """A message of ids, (num_steps, batch), filled with PAD after the end."""
    length = (ids != PAD).sum(0).float()
    return Message(symbols=ids, ends=None, length=length, log_probability=log_probability)


def filled(ids: Tensor, num_steps: int) -> Tensor:
    """Ids, (steps, batch), with PAD up to so many steps."""
    missing = num_steps - len(ids)
    return torch.cat([ids, ids.new_full((missing, ids.shape[1]), PAD)]) if missing > 0 else ids


def require_symbols(channel: Channel, setting: str, kind: str) -> None:
    """Raise `ConfigError` if the words of a channel are values, of which agents can't learn the probabilities.

    Args:
        channel: The channel.
        setting: Lets agents learn messages.
        kind: The name of the channel.
    """
    if channel.num_levels is not None:
        raise ConfigError(f"{setting}: the words of channel {kind} are values, expected a channel of symbols")


def learn_messages(
    games: Sequence[Game], batch: Batch, messages: Sequence[Message], noises: Sequence[Noise]
) -> StepResult:
    """The loss of senders that learn to say messages: cross-entropy, mean over messages, sum over senders.

    Args:
        games: One for each sender.
        batch: What each sees.
        messages: What each is to say of it.
        noises: Of each.
    """
    losses = []
    for game, message, noise in zip(games, messages, noises, strict=True):
        options = cast(SymbolOptions, game.channel.options)
        ids = filled(message.symbols, options.max_len)
        builder = GivenMessages(options, ids)
        meanings = game.meanings(game.shown(batch), batch.num_positive, noise)
        said = call_sender(game.sender, meanings, cast(MessageBuilder, builder))
        assert said.log_probability is not None
        losses.append(-said.log_probability.mean())
    return _summed(losses)


def learn_meanings(
    games: Sequence[Game], batch: Batch, messages: Sequence[Message], noises: Sequence[Noise]
) -> StepResult:
    """The loss of receivers that learn what messages mean: that of the task, sum over receivers.

    Args:
        games: One for each receiver.
        batch: The rounds of each.
        messages: What each is told in them.
        noises: Of each.
    """
    losses = []
    for game, message, noise in zip(games, messages, noises, strict=True):
        candidates, truth = game.round_parts(batch)
        understood = game.understand(message, candidates, truth, mode="train", generator=noise)
        losses.append(understood.loss.mean())
    return _summed(losses)


def _summed(losses: list[Tensor]) -> StepResult:
    objective = torch.stack(losses)
    return StepResult(objective=objective.sum(), measures={LEARNING_LOSS: objective.detach().mean()})
