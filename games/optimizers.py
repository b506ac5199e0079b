"""Optimizers: how gradients change the weights, with rates of their own for sender and receiver."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from ecsuite.games.game import Game
from ecsuite.games.registry import OPTIMIZERS
from ecsuite.games.sections import Role
from ecsuite.games.society.agents import Agents
from ecsuite.parts.config import Positive, Share, Weight
from ecsuite.parts.registry import Part
from ecsuite.runtime.errors import ConfigError

Groups = Iterable[nn.Parameter] | Iterable[dict[str, Any]]
"""Parameters, or groups of them with a rate of their own, as torch's optimizers take them."""


@dataclass(frozen=True, kw_only=True, slots=True)
class OptimizerOptions:
    """Options of every optimizer."""

    lr: Positive = 0.001
    """Learning rate, which the schedule changes."""
    sender_lr: Positive | None = None
    """Learning rate of the sender; null: lr."""
    receiver_lr: Positive | None = None
    """Learning rate of the receiver; null: lr."""
    clip_norm: Positive | None = None
    """Gradients of a larger norm, of all weights together, are scaled down to this one; null: none is."""


class Optimizer(ABC):
    """Base class of optimizers, also of users' own; their `Options` derive from `OptimizerOptions`."""

    Options: type[OptimizerOptions] = OptimizerOptions

    def __init__(self, options: Any) -> None:
        self.options = options

    @abstractmethod
    def optimizer(self, parameters: Groups) -> torch.optim.Optimizer:
        """Make the optimizer of these parameters, with the rate `options.lr`."""


class Adam(Optimizer):
    """Adam (Kingma & Ba 2015, arXiv 1412.6980) with torch's other settings."""

    def optimizer(self, parameters: Groups) -> torch.optim.Optimizer:
        """Make the optimizer of these parameters."""
        return torch.optim.Adam(parameters, lr=self.options.lr, fused=True)


class AdamW(Optimizer):
    """Adam with decoupled weight decay (Loshchilov & Hutter 2019, arXiv 1711.05101)."""

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options(OptimizerOptions):
        """Options of AdamW."""

        weight_decay: Weight = 0.01
        """Share of each weight that is taken off at every step, times the learning rate."""

    def optimizer(self, parameters: Groups) -> torch.optim.Optimizer:
        """Make the optimizer of these parameters."""
        options = self.options
        return torch.optim.AdamW(parameters, lr=options.lr, weight_decay=options.weight_decay, fused=True)


class SGD(Optimizer):
    """Stochastic gradient descent, with momentum (Polyak 1964) if asked for."""

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options(OptimizerOptions):
        """Options of gradient descent."""

        momentum: Share = 0.0
        """Share of the last update that is added to the next one."""
        nesterov: bool = False
        """Nesterov's momentum."""
        weight_decay: Weight = 0.0
        """Weight of the squared norm of the weights in the loss, halved."""

        def __post_init__(self) -> None:
            """Check that there is a momentum to change; `ConfigError` if not."""
            if self.nesterov and self.momentum == 0:
                raise ConfigError("nesterov: needs a momentum, such as optimizer.momentum=0.9")

    def optimizer(self, parameters: Groups) -> torch.optim.Optimizer:
        """Make the optimizer of these parameters."""
        options = self.options
        return torch.optim.SGD(
            parameters,
            lr=options.lr,
            momentum=options.momentum,
            nesterov=options.nesterov,
            weight_decay=options.weight_decay,
        )


class Adagrad(Optimizer):
    """Adagrad (Duchi et al. 2011): the rate of a weight decreases with its past gradients."""

    def optimizer(self, parameters: Groups) -> torch.optim.Optimizer:
        """Make the optimizer of these parameters."""
        return torch.optim.Adagrad(parameters, lr=self.options.lr)


class WeightUpdates:
    """Changes the weights of a game that are trained by their gradients.

    Args:
        part: The section `optimizer`.
        game: Whose weights.

    Raises:
        ConfigError: If an agent has a rate of its own and nothing to train.
    """

    optimizer: torch.optim.Optimizer

    def __init__(self, part: Part, game: Game | Agents) -> None:
        self.parameters = [each for each in game.parameters() if each.requires_grad]
        self.clip_norm = part.options.clip_norm
        options = part.options
        rates: Mapping[Role, float | None] = {"sender": options.sender_lr, "receiver": options.receiver_lr}
        groups = _groups(self.parameters, game, rates) if any(rates.values()) else self.parameters
        self.optimizer = OPTIMIZERS.make(part).optimizer(groups)
        self.rates = [group["lr"] for group in self.optimizer.param_groups]

    def step(self, factor: float) -> None:
        """Change the weights, with learning rates that are multiplied by a factor."""
        if self.clip_norm is not None:
            torch.nn.utils.clip_grad_norm_(self.parameters, self.clip_norm)
        for group, rate in zip(self.optimizer.param_groups, self.rates, strict=True):
            group["lr"] = rate * factor
        self.optimizer.step()


def _groups(
    trained: list[nn.Parameter], game: Game | Agents, rates: Mapping[Role, float | None]
) -> list[dict[str, Any]]:
    """The weights of each agent with its rate, and those of neither; what both use has the sender's."""
    groups: list[dict[str, Any]] = []
    left = list(trained)
    for role, rate in rates.items():
        of_role = {id(each) for module in game.modules_of(role) for each in module.parameters()}
        own = [each for each in left if id(each) in of_role]
        left = [each for each in left if id(each) not in of_role]
        if rate is not None and not own:
            raise ConfigError(f"optimizer.{role}_lr: the {role} has no weights that are trained")
        if own:
            groups.append({"params": own} | ({} if rate is None else {"lr": rate}))
    return [*groups, {"params": left}] if left else groups
