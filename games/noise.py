"""The noise of a batch: of a pair of agents from its generator; of pairs that play side by side, from one for each.

On CUDA all pairs of a step draw from one generator, as each would take the time of some kernels.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor


@dataclass(frozen=True, slots=True)
class ReplicaNoise:
    """The generators of pairs that play side by side under `torch.func.vmap`.

    With generators of their own, each pair gets the noise that it would get alone.
    """

    generators: Sequence[torch.Generator]
    """That of each pair; several may have the same."""
    replica: Tensor
    """The number of the pair, a single value under vmap."""


Noise = torch.Generator | ReplicaNoise
"""Where noise comes from."""


def noise_generator(seed: int, purpose: str, index: int, device: torch.device) -> torch.Generator:
    """The random generator for one purpose and index: a pure function of its arguments, so no state is saved."""
    return seeded(torch.Generator(device), seed, purpose, index)


def seeded(generator: torch.Generator, seed: int, purpose: str, index: int) -> torch.Generator:
    """A generator, which from now on draws what a new one for one purpose and index would draw."""
    words = np.random.SeedSequence([seed, index, *purpose.encode()]).generate_state(1, np.uint64)
    return generator.manual_seed(int(words[0] >> np.uint64(1)))


def exponential(shape: Sequence[int], noise: Noise | None, device: torch.device) -> Tensor:
    """Draws from the exponential distribution of rate 1, (batch, ...)."""

    def draw(shape: Sequence[int], each: torch.Generator) -> Tensor:
        return torch.empty(shape, device=device).exponential_(generator=each)

    return _drawn(draw, shape, noise, device)


def gumbel(shape: Sequence[int], noise: Noise | None, device: torch.device) -> Tensor:
    """Draws from the standard Gumbel distribution, (max_len, batch, ...)."""
    tiny = torch.finfo(torch.float32).tiny

    def draw(shape: Sequence[int], each: torch.Generator) -> Tensor:
        return torch.empty(shape, device=device).exponential_(generator=each).clamp_(min=tiny).log_().neg_()

    return _drawn(draw, shape, noise, device)


def normal(shape: Sequence[int], noise: Noise | None, device: torch.device) -> Tensor:
    """Draws from the standard normal distribution, (max_len, batch, ...)."""

    def draw(shape: Sequence[int], each: torch.Generator) -> Tensor:
        return torch.randn(shape, generator=each, device=device)

    return _drawn(draw, shape, noise, device)


def uniform(shape: Sequence[int], noise: Noise | None, device: torch.device) -> Tensor:
    """Draws from the uniform distribution from 0 to 1, (batch, ...)."""

    def draw(shape: Sequence[int], each: torch.Generator) -> Tensor:
        return torch.rand(shape, generator=each, device=device)

    return _drawn(draw, shape, noise, device)


def _drawn(
    draw: Callable[[Sequence[int], torch.Generator], Tensor],
    shape: Sequence[int],
    noise: Noise | None,
    device: torch.device,
) -> Tensor:
    """Draw noise of a shape."""
    if device.type == "meta":  # which has shapes and no values
        return torch.empty(shape, device=device)
    assert noise is not None, "something is drawn in a call that said it would not be: expected a generator"
    if not isinstance(noise, ReplicaNoise):
        return draw(shape, noise)
    first, *others = noise.generators
    if all(each is first for each in others):
        return draw((len(noise.generators), *shape), first)[noise.replica]
    return torch.stack([draw(shape, each) for each in noise.generators])[noise.replica]
