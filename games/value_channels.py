"""Channels whose words are vectors of values, and not symbols of a vocabulary; see `ecsuite.games.channels`."""

import torch
from torch import Tensor

from ecsuite.agents.message import Message
from ecsuite.games.channels import Channel, Mode, normal_noise
from ecsuite.games.message_builders import (
    ContinuousOptions,
    MessageBuilder,
    ValueMessageBuilder,
    ValueOptions,
    VariationalMessageBuilder,
    VariationalOptions,
)
from ecsuite.games.noise import Noise


class QuantizedChannel(Channel):
    """Words of values, each rounded to one of `num_levels` levels (Carmeli et al. 2023, arXiv 2211.02412).

    A word has `word_size` values and no embedding; the gradient ignores the rounding (straight-through). There is no
    noise, and all modes give the same messages. A sigmoid maps logits to values from 0 to 1. The paper's program uses
    min-max over the batch instead, so that the message for one object depends on the others; our option `minmax` is
    computed within each word.
    """

    Options = ValueOptions
    options: ValueOptions
    is_rounded = True
    has_samples = False

    def __init__(self, options: ValueOptions) -> None:
        super().__init__(options)
        self.num_levels, self.symbol_size = options.num_levels, options.word_size
        self.vocab_size = options.num_levels**options.word_size
        self.noise = self.make_noise(options.noise)

    def start_message(
        self, mode: Mode, like: Tensor, generator: Noise | None, epoch: int = 0
    ) -> MessageBuilder:
        """See the base class."""
        return ValueMessageBuilder(self.options, is_rounded=self.is_rounded)


class ContinuousChannel(QuantizedChannel):
    """Words of real values, a baseline without symbols; values are rounded to levels only in the corpus."""

    Options = ContinuousOptions
    options: ContinuousOptions
    is_rounded = False

    def __init__(self, options: ContinuousOptions) -> None:
        super().__init__(options)
        self.has_samples = options.value_noise > 0

    def any_words(self, draws: Tensor) -> Tensor:
        """All values from 0 to 1 are equally likely. See the base class."""
        return draws

    def start_message(
        self, mode: Mode, like: Tensor, generator: Noise | None, epoch: int = 0
    ) -> MessageBuilder:
        """See the base class."""
        noise = None
        if self.options.value_noise and mode != "greedy":
            noise = self.options.value_noise * normal_noise(
                (self.max_len, len(like), self.options.word_size), like, generator
            )
        return ValueMessageBuilder(self.options, is_rounded=False, noise=noise)


class VariationalChannel(Channel):
    """Words of real values, drawn from normal distributions that the sender gives, as in a variational auto-encoder.

    The objective adds the weighted KL divergence of these distributions from the standard normal one (Kingma & Welling
    2014, arXiv 1312.6114; the weight, Higgins et al. 2017). Greedy messages are the means.
    """

    Options = VariationalOptions
    options: VariationalOptions

    def __init__(self, options: VariationalOptions) -> None:
        super().__init__(options)
        self.num_levels, self.symbol_size = options.num_levels, options.word_size
        self.num_logits = 2 * options.word_size
        self.vocab_size = options.num_levels**options.word_size
        self.noise = self.make_noise(options.noise)

    def start_message(
        self, mode: Mode, like: Tensor, generator: Noise | None, epoch: int = 0
    ) -> MessageBuilder:
        """See the base class."""
        noise = (
            None
            if mode == "greedy"
            else normal_noise((self.max_len, len(like), self.options.word_size), like, generator)
        )
        return VariationalMessageBuilder(self.max_len, noise)

    def any_words(self, draws: Tensor) -> Tensor:
        """Drawn from the standard normal distribution. See the base class."""
        words: Tensor = torch.special.ndtri(draws.clamp(1e-6, 1 - 1e-6))
        return words

    def shares(self, values: Tensor) -> Tensor:
        """The share of the standard normal distribution below each value. See the base class."""
        shares: Tensor = torch.special.ndtr(values.float())
        return shares

    def objective(
        self, loss: Tensor, cost: Tensor, message: Message, *, greedy: tuple[Tensor, Tensor] | None = None
    ) -> Tensor:
        """See the base class."""
        assert message.divergence is not None
        return (
            super().objective(loss, cost, message) + self.options.kl_coefficient * message.divergence.mean()
        )
