"""Replicas: agents of equal shape and different weights that compute in parallel under `torch.func.vmap`.

vmap takes a function of one agent and adds a dimension to every tensor in it. It supports torch's operations; for
operations with custom gradients, `with_replicas` defines the batched operation. 64 pairs of `disc_tiny` take 1/40 of
the time of sequential pairs on an H100; on a CPU, eight pairs take 0.92 to 1.04 of it.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import torch
from torch import Tensor

_COMPUTING: ContextVar[bool] = ContextVar("replicas compute in parallel", default=False)

Rule = Callable[..., Any]
"""An operation on tensors whose first dimension is the replicas."""


@contextmanager
def replicas() -> Iterator[None]:
    """Context in which everything is called by `torch.func.vmap`."""
    token = _COMPUTING.set(True)
    try:
        yield
    finally:
        _COMPUTING.reset(token)


def are_computing() -> bool:
    """Whether tensors hold several replicas, so that no decision can depend on their values."""
    return _COMPUTING.get()


def with_replicas(function: type[torch.autograd.Function], rule: Rule) -> Callable[..., Any]:
    """Make `function.apply` callable for replicas.

    Args:
        function: Operation for one agent.
        rule: Operation for all replicas at once; replicas are the first dimension of every tensor argument.
    """

    class OfReplicas(torch.autograd.Function):
        """The operation, with a rule for vmap."""

        @staticmethod
        def forward(*arguments: Any) -> Tensor:
            raise NotImplementedError

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            raise NotImplementedError

        @staticmethod
        def vmap(info: Any, in_dims: tuple[int | None, ...], *arguments: Any) -> tuple[Any, Any]:
            pairs = zip(arguments, in_dims, strict=True)
            found = rule(*(_leading(each, place, info.batch_size) for each, place in pairs))
            return found, (0,) * len(found) if isinstance(found, tuple) else 0

    def call(*arguments: Any) -> Any:
        return (OfReplicas if _COMPUTING.get() else function).apply(*arguments)

    return call


def flattened(function: type[torch.autograd.Function]) -> Rule:
    """Make the rule of an operation on rows: the rows of all replicas are combined in one call."""

    def rule(*arguments: Any) -> Any:
        number = arguments[0].shape[0]
        rows = function.apply(*(each.flatten(0, 1) for each in arguments))
        if isinstance(rows, tuple):
            return tuple(each.unflatten(0, (number, -1)) for each in rows)
        return rows.unflatten(0, (number, -1))

    return rule


def _leading(argument: Any, place: int | None, number: int) -> Any:
    """Move the replicas to the first dimension of an argument."""
    if not isinstance(argument, Tensor):
        return argument
    if place is None:
        argument = argument.unsqueeze(0)
        return argument.expand(number, *argument.shape[1:])
    return argument.movedim(place, 0)
