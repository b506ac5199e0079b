"""A channel that loses symbols in training: a lost one arrives as equal weights of all symbols but EOS."""

from dataclasses import dataclass

import torch

from ecsuite.games.channels import GumbelChannel
from ecsuite.parts.config import Share


class NoisyChannel(GumbelChannel):
    """Gumbel-softmax with losses."""

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options(GumbelChannel.Options):
        """Options of the channel."""

        loss: Share = 0.1
        """Share of the symbols that are lost."""

    def start_training_message(self, like, generator, epoch):
        """Draw which symbols are lost, and let the builder replace their weights."""
        builder = super().start_training_message(like, generator, epoch)
        shape = (self.max_len, len(like), 1)
        lost = torch.rand(shape, generator=generator, device=like.device) < self.options.loss
        inner = builder.step

        def step(logits):
            """The weights of a symbol, or equal ones."""
            weights = inner(logits)
            # EOS is not lost: where the message may end says its `ends`, which come from its weight.
            end, others = (
                weights[:, :1],
                weights[:, 1:].mean(1, keepdim=True).expand(-1, weights.shape[1] - 1),
            )
            equal = torch.cat([end, others], 1)
            builder.symbols[-1] = torch.where(lost[len(builder.symbols) - 1], equal, weights)
            return builder.symbols[-1]

        builder.step = step
        return builder
