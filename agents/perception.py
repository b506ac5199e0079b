"""Object encoders (perceptions): from an object to a vector. Games on sets encode every distinct object once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import Tensor, nn

from ecsuite.agents.linear import Linear
from ecsuite.config import ConfigError, look_up


class FeedForwardPerception(nn.Sequential):
    """Linear layers with ReLU between them.

    Args:
        sizes: Widths of the layers, from the object's features to the vector.
    """

    def __init__(self, sizes: Sequence[int]) -> None:
        layers: list[nn.Module] = []
        for inner, outer in pairwise(sizes):
            layers += [Linear(inner, outer), nn.ReLU()]
        super().__init__(*layers[:-1])


class Convolution(nn.Conv2d):
    """`nn.Conv2d` whose weights stay in fp32 while it computes in the precision of its input."""

    def forward(self, images: Tensor) -> Tensor:
        """(batch, in_channels, height, width) to (batch, out_channels, …)."""
        bias = None if self.bias is None else self.bias.to(images.dtype)
        convolved: Tensor = self._conv_forward(images, self.weight.to(images.dtype), bias)
        return convolved


def outlines(images: Tensor) -> Tensor:
    """Images (num_images, height, width, 3) without their colours, in the same shape.

    Each pixel is the maximum of its three colours, divided by the maximum of the whole image.
    """
    brightness = images.amax(-1, keepdim=True)
    brightest = brightness.amax((1, 2), keepdim=True).clamp(min=1 / 255)
    return (brightness / brightest).expand_as(images)


@dataclass(frozen=True)
class Layout:
    """Layers of a convolutional perception."""

    blocks: tuple[tuple[int, int, int, int], ...]
    """Channels, kernel size, stride and max-pooling size of each block."""
    grids: tuple[int, ...] = ()
    """Sizes of the grids of max-pooling over each feature map of the last block; if empty, the maps are flattened."""
    has_sums: bool = False
    """With grids: whether the vector also has the sum of each feature map of the last block."""
    has_outlines: bool = False
    """Whether half of the feature maps get outlines instead of colours."""


LAYOUTS: Mapping[str, Layout] = {
    "conv": Layout(((32, 8, 4, 1), (64, 3, 2, 1), (64, 3, 2, 1))),
    "conv_max": Layout(((48, 6, 4, 1), (64, 3, 1, 1)), grids=(1,), has_sums=True, has_outlines=True),
    "conv_grid": Layout(((32, 8, 4, 1), (64, 3, 1, 1)), grids=(1, 4)),
    "conv4": Layout(((64, 3, 1, 2), (64, 3, 1, 2), (64, 3, 1, 2), (64, 3, 1, 2))),
}
"""Convolutional perceptions by name."""


class ConvolutionalPerception(nn.Module):
    """Blocks of convolution, batch normalisation, ReLU and optional max-pooling.

    `conv4`, as in Mu & Goodman (2021): four blocks of 3 x 3 convolutions to 64 channels with pooling; the 4 x 4 x 64
    values that remain of an image of 64 x 64 are the vector. Most of its time is spent on the large feature maps of the
    first two blocks. `conv` avoids them: its first block goes from 64 x 64 to 16 x 16, and it ends with a linear layer.

    `conv_max` takes the maximum and the sum of each feature map, then a linear layer. It therefore recognises a shape
    at any position but does not represent positions: it is meant for ShapeWorld, whose formulas have none. Half of its
    feature maps get outlines without colour, because colours are so much easier to learn that agents whose maps all
    have colours rarely name shapes.

    `conv_grid` takes the maximum of each feature map and of each cell of a 4 x 4 grid over it, so it represents shapes
    and positions: it is meant for SHAPE.

    Args:
        layout: The layers, one of `LAYOUTS`.
        size: Height and width of the images, a multiple of 16.
        out_features: Width of the vector; None: no linear layer, the feature maps of the last block are flattened.
    """

    def __init__(self, layout: Layout, size: int, out_features: int | None) -> None:
        super().__init__()
        self.layout = layout
        num_inputs = 2 if layout.has_outlines else 1
        channels = [3 * num_inputs, *(block[0] for block in layout.blocks)]
        self.convolutions = nn.ModuleList(
            Convolution(
                inner, outer, kernel, stride, (kernel - stride + 1) // 2, groups=num_inputs, bias=False
            )
            for inner, (outer, kernel, stride, _) in zip(channels, layout.blocks, strict=False)
        )
        self.convolutions.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        self.norms = nn.ModuleList(nn.BatchNorm2d(width) for width in channels[1:])
        cells = sum(grid**2 for grid in layout.grids) + layout.has_sums or (size // 16) ** 2
        num_pooled = channels[-1] * cells
        self.summary = (
            None
            if out_features is None
            else nn.Sequential(Linear(num_pooled, out_features), nn.BatchNorm1d(out_features))
        )
        self.out_features = out_features or num_pooled

    def forward(self, images: Tensor) -> Tensor:
        """Images (num_objects, height, width, 3), from 0 to 1, to vectors (num_objects, out_features)."""
        if self.layout.has_outlines:
            images = torch.cat([images, outlines(images)], -1)
        maps = images.permute(0, 3, 1, 2)  # memory layout stays channels-last
        for convolve, normalise, block in zip(self.convolutions, self.norms, self.layout.blocks, strict=True):
            maps = normalise(convolve(maps)).relu_()
            if (pool := block[-1]) > 1:
                maps = nn.functional.max_pool2d(maps, pool)
        pooled = [nn.functional.adaptive_max_pool2d(maps, grid).flatten(1) for grid in self.layout.grids]
        if self.layout.has_sums:
            pooled.append(maps.sum((2, 3)) / maps.shape[2])  # about the magnitude of the maxima
        vectors = torch.cat(pooled, 1) if pooled else maps.flatten(1)
        return vectors if self.summary is None else self.summary(vectors)


PERCEPTIONS: dict[str, str] = {
    "linear": "one linear layer",
    "mlp": "two linear layers with ReLU between them",
    "conv": "for images: three strided convolutions with batch normalisation, then a linear layer",
    "conv_max": "for images: two convolutions, half of them on outlines; maximum and sum of each map; no positions",
    "conv_grid": "for images: two convolutions; maximum of each map and of each cell of a 4 x 4 grid; with positions",
    "conv4": "for images: four convolutions with batch normalisation and pooling (Mu & Goodman 2021); slow on a CPU",
}
"""One line about each perception, by name."""


def make_object_perception(name: str, object_shape: tuple[int, ...], size: int) -> tuple[nn.Module, int]:
    """Build a perception, and return it with the width of its vectors.

    Args:
        name: In `PERCEPTIONS`.
        object_shape: (num_features,) or, for images, (height, width, 3).
        size: Width of the vectors and of hidden layers; not used by conv4.

    Raises:
        ConfigError: If the name is unknown, or the perception does not accept such objects.
    """
    look_up("perception", name, PERCEPTIONS)
    takes_images = name in LAYOUTS
    if takes_images != (len(object_shape) == 3):
        found = "images" if len(object_shape) == 3 else f"vectors of {object_shape[0]} features"
        choices = ", ".join(LAYOUTS) if len(object_shape) == 3 else "linear, mlp"
        raise ConfigError(f"perception {name}: not for {found}; choices: {choices}")
    if not takes_images:
        sizes = [object_shape[0], size, size] if name == "mlp" else [object_shape[0], size]
        return FeedForwardPerception(sizes), size
    images = ConvolutionalPerception(LAYOUTS[name], object_shape[0], None if name == "conv4" else size)
    return images, images.out_features
