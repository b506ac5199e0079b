"""Channels: conversion of a sender's logits to symbols, feedback to the sender, and the training objective.

A channel makes a `MessageBuilder` for one batch. In `train` mode, messages have a differentiable
relaxation (soft, gumbel) or log-probabilities (reinforce). In `greedy` and `sample` mode, messages are ids; messages of
quantized and continuous channels are values in all modes.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import softplus

from ecsuite.agents.message import EOS, PAD, Message
from ecsuite.games.channels.message_builders import (
    DiscreteMessageBuilder,
    MessageBuilder,
    RelaxedMessageBuilder,
    SymbolOptions,
)
from ecsuite.games.channels.noise import MessageNoise, Noise, gumbel, normal
from ecsuite.games.config.registry import NOISES
from ecsuite.parts.config import Accuracy, Positive, Weight
from ecsuite.parts.registry import Part
from ecsuite.runtime.errors import ConfigError
from ecsuite.runtime.plain_values import MAX_INTEGER
from ecsuite.runtime.ragged import Ragged

Mode = Literal["train", "sample", "greedy"]


@dataclass(frozen=True, kw_only=True, slots=True)
class RelaxedOptions(SymbolOptions):
    """Options of channels whose symbols are relaxed to softmax weights in training."""

    temperature: Positive = 1.0
    """Softmax temperature of the first epoch; at least temperature_min."""
    temperature_decay: Accuracy = 1.0
    """Factor on the temperature after each epoch."""
    temperature_min: Positive = 0.1
    """Lower bound of the temperature."""
    straight_through: bool = False
    """Whether symbols are one-hot in the forward pass, with the relaxed gradient in the backward pass."""
    trainable_temperature: bool = False
    """Whether the temperature is learnt, starting from `temperature`, instead of decayed."""

    def __post_init__(self) -> None:
        """Check that the temperature is within its bounds, and either learnt or decayed; `ConfigError` if not."""
        if self.temperature < self.temperature_min:
            raise ConfigError(
                f"temperature: expected at least channel.temperature_min, {self.temperature_min}, got "
                f"{self.temperature}: lower both"
            )
        if self.trainable_temperature and self.temperature == self.temperature_min:
            raise ConfigError(
                f"trainable_temperature: a learnt temperature stays above channel.temperature_min, so it can't start "
                f"at {self.temperature}: raise channel.temperature"
            )
        if self.trainable_temperature and self.temperature_decay != 1:
            raise ConfigError(
                "trainable_temperature: a learnt temperature is not decayed: set temperature_decay=1"
            )

    def temperature_in(self, epoch: int) -> float:
        """Temperature in an epoch, counted from 0: decayed by a factor per epoch, down to a minimum."""
        return max(self.temperature_min, self.temperature * self.temperature_decay**epoch)


class Channel(nn.Module, ABC):
    """Base class of channels: makes message builders, and computes the training objective."""

    max_len: int
    """Maximum number of content symbols per message."""
    vocab_size: int
    """Number of different content symbols."""
    symbol_size: int
    """Width of a symbol for the receiver, and number of logits per symbol of the sender."""
    num_logits: int | None = None
    """Number of logits per symbol of the sender, and width of the feedback to it, if different from `symbol_size`."""
    num_levels: int | None = None
    """Levels of each value, for channels whose symbols (words) are vectors of values; None for a vocabulary."""
    has_eos = False
    """Whether the sender may end a message early."""
    has_samples = True
    """Whether messages may be sampled; otherwise all modes give equal messages."""
    has_probabilities = False
    """Whether training messages are sampled from the distributions of their `logits`."""
    has_policy_gradient = False
    """Whether the sender learns from the value of the loss only, not from its gradient."""
    options_of_games: ClassVar[tuple[str, ...]] = ()
    """Options that only `objective` reads; agents that act, whose learner has its own objective, do not use them."""
    needs_greedy_loss = False
    """Whether `objective` needs the loss and cost of the most likely messages."""
    noise: MessageNoise | None = None
    """Noise of messages before the receiver gets them; None: the channel has no option `noise`."""

    def __init__(self, options: Any) -> None:
        super().__init__()
        self.options, self.max_len = options, options.max_len

    @abstractmethod
    def start_message(
        self, mode: Mode, like: Tensor, generator: Noise | None, epoch: int = 0
    ) -> MessageBuilder:
        """Make a message builder for one batch.

        Args:
            mode: train, sample or greedy.
            like: A tensor with the batch size and device.
            generator: Source of the noise; not used in mode greedy.
            epoch: Passes over the training examples so far; sets the temperature in train mode.
        """

    @property
    def is_of_values(self) -> bool:
        """Whether words are real-valued vectors, rather than symbols of a vocabulary."""
        return self.num_levels is not None

    @property
    def sizes(self) -> dict[str, int | None]:
        """`vocab_size` and `max_len` as metadata of a corpus; None for a vocabulary beyond 64-bit integers."""
        return {
            "vocab_size": self.vocab_size if self.vocab_size < MAX_INTEGER else None,
            "max_len": self.max_len,
        }

    def start_epoch(self, epoch: int) -> None:
        """Prepare for the messages of an epoch; called before each training step."""
        return

    def shares(self, values: Tensor) -> Tensor:
        """Convert values of words to numbers from 0 to 1, which the corpus stores as levels; the same shape."""
        return values.float().clamp(0, 1)

    def as_symbols(self, words: Tensor) -> tuple[Ragged, tuple[str, ...] | None]:
        """Convert real-valued words to symbols for the corpus; see `words_to_symbols`.

        Args:
            words: Words, (num_messages, max_len, word_size).
        """
        assert self.num_levels is not None
        return words_to_symbols(self.shares(words).cpu().numpy(), self.num_levels)

    @property
    def has_noise(self) -> bool:
        """Whether the receiver may get another message than the sent one."""
        is_own = type(self).received is not Channel.received
        return is_own or (self.noise is not None and self.options.noise.kind != "none")

    def received(self, message: Message, generator: Noise | None) -> Message:
        """Add the noise of the channel to a message, as in training.

        In evaluation it is called only with `evaluation.noise`.

        Args:
            message: Sent messages: ids, or their relaxation in training.
            generator: Source of random draws.
        """
        return message if self.noise is None else self.noise(message, generator)

    def require_noise(self, kind: str, *, training: bool, evaluation: bool) -> None:
        """Raise `ConfigError` if settings of noise are given for a channel without noise.

        Args:
            kind: Name of the channel.
            training: Setting `training.noise`.
            evaluation: Setting `evaluation.noise`.
        """
        if evaluation and not self.has_noise:
            raise ConfigError(
                f"evaluation.noise: channel {kind} has no noise: expected false, or set channel.noise=deletion"
            )
        if not (training or (self.has_noise and evaluation)):
            raise ConfigError(
                f"training.noise: channel {kind} has no noise, or it is used nowhere: expected true, or also "
                "evaluation.noise"
            )

    def make_noise(self, part: Part) -> MessageNoise:
        """Make the noise of the channel's messages.

        Raises:
            ConfigError: If it changes the length of messages of fixed length, or does not support real-valued words.
        """
        sizes: dict[str, Any] = {
            "vocab_size": self.vocab_size,
            "max_len": self.max_len,
            "has_eos": self.has_eos,
        }
        noise: MessageNoise = NOISES.make(part, **sizes)
        if self.is_of_values and not noise.is_of_values:
            raise ConfigError(
                f"channel.noise: {part.kind} needs symbols, but the words of this channel are real-valued: expected "
                "erasure or confusion"
            )
        if noise.changes_length and not self.has_eos:
            raise ConfigError(
                f"channel.noise: {part.kind} changes the length of messages: expected channel.length=variable"
            )
        noise.words = self.any_words if self.is_of_values else None
        return noise

    def any_words(self, draws: Tensor) -> Tensor:
        """Real-valued words, uniformly distributed, from numbers from 0 to 1, (num_steps, batch, word_size)."""
        assert self.num_levels is not None
        return (draws * self.num_levels).floor().clamp(max=self.num_levels - 1) / (self.num_levels - 1)

    def objective(
        self, loss: Tensor, cost: Tensor, message: Message, *, greedy: tuple[Tensor, Tensor] | None = None
    ) -> Tensor:
        """Compute the objective to minimise, a scalar.

        Args:
            loss: Expected loss of each example, (batch,).
            cost: Cost of each message, (batch,).
            message: Messages.
            greedy: In training, loss and cost of the most likely messages, if `needs_greedy_loss`.
        """
        return (loss + cost).mean()


class SymbolChannel(Channel):
    """Base class of channels with a vocabulary: outside training, messages are ids."""

    options: SymbolOptions

    def __init__(self, options: SymbolOptions) -> None:
        super().__init__(options)
        self.has_eos = options.length == "variable"
        self.vocab_size, self.symbol_size = options.vocab_size, options.vocab_size + 1  # also EOS
        self.noise: MessageNoise = self.make_noise(options.noise)

    def start_message(
        self, mode: Mode, like: Tensor, generator: Noise | None, epoch: int = 0
    ) -> MessageBuilder:
        """See the base class."""
        if mode == "train":
            return self.start_training_message(like, generator, epoch)
        noise = gumbel_noise(self.options, like, generator) if mode == "sample" else None
        return DiscreteMessageBuilder(self.options, noise, track=False)

    @abstractmethod
    def start_training_message(self, like: Tensor, generator: Noise | None, epoch: int) -> MessageBuilder:
        """Make a message builder for one batch of training; see `start_message`."""


class SoftChannel(SymbolChannel):
    """Channel of softmax weights: continuous in training, discrete in evaluation."""

    Options = RelaxedOptions
    options: RelaxedOptions
    is_noisy = False

    def __init__(self, options: RelaxedOptions) -> None:
        super().__init__(options)
        # temperature = temperature_min + softplus(raw): differentiable everywhere.
        start = torch.tensor(options.temperature - options.temperature_min).expm1().log()
        self.raw_temperature = nn.Parameter(start) if options.trainable_temperature else None
        # One tensor for all epochs, so that recorded steps can be replayed.
        self.temperature, self.epoch = torch.tensor(options.temperature_in(0)), 0

    def start_training_message(self, like: Tensor, generator: Noise | None, epoch: int) -> MessageBuilder:
        """See the base class."""
        if self.raw_temperature is None:
            self.start_epoch(epoch)
            temperature = self.temperature
        else:
            temperature = self.options.temperature_min + softplus(self.raw_temperature)
        return RelaxedMessageBuilder(
            self.options,
            gumbel_noise(self.options, like, generator) if self.is_noisy else None,
            temperature,
            straight_through=self.options.straight_through,
        )

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        """Move tensors; see `to`."""
        self.temperature = fn(self.temperature)
        return super()._apply(fn, recurse)  # type: ignore[no-any-return, no-untyped-call]

    def start_epoch(self, epoch: int) -> None:
        """Set the temperature of an epoch. See the base class."""
        if epoch != self.epoch:
            self.epoch = epoch
            self.temperature.fill_(self.options.temperature_in(epoch))


class GumbelChannel(SoftChannel):
    """Gumbel-softmax (Jang et al. 2017, arXiv 1611.01144; Maddison et al. 2017, arXiv 1611.00712): soft with noise.

    With variable length the loss is the expectation over the step of EOS, as in EGG.
    """

    is_noisy = has_probabilities = True


class ReinforceChannel(SymbolChannel):
    """Samples symbols; trained by REINFORCE, the score-function gradient (Williams 1992).

    As in EGG: baselines of the loss and of the message's cost, and an entropy bonus. Mean baselines average over all
    steps so far and are saved with the model; greedy baselines are loss and cost of the most likely message for the
    example (Rennie et al. 2017, arXiv 1612.00563).
    """

    has_policy_gradient = has_probabilities = True
    options_of_games = ("entropy_coefficient", "baseline")

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options(SymbolOptions):
        """Options of the channel."""

        entropy_coefficient: Weight = 0.1
        """Weight of the entropy bonus."""
        baseline: Literal["none", "mean", "greedy"] = "mean"
        """Baseline of losses: none, the running mean, or the loss of the most likely message."""

    options: Options
    baselines: Tensor
    num_steps: Tensor

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        self.register_buffer("baselines", torch.zeros(2))
        self.register_buffer("num_steps", torch.zeros(()))
        self.needs_greedy_loss = options.baseline == "greedy"

    def start_training_message(self, like: Tensor, generator: Noise | None, epoch: int) -> MessageBuilder:
        """See the base class."""
        return DiscreteMessageBuilder(self.options, gumbel_noise(self.options, like, generator), track=True)

    def objective(
        self, loss: Tensor, cost: Tensor, message: Message, *, greedy: tuple[Tensor, Tensor] | None = None
    ) -> Tensor:
        """Compute a surrogate whose gradient is the policy gradient plus the receiver's gradient. See the base class.

        mean[(cost - b_cost) log p] + mean[(loss - b_loss) log p] - coefficient mean[entropy] + mean[loss], where log p
        is the sum, and the entropy the mean, over the symbols of the message.
        """
        if message.log_probability is None or message.entropy is None:  # evaluation: no policy gradient
            return super().objective(loss, cost, message)
        costs = torch.stack([loss.detach(), cost])  # (2, batch)
        advantage = costs if greedy is None else costs - torch.stack(greedy)
        if self.options.baseline == "mean":
            advantage = costs - self.baselines[:, None]
            with torch.no_grad():
                self.num_steps += 1
                self.baselines += (costs.mean(1) - self.baselines) / self.num_steps
        policy_loss = (advantage.sum(0) * message.log_probability).mean()
        return policy_loss - self.options.entropy_coefficient * message.entropy.mean() + loss.mean()


def normal_noise(shape: tuple[int, int, int], like: Tensor, generator: Noise | None) -> Tensor:
    """Standard normal noise for one batch, (max_len, batch, word_size), on the device of `like`."""
    return normal(shape, generator, like.device)


def gumbel_noise(options: SymbolOptions, like: Tensor, generator: Noise | None) -> Tensor:
    """Noise for one batch, (max_len, batch, vocab_size + 1), on the device of `like`, a tensor (batch, ...)."""
    shape = (options.max_len, len(like), options.vocab_size + 1)
    return gumbel(shape, generator, like.device)


MOST_MESSAGES = 1024
"""Maximum number of messages of a channel that are enumerated; for larger channels, messages are sampled."""


def num_messages(channel: Channel) -> int:
    """Number of different messages."""
    lengths = range(channel.max_len + 1) if channel.has_eos else (channel.max_len,)
    return sum(channel.vocab_size**length for length in lengths)


def all_messages(channel: Channel) -> Tensor:
    """Enumerate all messages, (num_messages, max_len), with EOS and then PAD after messages that end early."""
    max_len, rows = channel.max_len, []
    for length in range(max_len + 1) if channel.has_eos else (max_len,):
        codes = np.indices((channel.vocab_size,) * length).reshape(length, channel.vocab_size**length).T
        row = np.full((len(codes), max_len), PAD)
        row[:, :length] = codes + 1
        row[:, length : length + 1] = EOS
        rows.append(row)
    return torch.from_numpy(np.concatenate(rows))


def words_to_symbols(words: NDArray[np.float32], num_levels: int) -> tuple[Ragged, tuple[str, ...] | None]:
    """Map real-valued words to symbol ids: 1 + the number whose digits are the levels, least significant digit first.

    Args:
        words: Values from 0 to 1, (num_messages, max_len, word_size).
        num_levels: Number of levels of a value.

    Returns:
        The messages and None. If these ids exceed 31 bits: ids from 1 in lexicographic order of the digits,
        and the digits as symbol names, with an empty name for id 0.
    """
    levels = np.rint(words * (num_levels - 1)).astype(np.int64)
    num_messages, max_len, word_size = words.shape
    names = None
    if num_levels**word_size < 2**31:
        ids = 1 + levels @ num_levels ** np.arange(word_size)
    else:
        kinds, kind_ids = np.unique(levels.reshape(-1, word_size), axis=0, return_inverse=True)
        ids = 1 + kind_ids
        names = ("", *(("" if num_levels <= 10 else ".").join(map(str, kind)) for kind in kinds.tolist()))
    flat = ids.reshape(-1).astype(np.int32)
    return Ragged.from_lengths(flat, np.full(num_messages, max_len)), names
