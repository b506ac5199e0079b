"""How many runs fit on a device side by side."""

from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from ecsuite.eval.icy.batches import BLOCK
from ecsuite.eval.icy.fast.cells import Parameters
from ecsuite.eval.icy.fast.senders import Learner, SupervisedBatch

USED_SHARE = 0.8
"""Share of a device's free memory that runs may take."""
COPIES_OF_WEIGHTS = 4
"""Weights, gradients, and the two moments of Adam."""


class _Allocated(TorchDispatchMode):
    """Adds the sizes of all tensors that are made."""

    num_bytes = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = func(*args, **(kwargs or {}))
        if not func.is_view and not func._schema.is_mutable:
            self.num_bytes += sum(
                each.numel() * each.element_size()
                for each in tree_leaves(made)
                if isinstance(each, torch.Tensor)
            )
        return made


def bytes_of_run(learner: Learner, parameters: Parameters, examples: SupervisedBatch) -> int:
    """Bytes that one run takes at most: its weights and their copies, and everything that an update computes.

    The tensors of the forward pass are counted as if none was freed before the backward pass, which reuses their room.

    Args:
        learner: Of the agent; not that of the training, since it counts its updates.
        parameters: Of one replica.
        examples: A batch for it.
    """
    forward = _Allocated()  # type: ignore[no-untyped-call]
    with forward:
        learner.loss(parameters, examples)
    weights = sum(each.numel() * each.element_size() for each in parameters.values())
    of_batches = BLOCK * sum(
        each.numel() * each.element_size() for each in (examples.meanings, examples.messages)
    )
    return COPIES_OF_WEIGHTS * weights + of_batches + forward.num_bytes


def most_runs(num_bytes: int, free: int) -> int:
    """Runs of this size that fit in free memory, at least one."""
    return max(1, int(USED_SHARE * free) // max(1, num_bytes))
