"""Optimizers and learning rate schedules; sender and receiver can have different rates."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from ecsuite.games.config.registry import OPTIMIZERS
from ecsuite.games.config.sections import Role
from ecsuite.parts.config import Count, Natural, Positive, Share, Weight
from ecsuite.parts.registry import Part
from ecsuite.runtime.compiler import take_step
from ecsuite.runtime.errors import ConfigError, FrozenError
from ecsuite.runtime.graphs import Outputs
from ecsuite.runtime.recording import Recorded

Groups = Iterable[nn.Parameter] | Iterable[dict[str, Any]]
"""Parameters, or parameter groups with their own rate, as for torch's optimizers."""


@dataclass(frozen=True, kw_only=True, slots=True)
class OptimizerOptions:
    """Options of all optimizers."""

    lr: Positive = 0.001
    """Learning rate, modified by the schedule."""
    sender_lr: Positive | None = None
    """Learning rate of the sender; null: lr."""
    receiver_lr: Positive | None = None
    """Learning rate of the receiver; null: lr."""
    clip_norm: Positive | None = None
    """Maximum norm of the gradient of all weights together; larger gradients are scaled down; null: no clipping."""
    clip_value: Positive | None = None
    """Maximum absolute gradient of a single weight, clipped before clip_norm; null: no clipping. With a tiny number,
    only the signs of gradients count."""


class Optimizer(ABC):
    """Base class of optimizers, including user code; their `Options` derive from `OptimizerOptions`."""

    Options: type[OptimizerOptions] = OptimizerOptions

    def __init__(self, options: Any) -> None:
        self.options = options

    @abstractmethod
    def optimizer(self, parameters: Groups) -> torch.optim.Optimizer:
        """Make the optimizer for these parameters, with the rate `options.lr`."""


class Adam(Optimizer):
    """Adam (Kingma & Ba 2015, arXiv 1412.6980) with torch's other settings."""

    def optimizer(self, parameters: Groups) -> torch.optim.Optimizer:
        """Make the optimizer for these parameters."""
        return torch.optim.Adam(parameters, lr=self.options.lr, fused=True)


class AdamW(Optimizer):
    """Adam with decoupled weight decay (Loshchilov & Hutter 2019, arXiv 1711.05101)."""

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options(OptimizerOptions):
        """Options of AdamW."""

        weight_decay: Weight = 0.01
        """Decay rate of weights per step, times the learning rate."""

    def optimizer(self, parameters: Groups) -> torch.optim.Optimizer:
        """Make the optimizer for these parameters."""
        options = self.options
        return torch.optim.AdamW(parameters, lr=options.lr, weight_decay=options.weight_decay, fused=True)


class SGD(Optimizer):
    """Stochastic gradient descent, optionally with momentum (Polyak 1964)."""

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options(OptimizerOptions):
        """Options of gradient descent."""

        momentum: Share = 0.0
        """Share of the last update that is added to the next update."""
        nesterov: bool = False
        """Nesterov's momentum."""
        weight_decay: Weight = 0.0
        """Coefficient of half the squared norm of the weights in the loss."""

        def __post_init__(self) -> None:
            """Raise `ConfigError` for Nesterov's momentum without momentum."""
            if self.nesterov and self.momentum == 0:
                raise ConfigError("nesterov: needs a momentum, such as optimizer.momentum=0.9")

    def optimizer(self, parameters: Groups) -> torch.optim.Optimizer:
        """Make the optimizer for these parameters."""
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
        """Make the optimizer for these parameters."""
        return torch.optim.Adagrad(parameters, lr=self.options.lr)


RECORDED = frozenset((torch.optim.Adam, torch.optim.AdamW, torch.optim.SGD))
"""Optimizers that run the same operations at each step, so that a step can be recorded."""
RATES_ON_CUDA = frozenset((torch.optim.Adam, torch.optim.AdamW))
"""Recorded optimizers that accept the learning rate as a tensor on CUDA."""


class NotFiniteError(Exception):
    """The loss is NaN or infinite. On the CPU the update was skipped; on a GPU the step is not known."""


class Optimise:
    """Updates the weights of a play by the gradients of its objectives.

        optimise(objective)         # one update

        optimise.begin()            # one update by the sum of several gradients
        optimise.backward(first)
        optimise.backward(second, only=[module])    # gradient for this module alone
        optimise.step()

    On the CPU, each objective is checked to be finite at once; on other devices, `require_finite` checks them later.

    Args:
        part: The section `optimizer`.
        module: Module whose weights are trained.
        modules_of: Function from a role, sender or receiver, to its modules.

    Raises:
        ConfigError: If no weight is trainable, or a role with its own rate has no trainable weight.
    """

    optimizer: torch.optim.Optimizer

    def __init__(
        self, part: Part, module: nn.Module, modules_of: Callable[[Role], Iterable[nn.Module]] = lambda _: ()
    ) -> None:
        self.module, options = module, part.options
        self.parameters = [parameter for parameter in module.parameters() if parameter.requires_grad]
        if not self.parameters:
            raise ConfigError(
                "training: no agent has trainable weights: scripted and frozen agents have none"
            )
        self.clip_norm, self.clip_value = options.clip_norm, options.clip_value
        rates: Mapping[Role, float | None] = {"sender": options.sender_lr, "receiver": options.receiver_lr}
        groups = _groups(self.parameters, modules_of, rates) if any(rates.values()) else self.parameters
        self.optimizer = OPTIMIZERS.make(part).optimizer(groups)
        self.rates = [group["lr"] for group in self.optimizer.param_groups]
        self.recorded = Recorded(self.optimizer, inputs_stay=True)
        self._forms: dict[Hashable, int] = {}  # see `_state_of`
        self._known: tuple[Any, int, tuple[int, ...], int] | None = None  # cache of `_state_of`
        self._is_clear = False  # whether no weight has a gradient
        self._all_places = tuple(range(len(self.parameters)))
        self.factor = 1.0
        """Factor on all learning rates: the value of the schedule at this step."""
        self._factor: float | None = None  # factor of the last step
        self.scale: Callable[[], object] | None = None
        """Called before an update, to modify gradients."""
        self._with_buffers = [
            part for part in module.modules() if any(True for _ in part.buffers(recurse=False))
        ]
        self._buffers: list[Tensor] = []
        self._sum: Tensor | None = None  # sum of objectives; not finite if an objective is not

    def __call__(self, objective: Tensor, only: Iterable[nn.Module] | None = None) -> None:
        """Update the weights by the gradient of a scalar; see `backward`."""
        self.begin()
        self.backward(objective, only=only)
        self.step()

    def begin(self) -> None:
        """Begin an update."""
        if not self._is_clear:
            for parameter in self.parameters:
                parameter.grad = None
        self._is_clear = True
        if not self.parameters or self.parameters[0].device.type == "cpu":
            self._buffers = [
                buffer.clone() for part in self._with_buffers for buffer in part.buffers(recurse=False)
            ]

    def backward(self, objective: Tensor, share: int = 1, only: Iterable[nn.Module] | None = None) -> None:
        """Add the gradient of an objective to the gradients of the update.

        Args:
            objective: A scalar.
            share: Divisor of the gradient.
            only: Modules whose weights get the gradient, such as `play.modules_of("sender")`; None: all.

        Raises:
            NotFiniteError: If the objective is not finite, on the CPU. Buffers, such as normalisation statistics, are
                then restored to their values before the update.
        """
        self.add(objective.detach(), self.gradients(objective, only), share)

    def gradients(self, objective: Tensor, only: Iterable[nn.Module] | None = None) -> list[Tensor | None]:
        """Gradient of each weight; None if the objective does not depend on it, or it is not in `only`."""
        if not all(parameter.requires_grad for parameter in self.parameters):
            raise FrozenError(
                "trained weights were frozen within a step: freeze them in __init__, before the optimiser is "
                "created, or cut the graph by detach()"
            )
        if not objective.requires_grad:  # no agent learns in this step
            return [None] * len(self.parameters)
        chosen = self.parameters
        if only is not None:
            learning = {id(parameter) for module in only for parameter in module.parameters()}
            chosen = [parameter for parameter in self.parameters if id(parameter) in learning]
        gradients: Sequence[Tensor | None] = ()
        if chosen:
            gradients = torch.autograd.grad(objective, chosen, allow_unused=True)
        if only is not None:
            found = dict(zip(map(id, chosen), gradients, strict=True))
            gradients = [found.get(id(parameter)) for parameter in self.parameters]
        overlapping = _overlapping(gradients)
        return [
            # Optimizers modify gradients in place, which requires the layout of the weights.
            each if each is None or (each.stride() == parameter.stride() and place not in overlapping)
            else torch.empty_like(parameter).copy_(each)
            for place, (each, parameter) in enumerate(zip(gradients, self.parameters, strict=True))
        ]  # fmt: skip

    def add(self, objective: Tensor, gradients: Sequence[Tensor | None], share: int = 1) -> None:
        """Add precomputed gradients of an objective; see `backward`."""
        self._is_clear = False
        for parameter, gradient in zip(self.parameters, gradients, strict=True):
            if gradient is not None:
                gradient = gradient if share == 1 else gradient / share
                parameter.grad = gradient if parameter.grad is None else parameter.grad + gradient
        self._note(objective)

    def end(self, objective: Tensor, gradients: Sequence[Tensor | None]) -> None:
        """Update by precomputed gradients: `add` and `step` in one, without accumulation."""
        self._note(objective)
        self._change(gradients)

    def _note(self, objective: Tensor) -> None:
        """Check that an objective is finite (CPU), or add it to the sum for `require_finite`."""
        if objective.device.type != "cpu":
            self._sum = objective if self._sum is None else self._sum + objective
        elif not math.isfinite(value := objective.item()):
            present = (buffer for part in self._with_buffers for buffer in part.buffers(recurse=False))
            for buffer, before in zip(present, self._buffers, strict=True):
                buffer.copy_(before)
            raise NotFiniteError(f"the loss is {value}, so this update was skipped")

    def step(self) -> None:
        """End the update: apply the gradients to the weights."""
        self._is_clear = False
        if self.scale is not None:
            self.scale()
        self._change([parameter.grad for parameter in self.parameters])

    def _change(self, found: Sequence[Tensor | None]) -> None:
        """Apply gradients to the weights, by a recorded step if possible."""
        # On CUDA, rates are tensors: a CUDA graph would treat numbers as constants.
        on_device = type(self.optimizer) in RATES_ON_CUDA and self.parameters[0].is_cuda
        for group, rate in zip(self.optimizer.param_groups, self.rates, strict=True):
            if not on_device:
                group["lr"] = rate * self.factor
                continue
            if not isinstance(group["lr"], Tensor):
                group["lr"] = torch.zeros((), device=self.parameters[0].device)
            if self._factor != self.factor:
                group["lr"].fill_(rate * self.factor)
        self._factor = self.factor
        gradients = [gradient for gradient in found if gradient is not None]
        places = self._all_places
        if len(gradients) < len(found):
            places = tuple(place for place, gradient in enumerate(found) if gradient is not None)
        states = self._state_of(places) if type(self.optimizer) in RECORDED else None
        if states is not None:
            rates = (group["lr"] for group in self.optimizer.param_groups)
            form = (*(rate for rate in rates if not isinstance(rate, Tensor)), states)
            self.recorded(form, partial(self._step, places), gradients)
        else:
            self._step(places, *gradients)

    def _state_of(self, places: tuple[int, ...]) -> int | None:
        """Index of a set of weights and their optimizer state, a part of the key of a recording.

        None: some of the state does not exist yet. It is created in the first step of an agent, and removed when the
        agent is replaced.
        """
        state, known = self.optimizer.state, self._known
        if known is None or known[0] is not state or known[1:3] != (len(state), places):
            self._known, found = None, [state.get(self.parameters[place]) for place in places]
            has_state = any(group.get("momentum", True) for group in self.optimizer.param_groups)
            if not all(found) and has_state:
                return None
            tensors = tuple(id(next(iter(each.values()))) for each in found if each)
            number = self._forms.setdefault((places, tensors), len(self._forms))
            self._known = known = state, len(state), places, number
        return known[3]

    def _step(self, places: Sequence[int], *gradients: Tensor) -> Outputs:
        """Clip gradients and step the optimizer for the parameters at `places`; the outputs are empty."""
        for parameter in self.parameters:
            parameter.grad = None
        for place, gradient in zip(places, gradients, strict=True):
            self.parameters[place].grad = gradient
        self._is_clear = False
        if not gradients:  # no agent learns in this step
            return {}, ()
        if self.clip_value is not None:
            torch.nn.utils.clip_grad_value_(self.parameters, self.clip_value)
        if self.clip_norm is not None:
            torch.nn.utils.clip_grad_norm_(self.parameters, self.clip_norm)
        take_step(self.optimizer)
        return {}, ()

    def require_finite(self) -> None:
        """Raise `NotFiniteError` if an objective since the last call was not finite; waits for the device."""
        total, self._sum = self._sum, None
        if total is not None and not total.isfinite():
            raise NotFiniteError("the loss was not finite in a step since the last evaluation or checkpoint")


def _overlapping(tensors: Sequence[Tensor | None]) -> set[int]:
    """Indices of tensors that overlap in memory with an earlier one."""
    parts = sorted(
        (int(each.untyped_storage()._cdata), int(each.storage_offset()), each.numel(), place)
        for place, each in enumerate(tensors)
        if each is not None
    )
    found, storage, end = set[int](), -1, 0
    for of_storage, start, size, place in parts:
        if of_storage == storage and start < end:
            found.add(place)
        storage, end = of_storage, max(start + size, end if of_storage == storage else 0)
    return found


def _groups(
    trained: list[nn.Parameter],
    modules_of: Callable[[Role], Iterable[nn.Module]],
    rates: Mapping[Role, float | None],
) -> list[dict[str, Any]]:
    """Parameter groups: sender, receiver, rest; shared parameters are in the sender's group."""
    groups: list[dict[str, Any]] = []
    left = list(trained)
    for role, rate in rates.items():
        of_role = {id(each) for module in modules_of(role) for each in module.parameters()}
        own = [each for each in left if id(each) in of_role]
        left = [each for each in left if id(each) not in of_role]
        if rate is not None and not own:
            raise ConfigError(f"optimizer.{role}_lr: the {role} has no trainable weights")
        if own:
            groups.append({"params": own} | ({} if rate is None else {"lr": rate}))
    return [*groups, {"params": left}] if left else groups


class Constant:
    """Constant learning rate."""

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options:
        """No options."""

    def __init__(self, options: Options, *, steps_per_epoch: int) -> None:
        pass

    @staticmethod
    def horizon(options: Options, num_epochs: int) -> Options:
        """Options for a run of `num_epochs`: unchanged."""
        return options

    def factor(self, step: int) -> float:
        """Factor on the optimizer's rate at a step, counted from 0."""
        return 1.0


def with_epochs(options: Any, num_epochs: int) -> Any:
    """Options with `num_epochs` set; `ConfigError` if the run is longer."""
    if options.num_epochs is not None and options.num_epochs < num_epochs:
        raise ConfigError(
            f"schedule.num_epochs: the schedule ends after {options.num_epochs} epochs: expected at least "
            f"training.num_epochs ({num_epochs})"
        )
    return replace(options, num_epochs=options.num_epochs or num_epochs)


class LinearDecay:
    """The rate decreases linearly, and reaches 0 at the end of the schedule."""

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options:
        """Options of a linear decrease."""

        num_epochs: Count | None = None
        """Epochs until the rate reaches 0; null: epochs of the run, which are then stored in its config."""

    horizon = staticmethod(with_epochs)

    def __init__(self, options: Options, *, steps_per_epoch: int) -> None:
        assert options.num_epochs is not None
        self.num_steps = options.num_epochs * steps_per_epoch

    def factor(self, step: int) -> float:
        """Factor on the optimizer's rate at a step, counted from 0."""
        return 1 - step / self.num_steps


class Cosine:
    """The rate follows half a cosine to the end of the schedule (Loshchilov & Hutter 2017, arXiv 1608.03983, eq. 5).

    Before that it may rise linearly from 0.
    """

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options:
        """Options of a decrease by a cosine."""

        num_epochs: Count | None = None
        """Epochs until the end of the schedule; null: epochs of the run, which are then stored in its config."""
        last: Share = 0.0
        """Final rate relative to the initial rate."""
        warmup_steps: Natural = 0
        """Number of steps in which the rate rises, before it decreases."""

    horizon = staticmethod(with_epochs)

    def __init__(self, options: Options, *, steps_per_epoch: int) -> None:
        assert options.num_epochs is not None
        self.options = options
        self.num_steps = options.num_epochs * steps_per_epoch
        if options.warmup_steps >= self.num_steps:
            raise ConfigError(
                f"schedule.warmup_steps: expected fewer than the {self.num_steps:,} steps of the schedule, got "
                f"{options.warmup_steps:,}"
            )

    def factor(self, step: int) -> float:
        """Factor on the optimizer's rate at a step, counted from 0."""
        warmup, last = self.options.warmup_steps, self.options.last
        if step < warmup:
            return (step + 1) / (warmup + 1)
        share = (step - warmup) / (self.num_steps - warmup)
        return last + (1 - last) * (1 + math.cos(math.pi * share)) / 2


class StepDecay:
    """The rate is multiplied by a constant factor every `every` epochs."""

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options:
        """Options of a decrease in steps."""

        every: Count = 1
        """Number of epochs between changes of the rate."""
        by: Positive = 0.9
        """Factor on the rate at each change."""

    def __init__(self, options: Options, *, steps_per_epoch: int) -> None:
        self.options, self.steps_per_epoch = options, steps_per_epoch

    @staticmethod
    def horizon(options: Options, num_epochs: int) -> Options:
        """Options for a run of `num_epochs`: unchanged."""
        return options

    def factor(self, step: int) -> float:
        """Factor on the optimizer's rate at a step, counted from 0."""
        factor: float = self.options.by ** (step // self.steps_per_epoch // self.options.every)
        return factor
