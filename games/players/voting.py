"""Receivers that vote: each choice is that of the highest mean probability over the receivers that a sender meets.

Chaabouni et al. 2022, Emergent communication at scale, section 2.3.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from ecsuite.agents.message import Message
from ecsuite.games.noise import Noise
from ecsuite.games.players.pair import Pair
from ecsuite.games.tasks import right_parts
from ecsuite.games.views import SeenRounds


def votes(pairs: Sequence[Pair], rounds: SeenRounds, message: Message, generator: Noise | None) -> Tensor:
    """The accuracy of the vote, a scalar: the share of the candidate choices that are right.

    Args:
        pairs: One sender with each receiver that votes; their task has `choices`.
        rounds: What they play.
        message: The messages of the sender.
        generator: See `Pair.play`.
    """
    answers = [pair.listener.response(message, rounds.candidates, generator)[0] for pair in pairs]
    choices = [pair.task.choices(answer) for pair, answer in zip(pairs, answers, strict=True)]
    mean = torch.stack([each.softmax(-1) for each in choices]).mean(0)
    return right_parts(mean.argmax(-1), rounds.truth).float().mean()
