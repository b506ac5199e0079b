"""Receivers that vote: the candidate with the highest mean probability over the receivers that a sender meets.

Chaabouni et al. 2022, Emergent communication at scale, section 2.3.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from ecsuite.agents.message import Message
from ecsuite.games.game import Game
from ecsuite.games.views import SeenRounds


def votes(games: Sequence[Game], rounds: SeenRounds, message: Message) -> Tensor:
    """The accuracy of the vote, a scalar.

    Args:
        games: Of one sender with each receiver that votes.
        rounds: What they play.
        message: The messages of the sender.
    """
    answers = []
    for game in games:
        scores, ends = game.response(message, rounds.candidates)
        answers.append(scores.softmax(-1) if scores.shape[-1] > 1 else scores.sigmoid())
    mean = torch.stack(answers).mean(0)
    logits = mean.log() if mean.shape[-1] > 1 else mean.logit()
    right = games[0].task(logits, rounds.truth).measures["accuracy"]
    return (ends * right).sum(0).mean()
