"""A loss over all pairs of a step that rewards senders for different messages about the same object.

After the lexical diversity of populations; a `strength` below 0 rewards equal messages instead.
"""

from dataclasses import dataclass
from itertools import combinations

import torch

from ecsuite.games.tasks.losses import LossOptions, TaskLoss


class Diverse(TaskLoss):
    """The task's loss minus the distance of the senders' distributions over the first symbol."""

    of_pairs, same_rounds = "several", True

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options(LossOptions):
        """Options of the loss."""

        strength: float = 0.1
        """Reward in nats for senders that share no first symbol."""
        impatient: bool = False
        """See loss task."""

    def over_pairs(self, results, meetings):
        """Return the sum over pairs minus the reward of each pair of senders."""
        first = {}  # of each sender, (batch, vocab_size + 1)
        for result, meeting in zip(results, meetings, strict=True):
            first[meeting.sender] = result.message.log_probabilities()[0].exp()
        far = [(one - other).abs().sum(-1).mean() / 2 for one, other in combinations(first.values(), 2)]
        distance = torch.stack(far).mean() if far else 0.0
        return super().over_pairs(results, meetings) - self.options.strength * distance
