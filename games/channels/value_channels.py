"""Channels whose words are real-valued vectors: quantised, continuous, DIAL, and the codebook of VQ-VIB.

See `ecsuite.games.channels.channels` for channels of symbols.
"""

from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
import torch
from torch import Tensor, nn

from ecsuite.agents.message import Message
from ecsuite.games.channels.channels import Channel, Mode, normal_noise
from ecsuite.games.channels.message_builders import (
    ContinuousOptions,
    MessageBuilder,
    ValueMessageBuilder,
    ValueOptions,
    VariationalMessageBuilder,
    VariationalOptions,
)
from ecsuite.games.channels.noise import NO_NOISE, Noise
from ecsuite.games.config.registry import NOISES
from ecsuite.parts.config import Count, Weight
from ecsuite.parts.registry import Part
from ecsuite.runtime.ragged import Ragged


class QuantizedChannel(Channel):
    """Real-valued words, each value rounded to one of `num_levels` levels (Carmeli et al. 2023, arXiv 2211.02412).

    A word has `word_size` values and no embedding; the gradient ignores the rounding (straight-through). There is no
    noise, and all modes give the same messages. A sigmoid maps logits to values from 0 to 1. The paper's program uses
    min-max over the batch instead, so that the message for one object depends on the batch; our option `minmax` is
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
    """Continuous words, a baseline without symbols; values are rounded to levels only in the corpus."""

    Options = ContinuousOptions
    options: ContinuousOptions
    is_rounded = False

    def __init__(self, options: ContinuousOptions) -> None:
        super().__init__(options)
        self.has_samples = options.value_noise > 0

    def any_words(self, draws: Tensor) -> Tensor:
        """Values are uniform from 0 to 1. See the base class."""
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
    """Continuous words, drawn from the sender's normal distributions, as in a variational autoencoder.

    The objective adds the weighted KL divergence of these distributions from the standard normal distribution (Kingma
    & Welling 2014, arXiv 1312.6114; the weight, Higgins et al. 2017). Greedy messages are the means.
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
        """Words from the standard normal distribution. See the base class."""
        words: Tensor = torch.special.ndtri(draws.clamp(1e-6, 1 - 1e-6))
        return words

    def shares(self, values: Tensor) -> Tensor:
        """Cumulative probabilities of the standard normal distribution. See the base class."""
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


@dataclass(frozen=True, kw_only=True, slots=True)
class RegularisedOptions:
    """Options of the DIAL channel."""

    max_len: Count = 1
    """Number of words per message; there is no EOS."""
    word_size: Count = 1
    """Number of bits per word."""
    noise_std: Weight = 2.0
    """Standard deviation of the noise that pushes values to 0 or 1 in training; 2 in the paper."""


class _Builder(ValueMessageBuilder):
    """Builds words of squashed noisy values, or of bits if there is no noise."""

    def step(self, logits: Tensor) -> Tensor:
        """Convert logits (batch, word_size) to values of the same shape and precision."""
        values = logits.float()
        if self.noise is None:
            values = (values > 0).float()
        else:
            values = (values + self.noise[len(self.words)]).sigmoid()
        self.words.append(values.to(logits.dtype))
        return self.words[-1]


class RegularisedChannel(QuantizedChannel):
    """Discretise/regularise unit of DIAL (Foerster et al. 2016, arXiv 1605.06676, section 5.2).

    In training the receiver gets sigmoid(logit + noise), which passes the gradient back to the sender; in
    evaluation, the sign of the logit as a bit. Large noise makes the sender choose large logits, and so bits.
    """

    Options = RegularisedOptions  # type: ignore[assignment]

    def __init__(self, options: RegularisedOptions) -> None:
        super().__init__(ValueOptions(max_len=options.max_len, word_size=options.word_size, num_levels=2))
        self.noise_std = options.noise_std

    def start_message(self, mode: Mode, like: Tensor, generator: Noise | None, epoch: int = 0) -> _Builder:
        """See the base class."""
        noise = None
        if mode == "train":
            shape = (self.max_len, len(like), self.options.word_size)
            noise = self.noise_std * normal_noise(shape, like, generator)
        return _Builder(self.options, is_rounded=False, noise=noise)


class VqvibChannel(Channel):
    """Vector-quantized variational information bottleneck, VQ-VIB_N (Tucker, Levy, Shah and Zaslavsky 2022).

    "Trading off Utility, Informativeness, and Complexity in Emergent Communication", NeurIPS 35. The sender outputs a
    normal distribution, a vector is sampled from it, and the nearest vector of the codebook is the word that the
    receiver gets, with the gradient of the sample (straight-through). The cost of a message is its complexity,
    bounded by the KL divergence of the sender's distribution from the standard normal distribution, and the squared
    distance of the sample from its word: once for the codebook, and `commitment` times for the sender, as in the
    second and third term of equation 3 of van den Oord et al. (2017), except for their scale: here they are the mean
    over the values of a word, as in programs with `mse_loss`, there the sum, which is `word_size` times as large.
    Divergence and distances are summed over the words of a message. The objective is `utility` times the loss, with
    `complexity` times the divergence: their ratio determines the number of words. The paper's term for
    informativeness is the loss of games that reconstruct the target.

    In the corpus, a word is the index of its vector, from 1; in a society, the index of the nearest vector of the first
    sender, as indices of different codebooks are not comparable.
    """

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options:
        """Options of the channel."""

        vocab_size: Count = 64
        """Number of vectors in the codebook."""
        max_len: Count = 1
        """Number of words per message; there is no EOS."""
        word_size: Count = 16
        """Number of values of a vector."""
        noise: Annotated[Part, NOISES] = NO_NOISE
        """Noise of words before the receiver gets them: erasure or confusion."""
        utility: Weight = 1.0
        """Weight of the loss."""
        complexity: Weight = 0.01
        """Weight of the KL divergence, in nats, which bounds the complexity of a message."""
        commitment: Weight = 0.25
        """Weight of the sender's distance term; the codebook's term has weight 1. Both distances are squared, and
        means over the values of a word."""

    options: Options
    options_of_games = ("utility",)

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        self.vocab_size, self.symbol_size = options.vocab_size, options.word_size
        self.num_logits = 2 * options.word_size
        self.codebook = nn.Parameter(torch.randn(options.vocab_size, options.word_size))
        self.noise = self.make_noise(options.noise)

    @property
    def is_of_values(self) -> bool:
        """See the base class."""
        return True

    def start_message(
        self, mode: Mode, like: Tensor, generator: Noise | None, epoch: int = 0
    ) -> "CodebookMessageBuilder":
        """See the base class. Greedy messages are the words of the means."""
        noise = (
            None
            if mode == "greedy"
            else normal_noise((self.max_len, len(like), self.options.word_size), like, generator)
        )
        return CodebookMessageBuilder(self, noise)

    def any_words(self, draws: Tensor) -> Tensor:
        """Vectors of the codebook. See the base class."""
        places = (draws[..., 0] * self.vocab_size).long().clamp(max=self.vocab_size - 1)
        return self.codebook[places]

    def words_of(self, vectors: Tensor) -> Tensor:
        """Index of the nearest vector of the codebook, from 0.

        Args:
            vectors: Vectors, (..., word_size).
        """
        distances = torch.cdist(vectors.float().flatten(0, -2), self.codebook.float())
        return distances.argmin(-1).view(vectors.shape[:-1])

    def as_symbols(self, words: Tensor) -> tuple[Ragged, tuple[str, ...] | None]:
        """See the base class."""
        ids = (1 + self.words_of(words)).cpu().numpy().astype(np.int32)
        return Ragged.from_lengths(ids.reshape(-1), np.full(len(ids), self.max_len)), None

    def objective(
        self, loss: Tensor, cost: Tensor, message: Message, *, greedy: tuple[Tensor, Tensor] | None = None
    ) -> Tensor:
        """See the base class."""
        assert message.divergence is not None and message.distortion is not None
        weighted = self.options.complexity * message.divergence + message.distortion
        return super().objective(self.options.utility * loss, cost, message) + weighted.mean()


class CodebookMessageBuilder(VariationalMessageBuilder):
    """Builds messages of vectors of a codebook; see `VqvibChannel`.

    Args:
        channel: Channel with the codebook and the options.
        noise: Standard normal noise, (max_len, batch, word_size); None: words are nearest to the means.
    """

    def __init__(self, channel: VqvibChannel, noise: Tensor | None) -> None:
        super().__init__(channel.max_len, noise)
        self.channel = channel
        self.distortion: Tensor | float = 0.0

    def step(self, logits: Tensor) -> Tensor:
        """Convert logits (batch, 2 * word_size) to the word and its log-variances, of the same shape and precision."""
        given = super().step(logits)
        drawn, log_variance = given.chunk(2, dim=-1)
        word = self.channel.codebook[self.channel.words_of(drawn.detach())]
        apart = (drawn.detach().float() - word).square().mean(-1)
        committed = (drawn.float() - word.detach()).square().mean(-1)
        self.distortion = self.distortion + apart + self.channel.options.commitment * committed
        self.words[-1] = drawn + (word.to(drawn.dtype) - drawn).detach()
        return torch.cat([self.words[-1], log_variance], dim=-1)

    def message(self) -> Message:
        """The complete message."""
        return replace(super().message(), distortion=torch.as_tensor(self.distortion))
