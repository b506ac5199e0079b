"""The channel of VQ-VIB: words of a learnt codebook, and a bound on how much they tell of the input as a cost."""

from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
import torch
from torch import Tensor, nn

from ecsuite.agents.message import Message
from ecsuite.games.channels import Channel, Mode, normal_noise
from ecsuite.games.message_builders import VariationalMessageBuilder
from ecsuite.games.message_noise import NO_NOISE
from ecsuite.games.noise import Noise
from ecsuite.games.registry import NOISES
from ecsuite.parts.config import Count, Weight
from ecsuite.parts.registry import Part
from ecsuite.runtime.ragged import Ragged


class VqvibChannel(Channel):
    """The vector-quantized variational information bottleneck of Tucker, Levy, Shah and Zaslavsky (2022), VQ-VIB_N.

    "Trading off Utility, Informativeness, and Complexity in Emergent Communication", NeurIPS 35. The sender gives a
    normal distribution, a vector is drawn from it, and the nearest vector of the codebook is the word that the receiver
    gets, with the gradient of what was drawn (straight-through). The cost of a message is its complexity, bounded by
    the KL divergence of the sender's distribution from the standard normal one, and the squared distance of what was
    drawn from its word: that of the codebook, and `commitment` times that of the sender. These are the second and third
    term of equation 3 of van den Oord et al. (2017), but for their scale: here they are the mean over the values of a
    word, as in programs with `mse_loss`, and there the sum, which is `word_size` times as large. Divergence and
    distances are summed over the words of a message. The objective is `utility` times the loss, with `complexity` times
    the divergence: their ratio decides how many words there are. The paper's term for informativeness is the loss of
    games that rebuild the target.

    In the corpus, a word is the number of its vector, from 1; of a society, that of the nearest one of the first
    sender, as numbers of different codebooks have nothing in common.
    """

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options:
        """Options of the channel."""

        vocab_size: Count = 64
        """Number of vectors of the codebook."""
        max_len: Count = 1
        """Number of words per message; there is no EOS."""
        word_size: Count = 16
        """Values of a vector."""
        noise: Annotated[Part, NOISES] = NO_NOISE
        """What happens to words before the receiver gets them: erasure or confusion."""
        utility: Weight = 1.0
        """Weight of the loss."""
        complexity: Weight = 0.01
        """Weight of the KL divergence, in nats, which bounds the complexity of a message."""
        commitment: Weight = 0.25
        """Weight of the distance that the sender is taught; that of the codebook has weight 1. Both are squared, and
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
        """The number of the nearest vector of the codebook, from 0.

        Args:
            vectors: (..., word_size).
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
    """Builds messages of vectors of a codebook, see `VqvibChannel`.

    Args:
        channel: Its codebook and its options.
        noise: Standard normal, (max_len, batch, word_size); None: each word is that of the mean.
    """

    def __init__(self, channel: VqvibChannel, noise: Tensor | None) -> None:
        super().__init__(channel.max_len, noise)
        self.channel = channel
        self.distortion: Tensor | float = 0.0

    def step(self, logits: Tensor) -> Tensor:
        """Logits (batch, 2 * word_size) to the word and its log-variances, of the same shape and precision."""
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
