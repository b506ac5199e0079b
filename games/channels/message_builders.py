"""Message builders: conversion of the logits of one batch to symbols, step by step, and to a message.

A builder implements one mode of a channel: relaxed symbols for training, ids for training by sampling and for
evaluation, or real-valued words.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import torch
from msgspec import Meta
from torch import Tensor
from torch.nn.functional import pad

from ecsuite.agents.linear import first_derivative_only
from ecsuite.agents.message import EOS, PAD, Message
from ecsuite.agents.replicas import with_replicas
from ecsuite.agents.shared_states import IdBuilder, may_look_at
from ecsuite.games.channels.noise import NO_NOISE
from ecsuite.games.config.registry import NOISES
from ecsuite.parts.config import Count, Weight
from ecsuite.parts.registry import Part

FloatLevels = Annotated[int, Meta(ge=2, le=1 << 24)]
"""Number of levels of a value, up to the 24-bit precision of float32."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SymbolOptions:
    """Options of all channels of symbols."""

    vocab_size: Count = 5
    """Number of content symbols. EOS is not counted."""
    max_len: Count = 10
    """Maximum number of content symbols per message. EOS is not counted."""
    length: Literal["variable", "fixed"] = "variable"
    """variable: the sender may end a message early with EOS. fixed: max_len symbols and no EOS."""
    noise: Annotated[Part, NOISES] = NO_NOISE
    """Noise of symbols before the receiver gets them: in training, and with evaluation.noise in evaluation."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ValueOptions:
    """Options of channels whose symbols (words) are real-valued vectors."""

    max_len: Count = 10
    """Number of words per message; there is no EOS."""
    noise: Annotated[Part, NOISES] = NO_NOISE
    """Noise of words before the receiver gets them: erasure or confusion."""
    word_size: Count = 6
    """Number of values per word; there are num_levels to the power word_size different words."""
    num_levels: FloatLevels = 2
    """Number of levels of each value."""
    normalize: Literal["sigmoid", "minmax"] = "sigmoid"
    """Map from logits to values from 0 to 1; minmax: scaled within each word."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ContinuousOptions(ValueOptions):
    """Options of continuous words with values from 0 to 1."""

    value_noise: Weight = 0.0
    """Standard deviation of normal noise on the values in training and in sampled messages."""


@dataclass(frozen=True, kw_only=True, slots=True)
class VariationalOptions:
    """Options of continuous words drawn from normal distributions."""

    max_len: Count = 1
    """Number of words per message; there is no EOS."""
    noise: Annotated[Part, NOISES] = NO_NOISE
    """Noise of words before the receiver gets them: erasure or confusion."""
    word_size: Count = 16
    """Number of values per word."""
    num_levels: FloatLevels = 2
    """Number of levels of a value in the corpus, equally likely under the standard normal distribution."""
    kl_coefficient: Weight = 0.01
    """Weight of the KL divergence of the word distributions from the standard normal distribution."""


class RelaxedMessageBuilder:
    """Builds messages of softmax weights instead of symbols, so that the loss is differentiable in the sender.

    The end of a message of variable length is random: with p_t the weight of EOS at step t, it ends at step t with
    probability p_t (1 - p_1) ... (1 - p_{t-1}), and at the latest after `max_len` symbols. Losses are expectations
    over the end, and their gradient trains the sender to choose it. Gumbel noise, if any, is (max_len, batch,
    vocab_size + 1). Straight-through: one-hot symbols forward, relaxed gradient backward.
    """

    def __init__(
        self,
        options: SymbolOptions,
        noise: Tensor | None,
        temperature: float | Tensor,
        *,
        straight_through: bool = False,
    ) -> None:
        self.options, self.noise, self.temperature = options, noise, temperature
        self.straight_through = straight_through
        self.weights: list[Tensor] = []
        self.logits: list[Tensor] = []
        self.scale: Tensor | None = None

    @property
    def done(self) -> bool:
        """Whether the message is complete."""
        return len(self.weights) == self.options.max_len

    def step(self, logits: Tensor) -> Tensor:
        """Convert logits (batch, vocab_size + 1) to weights of the same shape and precision."""
        if self.scale is None:
            self._begin(logits)
        assert self.scale is not None
        if self.noise is None:
            scaled = logits.float() * self.scale
        else:
            scaled = torch.addcmul(self.noise[len(self.weights)], logits, self.scale)
        weights = scaled.softmax(-1)
        if self.straight_through:
            hard = torch.zeros_like(weights).scatter_(-1, weights.argmax(-1, keepdim=True), 1.0)
            weights = hard + weights - weights.detach()
        self.weights.append(weights)
        self.logits.append(logits)
        return weights.to(logits.dtype)

    def _begin(self, logits: Tensor) -> None:
        """Divide the noise by the temperature; without EOS, its logit becomes -inf by its noise.

        So -inf is a constant, and the gradient of the temperature is finite.
        """
        if isinstance(self.temperature, Tensor):
            self.scale = 1 / self.temperature
        else:
            self.scale = torch.full((), 1 / self.temperature, device=logits.device)
        self.dtype = logits.dtype
        if self.noise is not None:
            self.noise = self.noise * self.scale
        if self.options.length == "fixed":
            if self.noise is None:
                self.noise = torch.zeros_like(logits[0], dtype=torch.float32).expand(self.options.max_len, -1)
            self.noise = without_eos(self.noise)

    def message(self) -> Message:
        """The complete message; if its length is variable, with EOS appended after the last step."""
        weights = torch.stack(self.weights)  # (max_len, batch, vocab_size + 1)
        if self.options.length == "fixed":
            length = torch.full_like(weights[0, :, 0], self.options.max_len)
            return Message(
                symbols=weights.to(self.dtype), ends=None, length=length, logits=tuple(self.logits)
            )
        ends = end_probabilities(weights[..., EOS])  # (max_len + 1, batch)
        eos = torch.zeros_like(weights[:1])
        eos[..., EOS] = 1
        steps = torch.arange(1, len(ends) + 1, device=ends.device, dtype=ends.dtype)
        symbols = torch.cat([weights, eos]).to(self.dtype)
        return Message(symbols=symbols, ends=ends, length=steps @ ends, logits=tuple(self.logits))


class _EndProbabilities(torch.autograd.Function):
    """See `end_probabilities`; steps are the second last dimension."""

    @staticmethod
    def forward(ctx: Any, stops: Tensor) -> Tensor:
        remaining = torch.cumprod(1 - stops, -2)
        last = remaining.narrow(-2, -1, 1)
        before = pad(remaining.narrow(-2, 0, stops.shape[-2] - 1), (0, 0, 1, 0), value=1.0)
        ctx.save_for_backward(stops, before)
        return torch.cat([stops * before, last], -2)

    @staticmethod
    @first_derivative_only
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        # Step by step, as a quotient of probabilities could be 0 / 0: the gradient of continuing beyond a step.
        stops, before = ctx.saved_tensors
        *steps, beyond = gradient.unbind(-2)
        further = []
        for step, stop in zip(reversed(steps), reversed(stops.unbind(-2)), strict=True):
            further.append(beyond)
            beyond = torch.lerp(beyond, step, stop)
        of_stops = gradient.narrow(-2, 0, len(steps)) - torch.stack(further[::-1], -2)
        return of_stops.mul_(before)


end_probabilities: Callable[[Tensor], Tensor] = with_replicas(_EndProbabilities, _EndProbabilities.apply)
"""Probability that a message ends at each step, or after the last step, (num_steps + 1, batch), from probabilities
of ending at each step if it has not ended before, (num_steps, batch)."""


class DiscreteMessageBuilder(IdBuilder):
    """Builds messages of ids: the most likely symbols or, with Gumbel noise, samples from the softmax of the logits.

    The noise is (max_len, batch, vocab_size + 1). If `track`, log-probabilities and entropies are stored for REINFORCE.
    """

    def __init__(self, options: SymbolOptions, noise: Tensor | None, *, track: bool) -> None:
        self.options, self.noise, self.track = options, noise, track
        self.ids: list[Tensor] = []
        self.logits: list[Tensor] = []
        self.unfinished: Tensor | None = None

    @property
    def done(self) -> bool:
        """Whether the message is complete: after `max_len` steps, or when all messages of the batch have ended.

        The latter only if values may be read; see `may_look_at` and `looks_at_ends`. Messages are equal
        in both cases, except for the amount of PAD.
        """
        if len(self.ids) == self.options.max_len or self.options.length == "fixed":
            return len(self.ids) == self.options.max_len
        if self.track and not self.looks_at_ends:
            return False
        fewest = 2 if self.track else 1  # so that all weights of the sender have a gradient, possibly zero
        if self.unfinished is None or len(self.ids) < fewest or not may_look_at(self.unfinished):
            return False
        return not bool(self.unfinished.any())

    def step(self, logits: Tensor) -> Tensor:
        """Convert logits (batch, vocab_size + 1) to ids (batch,), PAD for messages that have ended."""
        logits = logits.float()
        if self.options.length == "fixed":
            logits = without_eos(logits)
        chosen_ids = (logits if self.noise is None else logits + self.noise[len(self.ids)]).argmax(-1)
        unfinished = (
            torch.ones_like(chosen_ids, dtype=torch.bool) if self.unfinished is None else self.unfinished
        )
        if self.track:
            self.logits.append(logits)
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
        log_probability, entropy = of_sampled(symbols, torch.stack(self.logits))
        return Message(
            symbols=symbols, ends=None, length=length, log_probability=log_probability, entropy=entropy,
            logits=tuple(self.logits),
        )  # fmt: skip


def of_sampled(symbols: Tensor, logits: Tensor) -> tuple[Tensor, Tensor]:
    """Compute log-probabilities of messages of ids, and mean entropies of their symbols in nats, (...) each.

    Args:
        symbols: Ids, (num_steps, ...); PAD after the end of a message is ignored.
        logits: Logits of the symbols, except an appended EOS, (num_logits, ..., vocab_size + 1).
    """
    is_said = symbols != PAD
    length, is_said, said = is_said.sum(0).float(), is_said[: len(logits)], symbols[: len(logits)]
    log_probabilities = logits.log_softmax(-1)
    chosen = log_probabilities.gather(-1, said.clamp(min=0)[..., None])[..., 0]
    # A symbol with log-probability -inf contributes 0: 0 log 0 = 0.
    negative_terms = log_probabilities.exp() * log_probabilities.clamp(min=-1e9)
    return (chosen * is_said).sum(0), (-negative_terms.sum(-1) * is_said).sum(0) / length


class ValueMessageBuilder:
    """Builds messages of `max_len` words without EOS; a word is a vector of values from 0 to 1.

    If `is_rounded`, values are rounded to levels, with the gradient of the values (straight-through). Noise, if any, is
    (max_len, batch, word_size) and is added to the values.
    """

    def __init__(self, options: ValueOptions, *, is_rounded: bool, noise: Tensor | None = None) -> None:
        self.options, self.is_rounded, self.noise = options, is_rounded, noise
        self.words: list[Tensor] = []

    @property
    def done(self) -> bool:
        """Whether the message is complete."""
        return len(self.words) == self.options.max_len

    def step(self, logits: Tensor) -> Tensor:
        """Convert logits (batch, word_size) to values of the same shape and precision."""
        values = as_values(logits.float(), self.options.normalize)
        if self.is_rounded:
            steps = self.options.num_levels - 1
            values = values + ((values.detach() * steps).round() / steps - values.detach())
        if self.noise is not None:
            values = values + self.noise[len(self.words)]
        self.words.append(values.to(logits.dtype))
        return self.words[-1]

    def message(self) -> Message:
        """The complete message."""
        length = torch.full((len(self.words[0]),), float(self.options.max_len), device=self.words[0].device)
        return Message(symbols=torch.stack(self.words), ends=None, length=length)


class VariationalMessageBuilder:
    """Builds messages of `max_len` words without EOS, each drawn from a normal distribution.

    The sender's logits are mean and log-variance of each word, (batch, 2 * word_size) in all. Noise is standard
    normal, (max_len, batch, word_size); None: each word is the mean.
    """

    def __init__(self, max_len: int, noise: Tensor | None) -> None:
        self.max_len, self.noise = max_len, noise
        self.words: list[Tensor] = []
        self.divergence: Tensor | float = 0.0

    @property
    def done(self) -> bool:
        """Whether the message is complete."""
        return len(self.words) == self.max_len

    def step(self, logits: Tensor) -> Tensor:
        """Convert logits (batch, 2 * word_size) to the word and its log-variances, of the same shape and precision."""
        mean, log_variance = logits.float().chunk(2, dim=-1)
        # Kingma & Welling 2014, arXiv 1312.6114, appendix B.
        self.divergence = self.divergence + 0.5 * (mean**2 + log_variance.exp() - log_variance - 1).sum(-1)
        word = mean
        if self.noise is not None:
            word = mean + (0.5 * log_variance).exp() * self.noise[len(self.words)]
        self.words.append(word.to(logits.dtype))
        return torch.cat([self.words[-1], log_variance.to(logits.dtype)], dim=-1)

    def message(self) -> Message:
        """The complete message."""
        length = torch.full((len(self.words[0]),), float(self.max_len), device=self.words[0].device)
        return Message(
            symbols=torch.stack(self.words),
            ends=None,
            length=length,
            divergence=torch.as_tensor(self.divergence),
        )


MessageBuilder = (
    RelaxedMessageBuilder | DiscreteMessageBuilder | ValueMessageBuilder | VariationalMessageBuilder
)
"""Types of message builders."""


def as_values(logits: Tensor, normalize: str) -> Tensor:
    """Convert logits (batch, word_size) to values from 0 to 1; with `minmax`, equal logits give 0.5."""
    if normalize == "sigmoid":
        return logits.sigmoid()
    low, high = logits.amin(-1, keepdim=True), logits.amax(-1, keepdim=True)
    spread = high - low
    return torch.where(spread > 0, (logits - low) / spread.clamp(min=1e-12), 0.5)


def without_eos(logits: Tensor) -> Tensor:
    """Set the logit of EOS to -inf in logits, (..., vocab_size + 1)."""
    masked = logits.clone()
    # By an integer index: an index tensor would be copied to the device, with a synchronisation, at every step.
    masked[..., EOS] = -torch.inf
    return masked
