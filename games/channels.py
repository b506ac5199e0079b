"""Channels: how a sender's scores become symbols, what is fed back to it, and what it is trained on.

A channel opens a `MessageBuilder` for one batch. In `train` mode the line has what training needs: a relaxation with a
gradient (soft, gumbel) or log-probabilities (reinforce). In `greedy` and `sample` mode every channel says ids.
"""

from typing import Literal

import torch
from torch import Tensor, nn

from ecsuite.agents.message import EOS, PAD, Message
from ecsuite.config import ChannelConfig

Mode = Literal["train", "sample", "greedy"]


class RelaxedMessageBuilder:
    """Says softmax weights instead of symbols, so that the loss has a gradient into the sender.

    A message of variable length has no certain end: with p_t the weight on EOS at step t, it ends there with
    probability p_t (1 - p_1) ... (1 - p_{t-1}), and for certain after `max_len` symbols. Losses are expectations
    over this end, and their gradient teaches the sender when to stop.

    Args:
        config: Vocabulary, length, temperature and straight-through option.
        noise: Gumbel noise (max_len, batch, vocab_size + 1), or None.
        temperature: Softmax temperature.
    """

    def __init__(self, config: ChannelConfig, noise: Tensor | None, temperature: float) -> None:
        self.config, self.noise, self.temperature = config, noise, temperature
        self.symbols: list[Tensor] = []
        self.ends: list[Tensor] = []
        self.remaining: Tensor | None = None

    @property
    def done(self) -> bool:
        """Whether the message is complete."""
        return len(self.symbols) == self.config.max_len

    def step(self, logits: Tensor) -> Tensor:
        """Logits (batch, vocab_size + 1) to weights of the same shape and precision."""
        noisy = logits.float()
        if self.config.length == "fixed":
            noisy = without_eos(noisy)
        if self.noise is not None:
            noisy = noisy + self.noise[len(self.symbols)]
        weights = (noisy / self.temperature).softmax(-1)
        if self.config.straight_through:
            hard = torch.zeros_like(weights).scatter_(-1, weights.argmax(-1, keepdim=True), 1.0)
            weights = hard + weights - weights.detach()
        if self.config.length == "variable":
            stop = weights[:, EOS]
            self.ends.append(stop if self.remaining is None else self.remaining * stop)
            self.remaining = 1 - stop if self.remaining is None else self.remaining * (1 - stop)
        self.symbols.append(weights.to(logits.dtype))
        return self.symbols[-1]

    def message(self) -> Message:
        """Everything that was said, with EOS forced at the end where the length is variable."""
        if self.remaining is None:
            length = torch.full_like(self.symbols[0][:, 0], self.config.max_len, dtype=torch.float32)
            return Message(symbols=torch.stack(self.symbols), ends=None, length=length)
        forced = torch.zeros_like(self.symbols[0])
        forced[:, EOS] = 1
        ends = torch.stack([*self.ends, self.remaining])  # (max_len + 1, batch)
        steps = torch.arange(1, len(ends) + 1, device=ends.device, dtype=ends.dtype)
        return Message(symbols=torch.stack([*self.symbols, forced]), ends=ends, length=steps @ ends)


class DiscreteMessageBuilder:
    """Says ids: the likeliest symbol, or with Gumbel noise a draw from the softmax of the scores.

    Args:
        config: Vocabulary and length.
        noise: Gumbel noise (max_len, batch, vocab_size + 1) for draws, None for the likeliest symbol.
        track: Keep log-probabilities and entropies for REINFORCE, and never close early.
    """

    def __init__(self, config: ChannelConfig, noise: Tensor | None, *, track: bool) -> None:
        self.config, self.noise, self.track = config, noise, track
        self.ids: list[Tensor] = []
        self.log_probabilities: list[Tensor] = []
        self.entropies: list[Tensor] = []
        self.alive: Tensor | None = None

    @property
    def done(self) -> bool:
        """Whether the message is complete: outside training, as soon as all messages of the batch have ended."""
        if len(self.ids) == self.config.max_len:
            return True
        return not self.track and self.alive is not None and not bool(self.alive.any())

    def step(self, logits: Tensor) -> Tensor:
        """Logits (batch, vocab_size + 1) to ids (batch,); PAD for messages that have ended."""
        logits = logits.float()
        if self.config.length == "fixed":
            logits = without_eos(logits)
        drawn = (logits if self.noise is None else logits + self.noise[len(self.ids)]).argmax(-1)
        alive = torch.ones_like(drawn, dtype=torch.bool) if self.alive is None else self.alive
        if self.track:
            log_probabilities = logits.log_softmax(-1)
            chosen = log_probabilities.gather(-1, drawn[:, None])[:, 0]
            self.log_probabilities.append(chosen * alive)
            # An impossible symbol has log-probability -inf and adds nothing: 0 log 0 = 0.
            surprise = log_probabilities.exp() * log_probabilities.clamp(min=-1e9)
            self.entropies.append(-surprise.sum(-1) * alive)
        self.ids.append(drawn.where(alive, PAD))
        self.alive = alive & (drawn != EOS)
        return self.ids[-1]

    def message(self) -> Message:
        """Everything that was said, with EOS forced on messages that never said it where the length is variable."""
        assert self.alive is not None, "a line must be spoken on before its message is read"
        ids = list(self.ids)
        if self.config.length == "variable":
            ids.append(torch.where(self.alive, EOS, PAD))
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
    """Says words that are vectors of values from 0 to 1: a message of `max_len` words, without EOS.

    Args:
        config: Length, levels, and how scores become values.
        is_rounded: Round values to levels, with the gradient of the values (straight-through).
    """

    def __init__(self, config: ChannelConfig, *, is_rounded: bool) -> None:
        self.config, self.is_rounded = config, is_rounded
        self.words: list[Tensor] = []

    @property
    def done(self) -> bool:
        """Whether the message is complete."""
        return len(self.words) == self.config.max_len

    def step(self, logits: Tensor) -> Tensor:
        """Logits (batch, word_size) to values of the same shape and precision."""
        values = as_values(logits.float(), self.config.normalize)
        if self.is_rounded:
            steps = self.config.num_levels - 1
            values = values + ((values.detach() * steps).round() / steps - values.detach())
        self.words.append(values.to(logits.dtype))
        return self.words[-1]

    def message(self) -> Message:
        """Everything that was said."""
        length = torch.full((len(self.words[0]),), float(self.config.max_len), device=self.words[0].device)
        return Message(symbols=torch.stack(self.words), ends=None, length=length)


MessageBuilder = RelaxedMessageBuilder | DiscreteMessageBuilder | ValueMessageBuilder
"""What a channel opens."""


class Channel(nn.Module):
    """What the sender and the receiver are joined by, and the objective that trains them through it."""

    train_builder: type[RelaxedMessageBuilder | DiscreteMessageBuilder]
    is_noisy: bool

    def __init__(self, config: ChannelConfig) -> None:
        super().__init__()
        self.config = config

    @property
    def symbol_size(self) -> int:
        """Scores that a sender gives for a symbol, and numbers that a receiver hears it as."""
        return self.config.vocab_size + 1

    def start_message(
        self, mode: Mode, like: Tensor, generator: torch.Generator | None, epoch: int = 0
    ) -> MessageBuilder:
        """Open a line for one batch.

        Args:
            mode: train, sample or greedy.
            like: A tensor of the batch's size and device.
            generator: Source of the noise; not used by greedy.
            epoch: Passes over the training examples so far; sets the temperature in train mode.
        """
        if mode == "greedy":
            return DiscreteMessageBuilder(self.config, None, track=False)
        noise = self._noise(like, generator) if mode == "sample" or self.is_noisy else None
        if mode == "sample":
            return DiscreteMessageBuilder(self.config, noise, track=False)
        if self.train_builder is DiscreteMessageBuilder:
            return DiscreteMessageBuilder(self.config, noise, track=True)
        return RelaxedMessageBuilder(self.config, noise, self.temperature(epoch))

    def temperature(self, epoch: int) -> float:
        """Temperature in an epoch, counted from 0: decays by a factor an epoch, down to a minimum."""
        decayed = self.config.temperature * self.config.temperature_decay**epoch
        return max(self.config.temperature_min, decayed)

    def objective(self, loss: Tensor, message: Message) -> Tensor:
        """What to minimise.

        Args:
            loss: The task's loss for each example, (batch,); expected over the message's end.
            message: What was said.
        """
        return (loss + self.config.length_cost * message.length).mean()

    def _noise(self, like: Tensor, generator: torch.Generator | None) -> Tensor:
        shape = (self.config.max_len, len(like), self.config.vocab_size + 1)
        exponential = torch.empty(shape, device=like.device).exponential_(generator=generator)
        return exponential.clamp_(min=torch.finfo(torch.float32).tiny).log_().neg_()


class SoftChannel(Channel):
    """Says softmax weights: a continuous channel that becomes discrete only in evaluation."""

    train_builder = RelaxedMessageBuilder
    is_noisy = False


class GumbelChannel(Channel):
    """Gumbel-softmax (Jang et al. 2017, arXiv 1611.01144; Maddison et al. 2017, arXiv 1611.00712).

    For variable length the loss is the expectation over the step at which EOS falls, as EGG defines it.
    """

    train_builder = RelaxedMessageBuilder
    is_noisy = True


class ReinforceChannel(Channel):
    """Draws symbols and follows the score-function gradient (Williams 1992).

    As EGG defines it: mean baselines of the loss and of the length cost, and an entropy bonus. The baselines are
    means over all steps so far and are saved with the model.
    """

    train_builder = DiscreteMessageBuilder
    is_noisy = True
    baselines: Tensor
    num_steps: Tensor

    def __init__(self, config: ChannelConfig) -> None:
        super().__init__(config)
        self.register_buffer("baselines", torch.zeros(2))
        self.register_buffer("num_steps", torch.zeros(()))

    def objective(self, loss: Tensor, message: Message) -> Tensor:
        """The surrogate whose gradient is the policy gradient plus the receiver's own. See the base class.

        mean[(cost - b_cost) log p] + mean[(loss - b_loss) log p] - coefficient mean[entropy] + mean[loss], where
        cost = length_cost x length, log p sums over the symbols said and the entropy is their mean.
        """
        if message.log_probability is None or message.entropy is None:  # evaluation has no policy to improve
            return super().objective(loss, message)
        costs = torch.stack([loss.detach(), self.config.length_cost * message.length])  # (2, batch)
        advantage = costs - self.baselines[:, None]
        # Out of place: the backward pass still needs the baselines of this step.
        self.num_steps = self.num_steps + 1
        self.baselines = self.baselines + (costs.mean(1) - self.baselines) / self.num_steps
        policy = (advantage.sum(0) * message.log_probability).mean()
        return policy - self.config.entropy_coefficient * message.entropy.mean() + loss.mean()


class QuantizedChannel(Channel):
    """Says words of values, each rounded to one of a few levels (Carmeli et al. 2023, arXiv 2211.02412).

    A word has `word_size` values of `num_levels` levels; there is no embedding table of words. The gradient passes
    through the rounding as if it were not there. There is no noise, and all modes do the same.

    A sigmoid brings scores between 0 and 1. The paper's program has min-max over the batch instead, so that what is
    said of one object depends on the others; ours, as the option `minmax`, is within each word.
    """

    is_rounded = True

    @property
    def symbol_size(self) -> int:
        """The values of a word. See the base class."""
        return self.config.word_size

    def start_message(
        self, mode: Mode, like: Tensor, generator: torch.Generator | None, epoch: int = 0
    ) -> MessageBuilder:
        """See the base class."""
        return ValueMessageBuilder(self.config, is_rounded=self.is_rounded)


class ContinuousChannel(QuantizedChannel):
    """Says words of real values, a baseline without symbols; only the corpus has them rounded to levels."""

    is_rounded = False


def as_values(logits: Tensor, normalize: str) -> Tensor:
    """Logits (batch, word_size) to values from 0 to 1; by `minmax`, a word of equal logits is 0.5 throughout."""
    if normalize == "sigmoid":
        return logits.sigmoid()
    low, high = logits.amin(-1, keepdim=True), logits.amax(-1, keepdim=True)
    spread = high - low
    return torch.where(spread > 0, (logits - low) / spread.clamp(min=1e-12), 0.5)


def without_eos(logits: Tensor) -> Tensor:
    """The same scores with EOS made impossible, (..., vocab_size + 1)."""
    return logits.index_fill(-1, torch.tensor([EOS], device=logits.device), -torch.inf)


CHANNELS: dict[str, type[Channel]] = {
    "soft": SoftChannel,
    "gumbel": GumbelChannel,
    "reinforce": ReinforceChannel,
    "quantized": QuantizedChannel,
    "continuous": ContinuousChannel,
}
"""Channels by the names that users write."""
