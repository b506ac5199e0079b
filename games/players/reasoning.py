"""Listeners that reason about the speaker's choice of a message, and speakers that reason about its interpretation.

A literal listener scores candidates by the message alone. A reasoning listener also compares the message with the
speaker's alternatives. A reasoning speaker chooses the message that its own listener network interprets best.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor

from ecsuite.agents.message import EOS, PAD, Message
from ecsuite.games.channels.channels import MOST_MESSAGES, Channel, all_messages, num_messages
from ecsuite.games.channels.noise import Noise, gumbel
from ecsuite.games.tasks.tasks import Discrimination, Reconstruction, Task
from ecsuite.games.worlds.world import World
from ecsuite.parts.config import Count, Positive, Weight, require_defaults
from ecsuite.parts.own_code import NoOptions
from ecsuite.runtime.errors import ConfigError

LOG_ZERO = -1e4
"""Log-probability of impossible events: finite, with an exponential of 0."""
Cost = Literal["none", "length"]


@dataclass(frozen=True, kw_only=True, slots=True)
class MessageScores:
    """Literal scores for the message of each round (index 0), and for its alternatives."""

    literal: Tensor
    """Scores of the candidates, (num_messages, batch, num_candidates)."""
    lengths: Tensor
    """Content symbols of each message, (num_messages, batch)."""
    is_other: Tensor
    """Whether a message differs from all messages of a lower index, (num_messages, batch); True at index 0."""


class Reasoning(ABC):
    """Base class of interpretations of messages, including users' classes.

    Args:
        options: `Options` of the class.
    """

    Options: type[Any] = NoOptions
    asks_others = True
    """Whether listeners reason about alternative messages."""
    alternatives: Literal["candidates", "all"] = "candidates"
    """The alternatives: the speaker's message about each candidate, or all messages of the channel."""
    speaks = False
    """Whether speakers choose messages with `choose`, so that their own networks are neither used nor trained."""

    def __init__(self, options: Any) -> None:
        self.options = options

    @abstractmethod
    def scores(self, heard: MessageScores) -> Tensor:
        """Compute the logits of the candidates given the message that was sent, (batch, num_candidates)."""

    def choose(self, listener: Tensor, lengths: Tensor, generator: Noise | None) -> Tensor:
        """Choose a message for each round, (batch,); for speakers that reason.

        Args:
            listener: Log-probability of the right answer after each message of the channel, (num_messages, batch).
            lengths: Content symbols of each message, (num_messages,).
            generator: Source of random draws; None: choose the best message.
        """
        raise NotImplementedError


class LiteralListener(Reasoning):
    """Interpretation by the listener's network alone."""

    asks_others = False

    def scores(self, heard: MessageScores) -> Tensor:
        """See the base class."""
        return heard.literal[0]


class RationalSpeechActs(Reasoning):
    """Rational speech acts (Frank & Goodman 2012, doi 10.1126/science.1218633).

    L_0 is the literal listener. S_n(message | candidate) is proportional to exp(alpha (log L_{n-1}(candidate |
    message) - cost(message))), normalised over the alternative messages; L_n(candidate | message) is proportional to
    S_n(message | candidate), with a uniform prior over candidates.
    """

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options:
        """Options of rational speech acts."""

        depth: Count = 1
        """Levels of recursion: n of the listener L_n."""
        alpha: Positive = 1.0
        """Rationality of speakers: the larger it is, the more often they choose the best message."""
        cost: Cost = "none"
        """Cost of a message for the speaker: nothing, or its symbols without EOS."""
        cost_weight: Weight = 0.1
        """Cost of a symbol, in nats."""
        alternatives: Literal["candidates", "all"] = "candidates"
        """Alternative messages: the speaker's message about each candidate, or every message of a channel with at most
        1,024 messages."""

        def __post_init__(self) -> None:
            """Raise `ConfigError` if a weight is given that is not used."""
            if self.cost == "none":
                require_defaults(self, ("cost_weight",), "with cost=none")

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        self.alternatives = options.alternatives
        self.cost_weight = options.cost_weight if options.cost == "length" else 0.0

    def scores(self, heard: MessageScores) -> Tensor:
        """See the base class."""
        listener = heard.literal.log_softmax(-1).clamp(min=LOG_ZERO)
        cost = self.cost_weight * heard.lengths[..., None]
        for _ in range(self.options.depth):
            utility = self.options.alpha * (listener - cost)
            utility = utility.masked_fill(~heard.is_other[..., None], -torch.inf)
            listener = utility.log_softmax(0).clamp(min=LOG_ZERO).log_softmax(-1)
        return listener[0]


class Obverter(LiteralListener):
    """Speakers that choose the message which their own listener network understands best; only listeners learn.

    Without alpha a speaker chooses argmax_m log L_0(right answer | m) - cost(m), the first one of equally good messages
    (obverter: Choi et al. 2018, arXiv 1804.02341, section 3, there symbol by symbol, here over all messages). With
    alpha it is S_1 of rational speech acts: in training, and whenever messages are sampled, m is drawn with a
    probability proportional to exp(alpha (log L_0 - cost)). Listeners are literal.
    """

    speaks = True

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options:
        """Options of speakers that reason."""

        alpha: Positive | None = None
        """Rationality of speakers that sample messages; null: they always choose the best message."""
        cost: Cost = "none"
        """Cost of a message for the speaker: nothing, or its symbols without EOS."""
        cost_weight: Weight = 0.1
        """Cost of a symbol, in nats."""

        def __post_init__(self) -> None:
            """Raise `ConfigError` if a weight is given that is not used."""
            if self.cost == "none":
                require_defaults(self, ("cost_weight",), "with cost=none")

    def choose(self, listener: Tensor, lengths: Tensor, generator: Noise | None) -> Tensor:
        """See the base class."""
        alpha = self.options.alpha
        weight = self.options.cost_weight if self.options.cost == "length" else 0.0
        utility = listener.clamp(min=LOG_ZERO) - weight * lengths[:, None]
        if alpha is not None and generator is not None:
            utility = alpha * utility + gumbel(tuple(utility.shape), generator, utility.device)
        return utility.argmax(0)


def scores_at_end(end: int, literal: Tensor, message: Message, others: Message) -> MessageScores:
    """Collect the scores for a message that ends at a given position, and for its alternatives.

    Args:
        end: Index of the end.
        literal: Scores at each end of the message, then of each other message, (num_ends + num_others, batch,
            num_candidates).
        message: Ids or weights, (num_steps, batch).
        others: Ids, (num_steps, num_others * batch); alternative k of round r has index k * batch + r.
    """
    batch = literal.shape[1]
    num_others = others.symbols.shape[1] // batch
    said = said_at(end, message)
    width = max(len(said), len(others.symbols))
    ids = torch.stack(
        [_filled(said, width), *_filled(others.symbols, width).unflatten(1, (num_others, batch)).unbind(1)]
    )  # (num_messages, num_steps, batch)
    same = (ids[:, None] == ids[None]).all(2)  # (num_messages, num_messages, batch)
    before = torch.ones(same.shape[:2], dtype=torch.bool, device=ids.device).tril(-1)
    is_other = ~(same & before[..., None]).any(1)
    of_others = literal[-num_others:]
    return MessageScores(
        literal=torch.cat([literal[end][None], of_others]),
        lengths=(ids > EOS).sum(1).to(literal.dtype),
        is_other=is_other,
    )


def said_at(end: int, message: Message) -> Tensor:
    """Most likely ids of a message that ends at a given position, (num_steps, batch)."""
    symbols = message.symbols
    if not symbols.is_floating_point():
        return symbols
    if message.ends is None:
        return symbols.argmax(-1)
    step = torch.arange(len(symbols), device=symbols.device)[:, None]
    content = 1 + symbols[..., 1:].argmax(-1)
    return content.where(step < end, torch.where(step == end, EOS, PAD))


def _filled(ids: Tensor, num_steps: int) -> Tensor:
    missing = num_steps - len(ids)
    return torch.cat([ids, ids.new_full((missing, ids.shape[1]), PAD)]) if missing else ids


def every_message(channel: Channel, lengths: Tensor) -> Message:
    """All messages of a channel in each round of a batch, (num_steps, num_messages * batch); `lengths` is (batch,)."""
    return message_of(channel, all_messages(channel).repeat_interleave(len(lengths), 0).to(lengths.device))


def message_of(channel: Channel, ids: Tensor) -> Message:
    """Make a batch for the receiver from ids with EOS and PAD, (num_messages, max_len)."""
    if channel.has_eos:
        last = torch.where((ids > EOS).all(1), EOS, PAD)
        ids = torch.cat([ids, last[:, None]], 1)
    return Message(symbols=ids.t().contiguous(), ends=None, length=(ids != PAD).sum(1).float())


def require_candidates(
    task_kind: str, channel_kind: str, channel: Channel, reasoning: Reasoning, world: World
) -> None:
    """Raise `ConfigError` unless the task has candidates with one target, and messages of symbols can be compared."""
    if task_kind != "discrimination" or world.rounds.fewest_distractors is not None:
        raise ConfigError(
            f"reasoning: expected task discrimination with one number of distractors, got {task_kind}"
        )
    if channel.is_of_values:
        raise ConfigError(f"reasoning: the words of channel {channel_kind} are values, expected symbols")
    if reasoning.alternatives == "all" and num_messages(channel) > MOST_MESSAGES:
        raise ConfigError(
            f"reasoning.alternatives: {num_messages(channel):,} messages are possible, expected at most "
            f"{MOST_MESSAGES:,}, or candidates"
        )


def require_speaker(channel_kind: str, channel: Channel, task: Task, world: World) -> None:
    """Raise `ConfigError` if a speaker can't compute how probable the right answer is after each possible message."""
    if channel.is_of_values:
        raise ConfigError(f"reasoning: the words of channel {channel_kind} are values, expected symbols")
    if num_messages(channel) > MOST_MESSAGES:
        raise ConfigError(
            f"reasoning: {num_messages(channel):,} messages are possible, expected at most {MOST_MESSAGES:,}: lower "
            "channel.vocab_size or channel.max_len"
        )
    if isinstance(task, Reconstruction) and world.num_values is not None:
        if world.object_shape == (len(world.num_values) * max(world.num_values),):  # one-hot
            return
    if type(task) is not Discrimination or not world.rounds.sender_sees_all:
        raise ConfigError(
            "reasoning: a speaker that reasons needs the right answer: expected task reconstruction of values that it "
            "sees, or discrimination,sender_input=targets_and_distractors"
        )
