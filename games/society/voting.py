"""Receivers that vote: each choice is that of the highest mean probability over the receivers that a sender meets.

Chaabouni et al. 2022, Emergent communication at scale, section 2.3.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from ecsuite.agents.message import Message
from ecsuite.games.game import Game
from ecsuite.games.noise import Noise
from ecsuite.games.tasks import right_parts
from ecsuite.games.views import SeenRounds


def votes(games: Sequence[Game], rounds: SeenRounds, message: Message, generator: Noise | None) -> Tensor:
    """The accuracy of the vote, a scalar: the share of the candidate choices that are right.

    Args:
        games: Of one sender with each receiver that votes; their task has `choices`.
        rounds: What they play.
        message: The messages of the sender.
        generator: See `Game.play`.
    """
    answers = [game.response(message, rounds.candidates, generator)[0] for game in games]
    choices = [game.task.choices(answer) for game, answer in zip(games, answers, strict=True)]
    mean = torch.stack([each.softmax(-1) for each in choices]).mean(0)
    return right_parts(mean.argmax(-1), rounds.truth).float().mean()
