"""Optimizers: make a `torch.optim` optimizer for the parameters of a game."""

from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import nn

from ecsuite.config import Positive


class Adam:
    """Adam (Kingma & Ba 2015, arXiv 1412.6980) with torch's other settings.

    Args:
        options: The options.
    """

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options:
        """Options of Adam."""

        lr: Positive = 0.001
        """Learning rate, which the schedule changes."""

    def __init__(self, options: Options) -> None:
        self.options = options

    def optimizer(self, parameters: Iterable[nn.Parameter]) -> torch.optim.Optimizer:
        """Make the optimizer of these parameters."""
        return torch.optim.Adam(parameters, lr=self.options.lr, fused=True)
