"""Channels: how a sender's logits become symbols, what is fed back to the sender, and the training objective.

A channel makes a `MessageBuilder` for one batch. In `train` mode messages have what training needs: a differentiable
relaxation (soft, gumbel) or log-probabilities (reinforce). In `greedy` and `sample` mode, messages are ids; messages of
quantized and continuous channels are values in all modes.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor, nn

from ecsuite.agents.message import EOS, PAD, Message
from ecsuite.config import Count, Levels, Positive, Weight

Mode = Literal["train", "sample", "greedy"]


@dataclass(frozen=True, kw_only=True, slots=True)
class SymbolOptions:
    """Options of every channel of symbols."""

    vocab_size: Count = 5
    """Number of content symbols. EOS is not counted."""
    max_len: Count = 10
    """Maximum number of content symbols per message. EOS is not counted."""
    length: Literal["variable", "fixed"] = "variable"
    """variable: the sender may end a message early with EOS. fixed: max_len symbols and no EOS."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RelaxedOptions(SymbolOptions):
    """Options of channels whose symbols are relaxed to softmax weights in training."""

    temperature: Positive = 1.0
    """Softmax temperature of the first epoch."""
    temperature_decay: Positive = 1.0
    """Factor on the temperature after each epoch."""
    temperature_min: Positive = 0.1
    """Lower bound of the temperature."""

    def temperature_in(self, epoch: int) -> float:
        """Temperature in an epoch, counted from 0: multiplied by a factor per epoch, down to a minimum."""
        return max(self.temperature_min, self.temperature * self.temperature_decay**epoch)


class RelaxedMessageBuilder:
    """Builds messages of softmax weights instead of symbols, so that the loss is differentiable in the sender.

    A message of variable length has no certain end: with p_t the weight of EOS at step t, it ends at step t with
    probability p_t (1 - p_1) ... (1 - p_{t-1}), and at the latest after `max_len` symbols. Losses are expectations
    over the end, and their gradient trains the sender to choose it.

    Args:
        options: Vocabulary and length.
        noise: Gumbel noise (max_len, batch, vocab_size + 1), or None.
        temperature: Softmax temperature.
        straight_through: One-hot symbols forward, relaxed gradient backward.
    """

    def __init__(
        self,
        options: SymbolOptions,
        noise: Tensor | None,
        temperature: float,
        *,
        straight_through: bool = False,
    ) -> None:
        self.options, self.noise, self.temperature = options, noise, temperature
        self.straight_through = straight_through
        self.symbols: list[Tensor] = []
        self.ends: list[Tensor] = []
        self.remaining: Tensor | None = None

    @property
    def done(self) -> bool:
        """Whether the message is complete."""
        return len(self.symbols) == self.options.max_len

    def step(self, logits: Tensor) -> Tensor:
        """Logits (batch, vocab_size + 1) to weights of the same shape and precision."""
        noisy_logits = logits.float()
        if self.options.length == "fixed":
            noisy_logits = without_eos(noisy_logits)
        if self.noise is not None:
            noisy_logits = noisy_logits + self.noise[len(self.symbols)]
        weights = (noisy_logits / self.temperature).softmax(-1)
        if self.straight_through:
            hard = torch.zeros_like(weights).scatter_(-1, weights.argmax(-1, keepdim=True), 1.0)
            weights = hard + weights - weights.detach()
        if self.options.length == "variable":
            stop = weights[:, EOS]
            self.ends.append(stop if self.remaining is None else self.remaining * stop)
            self.remaining = 1 - stop if self.remaining is None else self.remaining * (1 - stop)
        self.symbols.append(weights.to(logits.dtype))
        return self.symbols[-1]

    def message(self) -> Message:
        """The complete message; if its length is variable, with EOS appended after the last step."""
        if self.remaining is None:
            length = torch.full_like(self.symbols[0][:, 0], self.options.max_len, dtype=torch.float32)
            return Message(symbols=torch.stack(self.symbols), ends=None, length=length)
        eos_weights = torch.zeros_like(self.symbols[0])
        eos_weights[:, EOS] = 1
        ends = torch.stack([*self.ends, self.remaining])  # (max_len + 1, batch)
        steps = torch.arange(1, len(ends) + 1, device=ends.device, dtype=ends.dtype)
        return Message(symbols=torch.stack([*self.symbols, eos_weights]), ends=ends, length=steps @ ends)


class DiscreteMessageBuilder:
    """Builds messages of ids: the most likely symbols or, with Gumbel noise, samples from the softmax of the logits.

    Args:
        options: Vocabulary and length.
        noise: Gumbel noise (max_len, batch, vocab_size + 1) for samples, None for the most likely symbols.
        track: Keep log-probabilities and entropies for REINFORCE, and do not stop before `max_len` steps.
    """

    def __init__(self, options: SymbolOptions, noise: Tensor | None, *, track: bool) -> None:
        self.options, self.noise, self.track = options, noise, track
        self.ids: list[Tensor] = []
        self.log_probabilities: list[Tensor] = []
        self.entropies: list[Tensor] = []
        self.unfinished: Tensor | None = None

    @property
    def done(self) -> bool:
        """Whether the message is complete: after `max_len` steps, or when all messages of the batch have ended.

        The latter only outside training and on a CPU: another device would have to be waited for at every step. A
        message is the same either way, but for the amount of PAD.
        """
        if len(self.ids) == self.options.max_len:
            return True
        if self.track or self.unfinished is None or self.unfinished.device.type != "cpu":
            return False
        return not bool(self.unfinished.any())

    def step(self, logits: Tensor) -> Tensor:
        """Logits (batch, vocab_size + 1) to ids (batch,); PAD for messages that have ended."""
        logits = logits.float()
        if self.options.length == "fixed":
            logits = without_eos(logits)
        chosen_ids = (logits if self.noise is None else logits + self.noise[len(self.ids)]).argmax(-1)
        unfinished = (
            torch.ones_like(chosen_ids, dtype=torch.bool) if self.unfinished is None else self.unfinished
        )
        if self.track:
            log_probabilities = logits.log_softmax(-1)
            chosen_log_probabilities = log_probabilities.gather(-1, chosen_ids[:, None])[:, 0]
            self.log_probabilities.append(chosen_log_probabilities * unfinished)
            # A symbol with log-probability -inf contributes 0: 0 log 0 = 0.
            negative_terms = log_probabilities.exp() * log_probabilities.clamp(min=-1e9)
            self.entropies.append(-negative_terms.sum(-1) * unfinished)
        self.ids.append(chosen_ids.where(unfinished, PAD))
        self.unfinished = unfinished & (chosen_ids != EOS)
        return self.ids[-1]

    def message(self) -> Message:
        """The complete message; if its length is variable, EOS is appended to messages without one."""
        assert self.unfinished is not None, "expected at least one step before the message is requested"
        ids = list(self.ids)
        if self.options.length == "variable":
            ids.append(torch.where(self.unfinished, EOS, PAD))
        symbols = torch.stack(ids)
        length = (symbols != PAD).sum(0).float()
        if not self.track:
            return Message(symbols=symbols, ends=None, length=length)
        log_probability, entropy = (
            torch.stack(self.log_probabilities).sum(0),
            torch.stack(self.entropies).sum(0),
        )
        return Message(
            symbols=symbols,
            ends=None,
            length=length,
            log_probability=log_probability,
            entropy=entropy / length,
        )


class ValueMessageBuilder:
    """Builds messages of `max_len` words without EOS; a word is a vector of values from 0 to 1.

    Args:
        options: Length, levels, and how logits become values.
        is_rounded: Round values to levels, with the gradient of the values (straight-through).
    """

    def __init__(self, options: "ValueOptions", *, is_rounded: bool) -> None:
        self.options, self.is_rounded = options, is_rounded
        self.words: list[Tensor] = []

    @property
    def done(self) -> bool:
        """Whether the message is complete."""
        return len(self.words) == self.options.max_len

    def step(self, logits: Tensor) -> Tensor:
        """Logits (batch, word_size) to values of the same shape and precision."""
        values = as_values(logits.float(), self.options.normalize)
        if self.is_rounded:
            steps = self.options.num_levels - 1
            values = values + ((values.detach() * steps).round() / steps - values.detach())
        self.words.append(values.to(logits.dtype))
        return self.words[-1]

    def message(self) -> Message:
        """The complete message."""
        length = torch.full((len(self.words[0]),), float(self.options.max_len), device=self.words[0].device)
        return Message(symbols=torch.stack(self.words), ends=None, length=length)


MessageBuilder = RelaxedMessageBuilder | DiscreteMessageBuilder | ValueMessageBuilder
"""Types of message builders."""


class Channel(nn.Module, ABC):
    """Base class of channels: makes message builders, and computes the training objective.

    Args:
        options: The options; they have `max_len`.
    """

    num_levels: int | None = None
    """Levels of each value, for channels whose symbols (words) are vectors of values; None for a vocabulary."""
    has_eos = False
    """Whether the sender may end a message early."""
    has_samples = True
    """Whether messages may be sampled; otherwise all modes give the same."""

    def __init__(self, options: Any) -> None:
        super().__init__()
        self.options = options

    @property
    def max_len(self) -> int:
        """Maximum number of content symbols per message."""
        max_len: int = self.options.max_len
        return max_len

    @property
    @abstractmethod
    def vocab_size(self) -> int:
        """Number of different content symbols."""

    @property
    @abstractmethod
    def symbol_size(self) -> int:
        """Number of logits that a sender gives per symbol, and width of a symbol as the receiver gets it."""

    @abstractmethod
    def start_message(
        self, mode: Mode, like: Tensor, generator: torch.Generator | None, epoch: int = 0
    ) -> MessageBuilder:
        """Make a message builder for one batch.

        Args:
            mode: train, sample or greedy.
            like: A tensor with the size and device of the batch.
            generator: Source of the noise; not used by greedy.
            epoch: Passes over the training examples so far; sets the temperature in train mode.
        """

    def objective(self, loss: Tensor, cost: Tensor, message: Message) -> Tensor:
        """The objective to minimise, a scalar.

        Args:
            loss: The loss of each example, (batch,), in expectation over the message's end.
            cost: The cost of each message, (batch,).
            message: The message.
        """
        return (loss + cost).mean()


class SymbolChannel(Channel):
    """Base class of channels with a vocabulary: outside training, messages are ids.

    Args:
        options: The options.
    """

    options: SymbolOptions

    def __init__(self, options: SymbolOptions) -> None:
        super().__init__(options)
        self.has_eos = options.length == "variable"

    @property
    def vocab_size(self) -> int:
        """Number of content symbols."""
        return self.options.vocab_size

    @property
    def symbol_size(self) -> int:
        """Content symbols and EOS."""
        return self.options.vocab_size + 1

    def start_message(
        self, mode: Mode, like: Tensor, generator: torch.Generator | None, epoch: int = 0
    ) -> MessageBuilder:
        """See the base class."""
        if mode == "train":
            return self.start_training_message(like, generator, epoch)
        noise = gumbel_noise(self.options, like, generator) if mode == "sample" else None
        return DiscreteMessageBuilder(self.options, noise, track=False)

    @abstractmethod
    def start_training_message(
        self, like: Tensor, generator: torch.Generator | None, epoch: int
    ) -> MessageBuilder:
        """Make a message builder for one batch of training; see `start_message`."""


class SoftChannel(SymbolChannel):
    """Messages of softmax weights: continuous in training, discrete in evaluation."""

    Options = RelaxedOptions
    options: RelaxedOptions

    def start_training_message(
        self, like: Tensor, generator: torch.Generator | None, epoch: int
    ) -> MessageBuilder:
        """See the base class."""
        return RelaxedMessageBuilder(self.options, None, self.options.temperature_in(epoch))


class GumbelChannel(SymbolChannel):
    """Gumbel-softmax (Jang et al. 2017, arXiv 1611.01144; Maddison et al. 2017, arXiv 1611.00712).

    With variable length the loss is the expectation over the step of EOS, as in EGG.
    """

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options(RelaxedOptions):
        """Options of the channel."""

        straight_through: bool = False
        """One-hot symbols forward, relaxed gradient backward."""

    options: Options

    def start_training_message(
        self, like: Tensor, generator: torch.Generator | None, epoch: int
    ) -> MessageBuilder:
        """See the base class."""
        options = self.options
        return RelaxedMessageBuilder(
            options,
            gumbel_noise(options, like, generator),
            options.temperature_in(epoch),
            straight_through=options.straight_through,
        )


class ReinforceChannel(SymbolChannel):
    """Samples symbols; trained by REINFORCE, the score-function gradient (Williams 1992).

    As in EGG: mean baselines of the loss and of the message's cost, and an entropy bonus. The baselines are means over
    all steps so far and are saved with the model.
    """

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options(SymbolOptions):
        """Options of the channel."""

        entropy_coefficient: Weight = 0.1
        """Weight of the entropy bonus."""

    options: Options
    baselines: Tensor
    num_steps: Tensor

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        self.register_buffer("baselines", torch.zeros(2))
        self.register_buffer("num_steps", torch.zeros(()))

    def start_training_message(
        self, like: Tensor, generator: torch.Generator | None, epoch: int
    ) -> MessageBuilder:
        """See the base class."""
        return DiscreteMessageBuilder(self.options, gumbel_noise(self.options, like, generator), track=True)

    def objective(self, loss: Tensor, cost: Tensor, message: Message) -> Tensor:
        """The surrogate whose gradient is the policy gradient plus the receiver's own. See the base class.

        mean[(cost - b_cost) log p] + mean[(loss - b_loss) log p] - coefficient mean[entropy] + mean[loss], where log p
        is the sum over the symbols of the message, and the entropy is their mean.
        """
        if message.log_probability is None or message.entropy is None:  # evaluation: no policy gradient
            return super().objective(loss, cost, message)
        costs = torch.stack([loss.detach(), cost])  # (2, batch)
        advantage = costs - self.baselines[:, None]
        # Out of place: the backward pass still needs the baselines of this step.
        self.num_steps = self.num_steps + 1
        self.baselines = self.baselines + (costs.mean(1) - self.baselines) / self.num_steps
        policy_loss = (advantage.sum(0) * message.log_probability).mean()
        return policy_loss - self.options.entropy_coefficient * message.entropy.mean() + loss.mean()


@dataclass(frozen=True, kw_only=True, slots=True)
class ValueOptions:
    """Options of channels whose symbols (words) are vectors of values."""

    max_len: Count = 10
    """Number of words per message; there is no EOS."""
    word_size: Count = 6
    """Values per word; there are num_levels to the power word_size different words."""
    num_levels: Levels = 2
    """Number of levels of each value."""
    normalize: Literal["sigmoid", "minmax"] = "sigmoid"
    """How logits become values from 0 to 1; minmax: scaled within each word."""


class QuantizedChannel(Channel):
    """Words of values, each rounded to one of `num_levels` levels (Carmeli et al. 2023, arXiv 2211.02412).

    A word has `word_size` values; there is no embedding table of words. The gradient ignores the rounding
    (straight-through). There is no noise, and all modes give the same messages.

    A sigmoid maps logits to values from 0 to 1. The paper's program uses min-max over the batch instead, so that the
    message for one object depends on the others; our option `minmax` is computed within each word.

    Args:
        options: The options.
    """

    Options = ValueOptions
    options: ValueOptions
    is_rounded = True
    has_samples = False

    def __init__(self, options: ValueOptions) -> None:
        super().__init__(options)
        self.num_levels = options.num_levels

    @property
    def vocab_size(self) -> int:
        """Number of different words."""
        return int(self.options.num_levels**self.options.word_size)

    @property
    def symbol_size(self) -> int:
        """Number of values of a word. See the base class."""
        return self.options.word_size

    def start_message(
        self, mode: Mode, like: Tensor, generator: torch.Generator | None, epoch: int = 0
    ) -> MessageBuilder:
        """See the base class."""
        return ValueMessageBuilder(self.options, is_rounded=self.is_rounded)


class ContinuousChannel(QuantizedChannel):
    """Words of real values, a baseline without symbols; values are rounded to levels only in the corpus."""

    is_rounded = False


def gumbel_noise(options: SymbolOptions, like: Tensor, generator: torch.Generator | None) -> Tensor:
    """Noise for one batch, (max_len, batch, vocab_size + 1), on the device of `like`, a tensor (batch, ...)."""
    shape = (options.max_len, len(like), options.vocab_size + 1)
    exponential = torch.empty(shape, device=like.device).exponential_(generator=generator)
    return exponential.clamp_(min=torch.finfo(torch.float32).tiny).log_().neg_()


def as_values(logits: Tensor, normalize: str) -> Tensor:
    """Logits (batch, word_size) to values from 0 to 1; with `minmax`, equal logits give 0.5."""
    if normalize == "sigmoid":
        return logits.sigmoid()
    low, high = logits.amin(-1, keepdim=True), logits.amax(-1, keepdim=True)
    spread = high - low
    return torch.where(spread > 0, (logits - low) / spread.clamp(min=1e-12), 0.5)


def without_eos(logits: Tensor) -> Tensor:
    """The logits, (..., vocab_size + 1), with that of EOS set to -inf."""
    masked = logits.clone()
    # By a number: an index tensor would be copied to the device, and waited for, at every step.
    masked[..., EOS] = -torch.inf
    return masked
