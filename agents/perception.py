"""Perception: how an agent sees one object, as a vector. In a game about sets, every distinct object is seen once."""

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
        sizes: Widths, from the object's features to the vector.
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
    """What is left of images (num_images, height, width, 3) without their colours, in the same shape.

    At each place the brightest of the three colours, as a share of the brightest in the whole image.
    """
    brightness = images.amax(-1, keepdim=True)
    brightest = brightness.amax((1, 2), keepdim=True).clamp(min=1 / 255)
    return (brightness / brightest).expand_as(images)


@dataclass(frozen=True)
class Layout:
    """What a convolutional perception is made of."""

    blocks: tuple[tuple[int, int, int, int], ...]
    """Of each block: channels, size of the kernel, stride, and size of max-pooling."""
    grids: tuple[int, ...] = ()
    """Grids in whose cells the greatest value of each last map is kept; without any, the maps are kept."""
    has_sums: bool = False
    """Beside a grid: whether the sum of each last map is kept, too."""
    has_outlines: bool = False
    """Whether half of the maps see outlines instead of colours."""


LAYOUTS: Mapping[str, Layout] = {
    "conv": Layout(((32, 8, 4, 1), (64, 3, 2, 1), (64, 3, 2, 1))),
    "conv_max": Layout(((48, 6, 4, 1), (64, 3, 1, 1)), grids=(1,), has_sums=True, has_outlines=True),
    "conv_grid": Layout(((32, 8, 4, 1), (64, 3, 1, 1)), grids=(1, 4)),
    "conv4": Layout(((64, 3, 1, 2), (64, 3, 1, 2), (64, 3, 1, 2), (64, 3, 1, 2))),
}
"""Convolutional perceptions by name."""


class ConvolutionalPerception(nn.Module):
    """Blocks of convolution, batch normalisation, ReLU and perhaps max-pooling.

    As Mu & Goodman (2021) have it, `conv4`, there are four blocks of 3 x 3 convolutions to 64 channels that pool, and
    the 4 x 4 x 64 that are left of an image of 64 x 64 are the vector. Nearly all the time goes into the large maps of
    the first two. `conv` has none: it goes from 64 x 64 to 16 x 16 in one step, and ends with a linear layer.

    `conv_max` keeps the greatest value of each map and its sum, before its linear layer. So what it learns of a
    shape in one place holds in all others, but it can't tell places: for ShapeWorld, whose formulas speak of none.
    Half of its maps see outlines without colour: colours are so much easier to see that agents whose maps all see
    them hardly come to speak of shapes.

    `conv_grid` keeps the greatest value of each map beside those in a grid of 4 x 4, and tells both: for SHAPE.

    Args:
        layout: What it is made of, one of `LAYOUTS`.
        size: Height and width of the images, a multiple of 16.
        out_features: Width of the vector; None has no linear layer, and the last maps side by side.
    """

    def __init__(self, layout: Layout, size: int, out_features: int | None) -> None:
        super().__init__()
        self.layout = layout
        streams = 2 if layout.has_outlines else 1
        channels = [3 * streams, *(block[0] for block in layout.blocks)]
        self.convolutions = nn.ModuleList(
            Convolution(inner, outer, kernel, stride, (kernel - stride + 1) // 2, groups=streams, bias=False)
            for inner, (outer, kernel, stride, _) in zip(channels, layout.blocks, strict=False)
        )
        self.convolutions.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        self.norms = nn.ModuleList(nn.BatchNorm2d(width) for width in channels[1:])
        cells = sum(grid**2 for grid in layout.grids) + layout.has_sums or (size // 16) ** 2
        left = channels[-1] * cells
        self.summary = (
            None
            if out_features is None
            else nn.Sequential(Linear(left, out_features), nn.BatchNorm1d(out_features))
        )
        self.out_features = out_features or left

    def forward(self, images: Tensor) -> Tensor:
        """Images (num_objects, height, width, 3), from 0 to 1, to vectors (num_objects, out_features)."""
        if self.layout.has_outlines:
            images = torch.cat([images, outlines(images)], -1)
        maps = images.permute(0, 3, 1, 2)  # in memory the channels stay last
        for convolve, normalise, block in zip(self.convolutions, self.norms, self.layout.blocks, strict=True):
            maps = normalise(convolve(maps)).relu_()
            if (pool := block[-1]) > 1:
                maps = nn.functional.max_pool2d(maps, pool)
        kept = [nn.functional.adaptive_max_pool2d(maps, grid).flatten(1) for grid in self.layout.grids]
        if self.layout.has_sums:
            kept.append(maps.sum((2, 3)) / maps.shape[2])  # as large as the greatest values, about
        vectors = torch.cat(kept, 1) if kept else maps.flatten(1)
        return vectors if self.summary is None else self.summary(vectors)


PERCEPTIONS: dict[str, str] = {
    "linear": "one linear layer",
    "mlp": "two linear layers with ReLU between",
    "conv": "for images: three convolutions with strides and batch normalisation, then a linear layer",
    "conv_max": "for images: two convolutions, half of outlines; greatest value and sum of each map: what, not where",
    "conv_grid": "for images: two convolutions, the greatest value of each map and of its 4 x 4 cells: what and where",
    "conv4": "for images: four convolutions with batch normalisation and pooling (Mu & Goodman 2021); slow on a CPU",
}
"""Perceptions by the names that users write, with a line each."""


def make_object_perception(name: str, object_shape: tuple[int, ...], size: int) -> tuple[nn.Module, int]:
    """Build a perception, and say how wide its vectors are.

    Args:
        name: In `PERCEPTIONS`.
        object_shape: (num_features,) or, for images, (height, width, 3).
        size: Width of the vectors, and of what is between two layers; not for conv4.

    Raises:
        ConfigError: If the name is not known, or can't see such objects.
    """
    look_up("perception", name, PERCEPTIONS)
    sees_images = name in LAYOUTS
    if sees_images != (len(object_shape) == 3):
        what = "images" if len(object_shape) == 3 else f"vectors of {object_shape[0]}"
        choices = ", ".join(LAYOUTS) if len(object_shape) == 3 else "linear or mlp"
        raise ConfigError(f"perception {name} can't see {what}: choose {choices}")
    if not sees_images:
        sizes = [object_shape[0], size, size] if name == "mlp" else [object_shape[0], size]
        return FeedForwardPerception(sizes), size
    images = ConvolutionalPerception(LAYOUTS[name], object_shape[0], None if name == "conv4" else size)
    return images, images.out_features
