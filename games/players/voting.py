"""Receivers that vote: each choice is that of the highest mean probability over the receivers that a sender meets.

Chaabouni et al. 2022, Emergent communication at scale, section 2.3.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from ecsuite.games.tasks.tasks import Task, Truth, right_parts


def votes(task: Task, answers: Sequence[Tensor], truth: Truth) -> Tensor:
    """The accuracy of the vote, a scalar: the share of the candidate choices that are right.

    Args:
        task: What the receivers do, which has choices.
        answers: What it gets of each receiver that votes; see `Listener.response`.
        truth: What is right.
    """
    mean = torch.stack([task.choices(answer).softmax(-1) for answer in answers]).mean(0)
    return right_parts(mean.argmax(-1), truth).float().mean()
