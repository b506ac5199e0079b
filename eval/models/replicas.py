"""Replicas: several copies of one small module, trained in parallel by one optimiser."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from ecsuite.runtime.compiler import take_step

Parameters = dict[str, Tensor]
"""A module's parameters by name, each with a leading replica dimension."""

LANES = 64
"""Buffer alignment: a multiple of the number of values that a processor updates at once."""


class Replicas:
    """Parameters to train of modules with equal shapes, one for each replica, in one flat buffer.

    They are trained by Adam (Kingma & Ba 2015, arXiv 1412.6980) with torch's defaults except `lr`; `clip` is the
    maximum norm of a replica's gradient, None for no clipping.
    """

    def __init__(
        self, modules: Sequence[nn.Module], *, lr: float, clip: float | None, device: torch.device
    ) -> None:
        states = [
            {name: each for name, each in module.named_parameters() if each.requires_grad}
            for module in modules
        ]
        self.shapes = {name: parameter.shape for name, parameter in states[0].items()}
        stacked = [torch.stack([state[name].detach() for state in states]).flatten() for name in self.shapes]
        self.count, self.lr, self.clip = len(modules), lr, clip
        self.flat = _padded(stacked).to(device).requires_grad_()
        self.renew()
        self.optimizer = torch.optim.Adam([self.flat], lr=lr, fused=True)

    def renew(self) -> None:
        """Begin a new autograd graph: a CUDA graph must not depend on tensors of an earlier one."""
        self.leaf = self.flat.detach().requires_grad_()

    def parameters(self) -> Parameters:
        """Return each parameter with a leading replica dimension, differentiable."""
        blocks = self._blocks(self.leaf)
        named = zip(self.shapes.items(), blocks, strict=True)
        return {name: block.view(self.count, *shape) for (name, shape), block in named}

    def update(self, loss: Tensor) -> None:
        """Make one optimiser step on the sum of the replicas' losses."""
        if not self.shapes:
            return
        self.step(self.gradient(loss))

    def gradient(self, loss: Tensor) -> Tensor:
        """The gradient of the replicas' parameters, in the layout of `flat`."""
        (gradient,) = torch.autograd.grad(loss, [self.leaf])
        return gradient

    def step(self, gradient: Tensor) -> None:
        """Make one optimiser step with a gradient, which is overwritten if it is clipped."""
        self.flat.grad = gradient
        if self.clip is not None:
            self._clip(self.clip)
        take_step(self.optimizer)

    @property
    def has_begun(self) -> bool:
        """Whether the optimiser has made a step, and so has state."""
        return bool(self.optimizer.state[self.flat])

    def keep(self, kept: Sequence[int]) -> None:
        """Drop all replicas except those with these indices, which keep their parameters and optimiser state."""
        old = self.optimizer.state[self.flat]
        flat = self._gather(self.flat.detach(), kept)
        moments = {name: self._gather(old[name], kept) for name in ("exp_avg", "exp_avg_sq") if old}
        self.count, self.flat = len(kept), flat.requires_grad_()
        self.renew()
        self.optimizer = torch.optim.Adam([self.flat], lr=self.lr, fused=True)
        if old:
            self.optimizer.state[self.flat] = {"step": old["step"], **moments}

    def replica(self, index: int) -> dict[str, Tensor]:
        """Return the parameters of one replica, for `load_state_dict`."""
        return {name: value[index].detach().cpu().clone() for name, value in self.parameters().items()}

    def _blocks(self, flat: Tensor) -> list[Tensor]:
        """The block of a flat buffer with a parameter of all replicas, for each parameter."""
        sizes = [self.count * shape.numel() for shape in self.shapes.values()]
        return list(flat.split([*sizes, len(flat) - sum(sizes)]))[:-1]

    def _gather(self, flat: Tensor, kept: Sequence[int]) -> Tensor:
        return _padded([block.view(self.count, -1)[list(kept)].flatten() for block in self._blocks(flat)])

    def _clip(self, max_norm: float) -> None:
        gradient = self.flat.grad
        assert gradient is not None
        rows = [block.view(self.count, -1) for block in self._blocks(gradient)]
        norms = torch.stack([row.square().sum(1) for row in rows]).sum(0).sqrt()
        scales = (max_norm / (norms + 1e-6)).clamp(max=1)[:, None]
        for row in rows:
            row.mul_(scales)


def _padded(parts: Sequence[Tensor]) -> Tensor:
    """Concatenate parts, and pad with zeros to a multiple of `LANES`.

    The optimizer updates the last values of a buffer singly, with other rounding: no parameter may be among them, or a
    run would depend on the runs next to it.
    """
    length = sum(map(len, parts))
    return torch.cat([*parts, torch.zeros(-length % LANES, device=parts[0].device if parts else None)])
