"""The channel of DIAL: real values with noise in training, bits in evaluation."""

from dataclasses import dataclass

from torch import Tensor

from ecsuite.games.channels import Mode, normal_noise
from ecsuite.games.message_builders import ValueMessageBuilder, ValueOptions
from ecsuite.games.noise import Noise
from ecsuite.games.value_channels import QuantizedChannel
from ecsuite.parts.config import Count, Weight


@dataclass(frozen=True, kw_only=True, slots=True)
class RegularisedOptions:
    """Options of the channel of DIAL."""

    max_len: Count = 1
    """Number of words per message; there is no EOS."""
    word_size: Count = 1
    """Bits of a word."""
    noise_std: Weight = 2.0
    """Standard deviation of the noise that pushes values to the ends in training; the paper has 2."""


class _Builder(ValueMessageBuilder):
    """Builds words of squashed noisy values, or of bits where there is no noise."""

    def step(self, logits: Tensor) -> Tensor:
        """Logits (batch, word_size) to values of the same shape and precision."""
        values = logits.float()
        if self.noise is None:
            values = (values > 0).float()
        else:
            values = (values + self.noise[len(self.words)]).sigmoid()
        self.words.append(values.to(logits.dtype))
        return self.words[-1]


class RegularisedChannel(QuantizedChannel):
    """The discretise/regularise unit of Foerster et al. (2016, arXiv 1605.06676, section 5.2), DIAL's channel.

    In training the receiver gets sigmoid(logit + noise), through which the gradient goes back to the sender; in
    evaluation whether the logit is positive. Large noise makes the sender choose large logits, and so bits.
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
