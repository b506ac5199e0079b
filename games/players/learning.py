"""Agents that learn messages which others said: senders to say them, receivers to understand them; imitation."""

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

import numpy as np
import torch
from torch import Tensor

from ecsuite.agents.autocast import call_sender
from ecsuite.agents.message import EOS, PAD, Message
from ecsuite.agents.senders import MessageBuilder
from ecsuite.agents.shared_states import IdBuilder
from ecsuite.games.channels.channels import Channel
from ecsuite.games.channels.message_builders import SymbolOptions, without_eos
from ecsuite.games.channels.noise import Noise
from ecsuite.games.config.sections import Experiment
from ecsuite.games.players.agent import Speaker
from ecsuite.games.players.agents import Agents
from ecsuite.games.players.meetings import Meeting
from ecsuite.games.players.pair import Pair, StepResult
from ecsuite.games.worlds.world import Batch
from ecsuite.runtime.errors import ConfigError

LEARNING = "learning"
"""Measure of training: the share of steps in which agents learnt what others said, and none played."""
LEARNING_LOSS = "learning_loss"
"""Measure of training: the mean loss of agents that learn messages, in nats."""


class GivenMessages(IdBuilder):
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
    if channel.is_of_values:
        raise ConfigError(f"{setting}: the words of channel {kind} are values, expected a channel of symbols")


def learn_messages(
    speakers: Sequence[Speaker], batch: Batch, messages: Sequence[Message], noises: Sequence[Noise]
) -> StepResult:
    """The loss of senders that learn to say messages: cross-entropy, mean over messages, sum over senders.

    Args:
        speakers: The senders.
        batch: What each sees.
        messages: What each is to say of it.
        noises: Of each.
    """
    losses = []
    for speaker, message, noise in zip(speakers, messages, noises, strict=True):
        options = cast(SymbolOptions, speaker.channel.options)
        ids = filled(message.symbols, options.max_len)
        builder = GivenMessages(options, ids)
        meanings = speaker.meanings(speaker.shown(batch), batch.num_positive, noise)
        said = call_sender(speaker.network, meanings, cast(MessageBuilder, builder))
        assert said.log_probability is not None
        losses.append(-said.log_probability.mean())
    return _summed(losses)


def learn_meanings(
    pairs: Sequence[Pair], batch: Batch, messages: Sequence[Message], noises: Sequence[Noise]
) -> StepResult:
    """The loss of receivers that learn what messages mean: that of the task, sum over receivers.

    Args:
        pairs: One with each receiver.
        batch: The rounds of each.
        messages: What each is told in them.
        noises: Of each.
    """
    losses = []
    for pair, message, noise in zip(pairs, messages, noises, strict=True):
        candidates, truth = pair.round_parts(batch)
        understood = pair.understand(message, candidates, truth, mode="train", generator=noise)
        losses.append(understood.loss.mean())
    return _summed(losses)


def _summed(losses: list[Tensor]) -> StepResult:
    objective = torch.stack(losses)
    return StepResult(objective=objective.sum(), measures={LEARNING_LOSS: objective.detach().mean()})


def is_learning(result: StepResult) -> StepResult:
    """A step in which agents learnt, and none played."""
    return replace(result, measures={**result.measures, LEARNING: torch.ones_like(result.objective.detach())})


RECENT = 0.99
"""Weight of the past in the running accuracy of a sender, by which the one that others imitate is chosen (Chaabouni et
al. 2022, table 3)."""


class Imitation:
    """Senders learn the messages of the one that was understood best of late (Chaabouni et al. 2022, section 2.3).

    Args:
        players: Whose senders; the accuracies of late are one of their buffers, `recent`.
        experiment: Has the section `society`.

    Raises:
        ConfigError: If the channel has no symbols, or the senders are frozen.
    """

    def __init__(self, players: Agents, experiment: Experiment) -> None:
        self.players, self.seed = players, experiment.training.seed
        self.every, self.students = experiment.society.imitate_every, experiment.society.students
        if self.every is not None:
            require_symbols(players.channel, "society.imitate_every", experiment.channel.kind)
            if any(sender.is_frozen for sender in players.senders):
                raise ConfigError("society.imitate_every: the senders are frozen, expected null")

    def is_due(self, step: int) -> bool:
        """Whether senders learn at a step, instead of playing."""
        return self.every is not None and step > 0 and step % self.every == 0

    def learn(self, number: int, step: int) -> StepResult:
        """The loss of all senders but the best of late, or of some of them, that learn its messages."""
        players = self.players
        drawn = np.arange(len(players.senders))
        if self.students is not None:
            rng = np.random.default_rng([self.seed, step, *b"students"])
            drawn = np.sort(rng.choice(drawn, 1 + self.students, replace=False))
        best = int(drawn[int(players.recent[torch.from_numpy(drawn)].argmax())])
        learners = [index for index in drawn.tolist() if index != best]
        players.num_plays = {"sender": (learners, np.ones(len(learners)))}
        batch = players.batch(number, 0)
        with torch.no_grad():
            players.eval()
            message = players.senders[best].generate_message(batch, "greedy", None)
            players.train()
        speakers = [players.senders[index] for index in learners]
        noises = players.noises(number, range(len(learners)))
        return learn_messages(speakers, batch, [message] * len(learners), noises)

    @torch.no_grad()
    def note(self, meetings: Sequence[Meeting], played: Sequence[StepResult]) -> None:
        """Take the accuracies of a step into account."""
        if self.every is None:
            return
        recent = self.players.recent
        for meeting, result in zip(meetings, played, strict=True):
            now = result.measures["accuracy"]
            recent[meeting.sender] = RECENT * recent[meeting.sender] + (1 - RECENT) * now
