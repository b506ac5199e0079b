"""Avoidance of the import of torch's compiler, with which the first step takes 1.7 times as long."""

import inspect
from typing import Any

import torch

_METHODS = ("add_param_group", "load_state_dict", "state_dict", "zero_grad")
"""Methods of optimizers that torch excludes from compilation, for which it imports the compiler."""
_DECIDED = "__dynamo_disable"
"""Attribute with a replacement of a function, which torch reads before it loads the compiler (`torch/_compile.py`)."""
_OWN = ("step", "_optimizer_step_pre_hooks", "_optimizer_step_post_hooks")
"""Attributes of an optimizer that change its step; without them, its class defines the step."""


def leave_compiler_out() -> None:
    """Let methods of optimizers be called without the compiler. If torch differs from expectations, nothing changes."""
    for name in _METHODS:
        function = getattr(getattr(torch.optim.Optimizer, name, None), "__wrapped__", None)
        if function is not None and not hasattr(function, _DECIDED):
            setattr(function, _DECIDED, function)


def take_step(optimizer: torch.optim.Optimizer) -> None:
    """Change the weights as `optimizer.step()`, without compiler graph breaks."""
    step = _step_of(type(optimizer))
    if (
        step is None
        or any(vars(optimizer).get(name) for name in _OWN)
        or optimizer.defaults.get("differentiable")
    ):
        optimizer.step()
        return
    with torch.no_grad():
        step(optimizer)


def _step_of(kind: type[torch.optim.Optimizer]) -> Any:
    """Step function of a torch optimizer, without torch's wrappers; None for other classes."""
    return inspect.unwrap(kind.step) if kind.__module__.startswith("torch.optim.") else None
